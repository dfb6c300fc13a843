"""Batch = singles: a sentence's translation does not depend on its neighbours; with `exact`, not by a bit."""

import random
from collections.abc import Callable

import pytest
import torch

from dragoman.config import DecodeConfig
from dragoman.decode.hypothesis import Hypothesis
from dragoman.engine.torch import TorchEngine
from dragoman.model.transformer import Transformer
from stand_ins import queries
from suites import cases

Build = Callable[..., Transformer]
TODAY = {"norm": "rms", "positions": "rotary", "feed_forward": "swiglu", "bias": False}
SHAPES: dict[str, dict[str, object]] = {
    "post": {"norm_order": "post", "layers": 1},
    "pre": {"norm_order": "pre", "layers": 1},
    "today": {**TODAY, "layers": 1},
    "deep encoder": {"norm_order": "post", "encoder_layers": 2, "decoder_layers": 1},
    "deep decoder": {**TODAY, "encoder_layers": 1, "decoder_layers": 2, "d_k": 6, "d_v": 5},
}
BATCHINGS = [12, 40, 100, 400, 10_000]
CPU, VOCAB, NEAR = torch.device("cpu"), 60, 1e-4
OPTIONS = DecodeConfig(beam=4, n_best=2, extra_length=2)


def sources(count: int) -> list[list[int]]:
    rng = random.Random(7)
    return [[rng.randrange(4, VOCAB) for _ in range(rng.randint(1, 8))] for _ in range(count)]


def translate(model: Transformer, some: list[list[int]], **options: object) -> list[list[Hypothesis]]:
    return TorchEngine(model, CPU).translate(queries(some), OPTIONS.model_copy(update=options))


def most_that_differ(model: Transformer, count: int) -> int:
    """How many sentences differ between two batchings, all by a near-tie."""
    some, most = sources(count), 0
    shuffled = random.Random(1).sample(range(count), count)
    first = translate(model, some, batch_tokens=BATCHINGS[0])
    for budget in BATCHINGS[1:]:
        again = translate(model, [some[index] for index in shuffled], batch_tokens=budget)
        pairs = [(first[index][0], hypotheses[0]) for index, hypotheses in zip(shuffled, again, strict=True)]
        differing = [(one, other) for one, other in pairs if one.tokens != other.tokens]
        for one, other in differing:
            assert abs(one.score - other.score) < NEAR
        most = max(most, len(differing))
    return most


@pytest.mark.parametrize("shape", cases(SHAPES, quick=["today"]))
def test_a_sentence_is_the_same_in_five_batchings(build: Build, shape: dict[str, object]) -> None:
    assert most_that_differ(build(vocab=VOCAB, **shape), 40) == 0


@pytest.mark.slow
def test_a_thousand_sentences_are_the_same_in_five_batchings(build: Build) -> None:
    """At most one in a thousand of all shapes differs, and none by a bit if `exact`."""
    differing = 0
    for shape in SHAPES.values():
        model, some = build(vocab=VOCAB, **shape), sources(40)
        differing += most_that_differ(model, 200)
        exact = translate(model, some, exact=True)
        assert exact[::-1] == translate(model, some[::-1], exact=True, batch_tokens=100)
    assert differing <= 200 * len(SHAPES) / 1000


@pytest.mark.parametrize("method", ["beam", "sample"])
@pytest.mark.parametrize("shape", cases(SHAPES, quick=["today"]))
def test_exact_is_the_same_by_the_bit_in_any_batch_and_with_any_threads(
    build: Build, shape: dict[str, object], method: str
) -> None:
    model, some, threads = build(vocab=VOCAB, **shape), sources(8), torch.get_num_threads()
    first = translate(model, some, exact=True, method=method)
    assert first[::-1] == translate(model, some[::-1], exact=True, method=method, batch_tokens=30)
    try:
        torch.set_num_threads(2)
        assert first[7:8] == translate(model, some[7:8], exact=True, method=method)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(threads)
