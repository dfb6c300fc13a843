"""The search's laws: beam 1 = greedy, batch = singles, wide beam = exhaustive search."""

import math
from collections.abc import Callable
from functools import cache
from itertools import product

import pytest
import torch

from architectures import ALL, OTHERS
from dragoman.config import DecodeConfig
from dragoman.data.batches.batch import pad
from dragoman.decode.constraints import Constraints
from dragoman.decode.ensemble import Ensemble
from dragoman.decode.hypothesis import FORBIDDEN_IDS, Hypothesis, length_penalty
from dragoman.decode.scoring import log_probabilities
from dragoman.decode.search import beam_search
from dragoman.engine.torch import TorchEngine
from dragoman.model.parts.attention import padding_mask
from dragoman.model.parts.network import EncoderDecoder
from dragoman.text.tokens.tokenizer import BOS, EOS, PAD
from stand_ins import queries
from suites import cases, slow

Build = Callable[..., EncoderDecoder]
Draw = Callable[..., list[list[int]]]
CPU = torch.device("cpu")


QUICK = ["today", "rnn general", "rnn none", "convs2s", "bytenet", "moe", "moe of today"]


@pytest.fixture(params=cases(ALL, quick=QUICK))
def model(request: pytest.FixtureRequest, build: Build) -> EncoderDecoder:
    """Every architecture."""
    return build(**request.param)


def log_probs(model: EncoderDecoder, source: list[int], prefix: list[int]) -> list[float]:
    """log P of each token after `prefix`, everything computed again; the forbidden tokens have none."""
    src = torch.tensor([[*source, EOS]])
    with torch.inference_mode():
        last = model(src, padding_mask(src, PAD), torch.tensor([[BOS, *prefix]]))[0, -1].tolist()
    scores = [-math.inf if token in FORBIDDEN_IDS else value for token, value in enumerate(last)]
    total = math.log(sum(math.exp(value) for value in scores))
    return [value - total for value in scores]


def greedy(model: EncoderDecoder, source: list[int], max_length: int) -> list[int]:
    prefix: list[int] = []
    while len(prefix) < max_length:
        following = log_probs(model, source, prefix)
        best = max(range(len(following)), key=following.__getitem__)
        if best == EOS:
            break
        prefix.append(best)
    return prefix


def search(
    model: EncoderDecoder, sources: list[list[int]], beam: int, alpha: float, extra: int
) -> list[list[Hypothesis]]:
    src = pad([[*source, EOS] for source in sources])
    limits = [len(source) + extra for source in sources]
    return beam_search(Ensemble([model]), src, Constraints(limits), beam=beam, alpha=alpha)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("order", ["post", "pre"])
def test_a_beam_of_one_is_greedy_search(build: Build, sentences: Draw, order: str, seed: int) -> None:
    model = build(norm_order=order, seed=seed)
    sources = sentences([1, 4, 7], seed=seed)
    for source, [best] in zip(sources, search(model, sources, beam=1, alpha=0.6, extra=4), strict=True):
        assert list(best.tokens) == greedy(model, source, len(source) + 4)


@pytest.mark.parametrize("shape", OTHERS.values(), ids=OTHERS)
def test_a_beam_of_one_is_greedy_search_in_other_architectures(
    build: Build, sentences: Draw, shape: dict[str, object]
) -> None:
    model, sources = build(**shape), sentences([1, 4, 7], seed=2)
    for source, [best] in zip(sources, search(model, sources, beam=1, alpha=0.6, extra=4), strict=True):
        assert list(best.tokens) == greedy(model, source, len(source) + 4)


@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.5])
@pytest.mark.parametrize("seed", cases(range(3), quick=[0]))
def test_a_wide_beam_is_exhaustive_search_on_a_vocabulary_of_four_words(
    build: Build, sentences: Draw, seed: int, alpha: float
) -> None:
    model, longest = build(vocab=8, seed=seed), 3
    source = sentences([longest - 1], vocab=8, seed=seed)[0]

    @cache
    def after(*prefix: int) -> list[float]:
        return log_probs(model, source, [*prefix])

    scored = []
    for length in range(longest + 1):
        for words in product(range(4, 8), repeat=length):
            target_ids = [*words, EOS]
            total = sum(after(*target_ids[:place])[token] for place, token in enumerate(target_ids))
            scored.append((total / length_penalty(len(target_ids), alpha), words, total))
    scored.sort(key=lambda entry: -entry[0])
    found = search(model, [source], beam=len(scored), alpha=alpha, extra=1)[0]
    assert [hypothesis.tokens for hypothesis in found] == [words for _, words, _ in scored]
    for hypothesis, (score, _, total) in zip(found, scored, strict=True):
        assert hypothesis.score == pytest.approx(score, abs=1e-4)
        assert hypothesis.log_prob == pytest.approx(total, abs=1e-4)


@pytest.mark.parametrize(
    ("model", "beam"),
    [
        pytest.param(keys, beam, id=f"{name}-{beam}", marks=() if quick else slow)
        for name, keys in ALL.items()
        for beam in (1, 4)
        for quick in [name == "today" or (name in QUICK and name != "moe" and beam == 1)]
    ],
    indirect=["model"],
)
def test_a_sentence_translates_the_same_in_any_batch(model: EncoderDecoder, sentences: Draw, beam: int) -> None:
    sources = sentences([1, 9, 3, 3, 12, 2, 7])
    options = DecodeConfig(beam=beam, n_best=beam, extra_length=6)
    engine = TorchEngine(model, CPU)
    alone = [engine.translate(queries([source]), options)[0] for source in sources]
    for batch_tokens in (1, 12, 40, 1000):
        together = engine.translate(queries(sources), options.model_copy(update={"batch_tokens": batch_tokens}))
        for ours, theirs in zip(together, alone, strict=True):
            assert [h.tokens for h in ours] == [h.tokens for h in theirs]
            assert [h.score for h in ours] == pytest.approx([h.score for h in theirs], abs=1e-4)


def test_the_log_probability_of_a_hypothesis_is_that_of_its_tokens_given_all_at_once(
    model: EncoderDecoder, sentences: Draw
) -> None:
    sources = sentences([3, 6])
    for source, hypotheses in zip(sources, search(model, sources, beam=3, alpha=0.6, extra=5), strict=True):
        for hypothesis in hypotheses:
            target_ids = list(hypothesis.tokens)
            tensors = (
                torch.tensor([[*source, EOS]]),
                torch.tensor([[BOS, *target_ids]]),
                torch.tensor([[*target_ids, EOS]]),
            )
            total = log_probabilities(model, *tensors).sum().item()
            assert hypothesis.log_prob == pytest.approx(total, abs=1e-4)
            assert hypothesis.score == pytest.approx(total / length_penalty(len(target_ids) + 1, 0.6), abs=1e-4)


@pytest.mark.parametrize("extra", [1, 3])
def test_no_hypothesis_is_longer_than_allowed_or_says_a_mark(
    model: EncoderDecoder, sentences: Draw, extra: int
) -> None:
    sources = sentences([1, 5, 2])
    for source, hypotheses in zip(sources, search(model, sources, beam=4, alpha=0.0, extra=extra), strict=True):
        assert 0 < len(hypotheses) <= 4
        assert [h.score for h in hypotheses] == sorted((h.score for h in hypotheses), reverse=True)
        for hypothesis in hypotheses:
            assert len(hypothesis.tokens) <= len(source) + extra
            assert not {*FORBIDDEN_IDS, EOS} & set(hypothesis.tokens)


def test_a_length_penalty_never_prefers_shorter_translations(model: EncoderDecoder, sentences: Draw) -> None:
    sources = sentences([4, 5, 6])
    short = search(model, sources, beam=8, alpha=0.0, extra=6)
    long = search(model, sources, beam=8, alpha=2.0, extra=6)
    for plain, penalised in zip(short, long, strict=True):
        assert len(penalised[0].tokens) >= len(plain[0].tokens)
