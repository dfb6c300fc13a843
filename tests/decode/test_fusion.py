"""Language models behind the two functions, and shallow fusion, against plain Python and exhaustive search."""

import math
from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest
import torch

from dragoman.config import DecodeConfig
from dragoman.decode.constraints import Constraints
from dragoman.decode.ensemble import Ensemble
from dragoman.decode.fusion import Fusion
from dragoman.decode.hypothesis import FORBIDDEN_IDS, length_penalty
from dragoman.decode.search import beam_search
from dragoman.engine.torch import TorchEngine
from dragoman.errors import ConfigError
from dragoman.model.others.language_model import LanguageModel
from dragoman.model.parts.attention import padding_mask
from dragoman.model.parts.network import EncoderDecoder
from dragoman.text.tokens.tokenizer import BOS, EOS, PAD
from numerics import assert_same
from shapes import unchecked
from stand_ins import queries
from suites import cases, covering

Build = Callable[..., EncoderDecoder]
Draw = Callable[..., list[list[int]]]
CPU = torch.device("cpu")
KINDS = {
    "transformer": {"layer": "transformer", "heads": 2},
    "lstm": {"layer": "lstm", "layers": 3, "heads": 2},
    "gru": {"layer": "gru", "heads": 2},
}


@pytest.fixture(params=KINDS.values(), ids=KINDS)
def language_model(request: pytest.FixtureRequest, build: Build) -> LanguageModel:
    """Every kind of layer."""
    model = build(architecture="language-model", seed=5, **request.param)
    assert isinstance(model, LanguageModel)
    return model


def start(model: EncoderDecoder, sentences: int) -> object:
    src = torch.full((sentences, 1), EOS)
    return model.encode(src, padding_mask(src, PAD))


def following(model: EncoderDecoder, source: list[int], prefix: list[int]) -> list[float]:
    """log P of each token after `prefix`, everything computed again; the forbidden tokens have none."""
    src = torch.tensor([[*source, EOS]])
    with unchecked(), torch.inference_mode():
        last = model(src, padding_mask(src, PAD), torch.tensor([[BOS, *prefix]]))[0, -1].tolist()
    scores = [-math.inf if token in FORBIDDEN_IDS else value for token, value in enumerate(last)]
    total = math.log(sum(math.exp(value) for value in scores))
    return [value - total for value in scores]


def total(model: EncoderDecoder, source: list[int], tokens: list[int]) -> float:
    return sum(following(model, source, tokens[:place])[token] for place, token in enumerate(tokens))


@pytest.mark.parametrize("dtype", [torch.float64])
@pytest.mark.parametrize("steps", [[1] * 7, [2, 3, 2], [1, 6]], ids=str)
def test_one_position_at_a_time_equals_all_at_once(
    language_model: LanguageModel, sentences: Draw, steps: list[int]
) -> None:
    tokens = torch.tensor(sentences([7, 7, 7]))
    whole, _ = language_model.decode(tokens, start(language_model, 3))
    state, parts = start(language_model, 3), []
    for part in tokens.split(steps, dim=1):
        logits, state = language_model.decode(part, state)
        parts.append(logits)
    assert_same(torch.cat(parts, dim=1), whole)


@pytest.mark.parametrize("dtype", [torch.float64])
def test_a_token_depends_on_those_before_it_and_on_no_source(language_model: LanguageModel, sentences: Draw) -> None:
    tokens = torch.tensor(sentences([6]))
    logits, _ = language_model.decode(tokens, start(language_model, 1))
    changed = tokens.clone()
    changed[0, 4] = 4 + (changed[0, 4] - 3) % 9
    again, _ = language_model.decode(changed, start(language_model, 1))
    assert torch.equal(again[:, :4], logits[:, :4])
    assert not torch.allclose(again[:, 4:], logits[:, 4:])
    src = torch.tensor(sentences([9], seed=3))
    assert torch.equal(language_model(src, padding_mask(src, PAD), tokens), logits)


@pytest.mark.parametrize("dtype", [torch.float64])
def test_its_state_is_selected_as_hypotheses_fork(language_model: LanguageModel, sentences: Draw) -> None:
    histories = sentences([3, 3])
    _, state = language_model.decode(torch.tensor(histories), start(language_model, 2))
    rows = torch.tensor([0, 0, 1, 1])
    forked = state.select(rows)
    tokens = torch.tensor([[4], [5], [6], [7]])
    logits, _ = language_model.decode(tokens, forked)
    for row, parent in enumerate(rows.tolist()):
        alone = torch.tensor([[*histories[parent], *tokens[row].tolist()]])
        whole, _ = language_model.decode(alone, start(language_model, 1))
        assert_same(logits[row, -1], whole[0, -1])


@pytest.mark.slow
@pytest.mark.parametrize("alpha", cases([0.0, 0.6], quick=[0.6]))
@pytest.mark.parametrize("weight", cases([0.3, 2.0], quick=[0.3]))
def test_a_wide_beam_finds_the_best_sum_and_reports_the_translation_model_alone(
    build: Build, sentences: Draw, weight: float, alpha: float
) -> None:
    model, longest = build(vocab=8, seed=2), 3
    fused = build(vocab=8, seed=9, architecture="language-model", heads=2)
    assert isinstance(fused, LanguageModel)
    source = sentences([longest - 1], vocab=8, seed=2)[0]
    expected = []
    for length in range(longest + 1):
        for words in product(range(4, 8), repeat=length):
            own, theirs = (total(each, source, [*words, EOS]) for each in (model, fused))
            lp = length_penalty(length + 1, alpha)
            expected.append(((own + weight * theirs) / lp, words, own, own / lp))
    expected.sort(key=lambda entry: -entry[0])
    limits = Constraints([longest])
    src = torch.tensor([[*source, EOS]])
    ensemble, fusion = Ensemble([model]), Fusion(fused, weight)
    [found] = beam_search(ensemble, src, limits, beam=len(expected), alpha=alpha, fusion=fusion)
    assert [one.tokens for one in found] == [words for _, words, _, _ in expected]
    for one, (_, _, own, score) in zip(found, expected, strict=True):
        assert one.log_prob == pytest.approx(own, abs=1e-4)
        assert one.score == pytest.approx(score, abs=1e-4)
    [alone] = beam_search(ensemble, src, limits, beam=len(expected), alpha=alpha)
    assert [one.tokens for one in alone] != [one.tokens for one in found]


@pytest.mark.slow
@pytest.mark.parametrize(("language_model", "beam"), covering(KINDS, [4, 1]), indirect=["language_model"])
def test_with_a_language_model_too_a_sentence_translates_the_same_in_any_batch(
    build: Build, language_model: LanguageModel, sentences: Draw, beam: int
) -> None:
    engine = TorchEngine(build(), CPU, language_model=language_model)
    sources = sentences([1, 9, 3, 5, 12, 2, 7])
    options = DecodeConfig(beam=beam, n_best=beam, extra_length=6, language_model=Path("lm"), language_model_weight=0.7)
    together = engine.translate(queries(sources), options)
    alone = [engine.translate(queries([source]), options)[0] for source in sources]
    assert [[one.tokens for one in each] for each in together] == [[one.tokens for one in each] for each in alone]
    for [first, *_], source in zip(together, sources, strict=True):
        [scores] = engine.score(queries([source]), [first.tokens])
        assert sum(scores) == pytest.approx(first.log_prob, abs=1e-3)


@pytest.mark.parametrize("beam", [1, 3])
def test_it_keeps_to_a_shortlist_and_to_a_prefix(build: Build, sentences: Draw, beam: int) -> None:
    fused = build(seed=9, architecture="language-model", heads=2)
    assert isinstance(fused, LanguageModel)
    engine = TorchEngine(build(), CPU, language_model=fused, shortlist=lambda source: (*source, 5, 6))
    sources = sentences([4, 7, 2])
    options = DecodeConfig(beam=beam, extra_length=4, shortlist=True, language_model=Path("lm"))
    prefixes = [[7], [8, 9], [10]]
    for source, prefix, [best, *_] in zip(
        sources, prefixes, engine.translate(queries(sources, prefixes), options), strict=True
    ):
        assert list(best.tokens[: len(prefix)]) == prefix
        assert {*best.tokens} <= {*source, *prefix, 5, 6}


def test_what_it_does_not_go_with_is_refused_in_one_line(build: Build, sentences: Draw) -> None:
    engine = TorchEngine(build(), CPU)
    with pytest.raises(ConfigError, match=r"decode\.language_model: this engine was made without one"):
        engine.translate(queries(sentences([3])), DecodeConfig(language_model=Path("lm")))
    with pytest.raises(ValueError, match='language_model: works with method = "beam", not with "mbr"'):
        DecodeConfig(language_model=Path("lm"), method="mbr")
