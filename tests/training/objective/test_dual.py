"""Dual supervised learning: the squared gap and both gradients in plain Python; parts add up; the other direction."""

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.testing import assert_close

from architectures import OTHERS
from dragoman.data.batches.batch import Example, collate, split
from dragoman.model.parts.network import EncoderDecoder
from dragoman.text.tokens.tokenizer import EOS
from dragoman.training.objective.dual import DualLoss, squared_gap
from dragoman.training.objective.log_probs import sentence_log_probs, start_of
from dragoman.training.objective.objective import batch_loss
from numerics import assert_same, assert_same_gradients
from suites import cases

Build = Callable[..., EncoderDecoder]
Draw = Callable[..., list[list[int]]]
SHAPES = {"transformer": {}, **{name: OTHERS[name] for name in ("rnn general", "rnn additive", "convs2s", "bytenet")}}


def test_the_squared_gap_and_both_gradients_are_those_of_the_paper() -> None:
    """Each direction's term has the other one detached there; ours is one term with the same two gradients."""
    of_x, of_y, there, back = -20.0, -23.5, -11.0, -9.25
    gap = of_x + there - of_y - back
    assert gap == pytest.approx(1.75)
    forwards, backwards = (torch.tensor([value], dtype=torch.float64, requires_grad=True) for value in (there, back))
    found = squared_gap(forwards, backwards, torch.tensor([of_x - of_y], dtype=torch.float64))
    found.backward()
    assert found.item() == pytest.approx(gap**2)
    assert forwards.grad is not None
    assert backwards.grad is not None
    assert (forwards.grad.item(), backwards.grad.item()) == pytest.approx((2 * gap, -2 * gap))


@pytest.mark.parametrize("dtype", [torch.float64])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("shape", cases(SHAPES, quick=["transformer", "rnn general"]))
def test_the_loss_is_both_likelihoods_and_the_gap_of_each_sentence(
    build: Build, sentences: Draw, shape: dict[str, Any], smoothing: float
) -> None:
    model, weight = build(**shape), 0.03
    pairs = list(zip(sentences([3, 5, 2]), sentences([4, 1, 6], seed=4), strict=True))
    there = collate([Example(a, b, "") for a, b in pairs])
    back = collate([Example(b, a, "") for a, b in pairs])
    priors = torch.tensor([1.5, -2.0, 0.25], dtype=torch.float64)
    whole = type(there)(there.src, there.tgt_in, there.tgt_out, there.locations, (*back.tensors, priors))
    loss = DualLoss(model, smoothing, weight)
    found = loss(*whole.tensors)
    gaps = [
        prior + total(model, a, b) - total(model, b, a) for (a, b), prior in zip(pairs, priors.tolist(), strict=True)
    ]
    likelihoods = sum(batch_loss(model, batch, smoothing).item() for batch in (there, back))
    assert found.item() == pytest.approx(likelihoods + weight * sum(gap**2 for gap in gaps), rel=1e-6)

    parts = [loss(*part.tensors) for part in split(whole, 3)]
    assert_same(sum(parts).float(), found.float())  # the smoothed loss is computed in float32
    assert_same_gradients(
        torch.autograd.grad(sum(parts), model.projection)[0].float(),
        torch.autograd.grad(found, model.projection)[0].float(),
    )


def total(model: EncoderDecoder, source: list[int], target: list[int]) -> float:
    """log P of one pair alone, by the softmax of its logits."""
    batch = collate([Example(source, target, "")])
    logits = model.decode(batch.tgt_in, start_of(model, batch.src))[0][0]
    rows = logits.log_softmax(1).tolist()
    return math.fsum(row[token] for row, token in zip(rows, [*target, EOS], strict=True))


@pytest.mark.parametrize("dtype", [torch.float64])
def test_the_gradient_of_the_gap_is_that_of_two_detached_terms(build: Build, sentences: Draw) -> None:
    model = build()
    [a], [b] = sentences([4]), sentences([3], seed=2)
    there, back = collate([Example(a, b, "")]), collate([Example(b, a, "")])

    def log_p(batch: Any) -> torch.Tensor:
        return sentence_log_probs(model, start_of(model, batch.src), batch.tgt_in, batch.tgt_out)

    prior, own = torch.tensor([2.0], dtype=torch.float64), list(model.parameters())
    joint = torch.autograd.grad(squared_gap(log_p(there), log_p(back), prior), own)
    terms = squared_gap(log_p(there), log_p(back).detach(), prior) + squared_gap(
        log_p(there).detach(), log_p(back), prior
    )
    for mine, theirs in zip(joint, torch.autograd.grad(terms, own), strict=True):
        assert_close(mine, theirs)
