"""Sampling's laws: frequencies are probabilities, and a sample is its sentence's own."""

import math
import tracemalloc
from collections import Counter
from collections.abc import Callable

import pytest
import torch
from searching import FORBIDDEN_IDS, log_probs

from architectures import TRANSFORMERS
from dragoman.config import DecodeConfig
from dragoman.decode.hypothesis import Hypothesis, length_penalty
from dragoman.decode.sampling import SamplingParams, draw
from dragoman.engine.torch import TorchEngine
from dragoman.model.transformer import Transformer
from dragoman.text.tokens.tokenizer import EOS
from stand_ins import queries
from suites import cases, covering

Build = Callable[..., Transformer]
Draw = Callable[..., list[list[int]]]
CPU = torch.device("cpu")
SCORES = [1.0, 0.5, -math.inf, 2.0, 0.0, -1.0, 2.0]


def expected(temperature: float, top_k: int, top_p: float) -> list[float]:
    """The distribution in plain Python; likelihoods that are equal stay or go together."""
    weights = [math.exp(score / temperature) for score in SCORES]
    if top_k:
        least = sorted(weights, reverse=True)[min(top_k, len(weights)) - 1]
        weights = [weight if weight >= least else 0.0 for weight in weights]
    p = [weight / sum(weights) for weight in weights]
    mass, least = 0.0, 0.0
    for value in sorted(p, reverse=True):
        if mass < top_p:
            least = value
        mass += value
    kept = [value if value >= least else 0.0 for value in p]
    return [value / sum(kept) for value in kept]


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
@pytest.mark.parametrize(("top_k", "top_p"), [(0, 1.0), (3, 1.0), (0, 0.6), (4, 0.7), (1, 1.0), (0, 0.01), (50, 0.9)])
def test_words_are_drawn_as_often_as_they_are_probable(temperature: float, top_k: int, top_p: float) -> None:
    count = 20_000
    chance = (torch.arange(count, dtype=torch.float64) + 0.5) / count
    drawn = draw(torch.tensor([SCORES]).expand(count, -1), SamplingParams(temperature, top_k, top_p), chance)
    for column, p in enumerate(expected(temperature, top_k, top_p)):
        assert (drawn == column).float().mean().item() == pytest.approx(p, abs=2 / count)


def test_samples_follow_the_model(build: Build, sentences: Draw) -> None:
    model, [source], count = build(vocab=8), sentences([2], vocab=8), 2000
    options = DecodeConfig(method="sample", n_best=count, extra_length=1)
    [samples] = TorchEngine(model, CPU).translate(queries([source]), options)
    first = Counter(sample.tokens[0] if sample.tokens else EOS for sample in samples)
    p = [0.0 if token in FORBIDDEN_IDS else math.exp(value) for token, value in enumerate(log_probs(model, source, []))]
    for token, value in enumerate(p):
        share = value / sum(p)
        assert first[token] / count == pytest.approx(share, abs=4 * math.sqrt(share * (1 - share) / count) + 1e-9)


@pytest.mark.parametrize(
    ("model", "options"),
    covering(
        TRANSFORMERS,
        [{}, {"temperature": 0.5, "top_k": 4, "top_p": 0.9, "no_repeat_ngram": 2, "min_length": 3}],
    ),
    indirect=["model"],
)
def test_a_sample_has_the_log_probability_of_its_tokens_under_the_model(
    model: Transformer, sentences: Draw, options: dict[str, object]
) -> None:
    sources, prefixes = sentences([3, 6, 1]), [[], [5, 6], [9]]
    keys = {"method": "sample", "n_best": 5, "extra_length": 4, **options}
    engine = TorchEngine(model, CPU)
    together = engine.translate(queries(sources, prefixes), DecodeConfig.model_validate(keys))
    for source, prefix, samples in zip(sources, prefixes, together, strict=True):
        assert len(samples) == 5
        assert len({sample.tokens for sample in samples}) > 1
        for sample in samples:
            target_ids = list(sample.tokens)
            assert target_ids[: len(prefix)] == prefix
            assert options.get("min_length", 0) <= len(target_ids) <= len(source) + 4
            total = sum(
                log_probs(model, source, target_ids[:place])[token] for place, token in enumerate([*target_ids, EOS])
            )
            assert sample.log_prob == pytest.approx(total, abs=1e-3)
            assert sample.score == pytest.approx(total / length_penalty(len(target_ids) + 1, 0.6), abs=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("model", cases(TRANSFORMERS, quick=["today", "learned"]), indirect=True)
def test_samples_depend_on_seed_source_and_number_alone(model: Transformer, sentences: Draw) -> None:
    sources, engine = sentences([4, 9, 2, 5, 5]), TorchEngine(model, CPU)

    def tokens(some: list[list[int]], **options: object) -> list[list[tuple[int, ...]]]:
        keys = {"method": "sample", "n_best": 6, "extra_length": 5, **options}
        return [
            [h.tokens for h in found] for found in engine.translate(queries(some), DecodeConfig.model_validate(keys))
        ]

    together = tokens(sources)
    assert tokens(sources[::-1]) == together[::-1]
    assert tokens(sources, batch_tokens=1) == together
    assert tokens(sources, exact=True) == together
    assert [samples[:2] for samples in together] == tokens(sources, n_best=2)
    assert tokens([sources[0], sources[0]]) == [together[0], together[0]]
    assert tokens(sources, seed=2) != together


def test_samples_that_may_be_very_long_take_no_memory_before_they_are(build: Build, sentences: Draw) -> None:
    engine, sources = TorchEngine(build(vocab=6), CPU), sentences([3, 1], vocab=6)

    def drawn(longest: int) -> list[list[Hypothesis]]:
        return engine.translate(queries(sources), DecodeConfig(method="sample", temperature=9.0, extra_length=longest))

    expected = drawn(1000)
    tracemalloc.start()
    found, (_, peak) = drawn(10**7), tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found == expected
    assert peak < 10e6
