"""Erasure against scoring without a token; gradient × input against single gradients; agreement by hand."""

from typing import Any

import pytest
import torch
from torch import Tensor

from dragoman.decode.hypothesis import FORBIDDEN_IDS
from dragoman.inspection import attribution
from dragoman.inspection.attribution import agree, attribute, erasure, gradient_by_input
from dragoman.inspection.heads import roles
from dragoman.inspection.inspection import Inspection
from dragoman.model.parts.attention import padding_mask
from dragoman.text.tokens.tokenizer import BOS, PAD
from numerics import assert_same


def log_p(inspection: Inspection, source: list[int], shift: Tensor | None = None) -> Tensor:
    """log P of each token of the translation, one step at a time, from the source's vectors moved by `shift`."""
    model, found = inspection.model, []
    src = torch.tensor([source])
    handle = model.source_embedding.register_forward_hook(lambda _module, _args, x: x if shift is None else x + shift)
    state = model.encode(src, padding_mask(src, PAD))
    handle.remove()
    for token, following in zip((BOS, *inspection.target_ids), inspection.target_ids, strict=False):
        logits, state = model.decode(torch.tensor([[token]]), state)
        logits[..., FORBIDDEN_IDS] = -torch.inf
        found.append(logits[0, 0].log_softmax(-1)[following])
    return torch.stack(found)


@pytest.mark.slow
@torch.inference_mode()
def test_erasure_is_what_scoring_without_the_token_loses(inspection: Inspection) -> None:
    lost, source = erasure(inspection), list(inspection.source_ids)
    assert lost.shape == (7, 6)
    whole = log_p(inspection, source)
    assert_same(whole, inspection.log_probs)
    for place in range(len(source)):
        without = log_p(inspection, source[:place] + source[place + 1 :])
        assert_same(lost[:, place], whole - without, scale=whole.abs().max().item())


def test_gradient_by_input_is_the_gradient_times_the_input_token_by_token(inspection: Inspection) -> None:
    found, source = gradient_by_input(inspection), list(inspection.source_ids)
    assert not found.requires_grad
    x = inspection.recording["source_embedding"].output.clone()
    shift = torch.zeros(x.shape, requires_grad=True)
    for row, value in zip(found, log_p(inspection, source, shift), strict=True):
        (gradient,) = torch.autograd.grad(value, shift, retain_graph=True)
        torch.testing.assert_close(row, (gradient * x)[0].abs().sum(-1), atol=1e-5, rtol=1e-4)


@torch.inference_mode()
def test_gradient_by_input_equals_finite_differences(inspection: Inspection) -> None:
    """One number of one source vector at a time, by differences of fourth order, in double precision."""
    found, model = gradient_by_input(inspection), inspection.model.double()
    x = inspection.recording["source_embedding"].output.double()
    units = torch.eye(x.numel(), dtype=torch.float64).view(-1, *x.shape[1:])
    source = torch.tensor([inspection.source_ids]).expand(len(units), -1)
    output = torch.tensor([inspection.target_ids]).expand(len(units), -1)
    read = torch.cat((torch.full((len(units), 1), BOS), output[:, :-1]), 1)

    def log_p_at(shift: float) -> Tensor:
        """(S · D, T): with one number of the source moved in each row."""
        moved = model.source_embedding.register_forward_hook(lambda *_: x + shift * units)
        double = model.target_embedding.register_forward_hook(lambda _module, _args, y: y.double())
        logits = model(source, padding_mask(source, PAD), read)
        moved.remove()
        double.remove()
        logits[..., FORBIDDEN_IDS] = -torch.inf
        return logits.log_softmax(-1).gather(2, output[..., None])[..., 0]

    # ReLU has corners, which only a small step does not cross; rotary positions round to float32: 1e-7 over the step.
    h = 1e-2 if model.config.positions == "rotary" else 1e-6
    slope = (8 * (log_p_at(h) - log_p_at(-h)) - (log_p_at(2 * h) - log_p_at(-2 * h))) / (12 * h)
    expected = (slope.T.view(-1, *x.shape[1:]) * x).abs().sum(-1)
    torch.testing.assert_close(found.double(), expected, atol=1e-3, rtol=1e-3)


def test_many_passes_say_what_one_says(inspection: Inspection, monkeypatch: pytest.MonkeyPatch) -> None:
    before = erasure(inspection), gradient_by_input(inspection)
    for positions in (1, 30):
        monkeypatch.setattr(attribution, "POSITIONS_PER_PASS", positions)
        torch.testing.assert_close((erasure(inspection), gradient_by_input(inspection)), before, atol=1e-5, rtol=1e-4)


def test_what_explains_leaves_the_model_as_it_was(inspection: Inspection) -> None:
    attribute(inspection)
    assert all(weight.grad is None for weight in inspection.model.parameters())
    assert not any(module._forward_hooks for module in inspection.model.modules())


def test_the_head_that_agrees_with_erasure_most_is_shown(inspection: Inspection) -> None:
    explained = attribute(inspection)
    aligned = {(role.where, role.head): role.alignment for role in roles(inspection, explained.erasure)}
    assert aligned[explained.where, explained.head] == max(share for share in aligned.values() if share is not None)
    torch.testing.assert_close(explained.attention, inspection.recording[explained.where].weights[0, explained.head])
    assert explained.agreement["attention-erasure"].top == pytest.approx(aligned[explained.where, explained.head])
    assert explained.links == tuple((t, int(explained.attention[t, :5].argmax())) for t in range(6))
    assert set(explained.agreement) == {"attention-erasure", "attention-gradient", "erasure-gradient"}


def test_agreement_by_hand() -> None:
    one = torch.tensor([[3.0, 2.0, 1.0, 9.0], [1.0, 2.0, 2.0, 9.0], [0.0, 0.0, 0.0, 0.0]])
    other = torch.tensor([[1.0, 2.0, 3.0, 0.0], [5.0, 6.0, 7.0, 0.0], [0.0, 0.0, 0.0, 0.0]])
    found = agree(one, other)
    assert found.top == 0.0
    # −1 in the first row; in the second, ranks 1, 2.5, 2.5 and 1, 2, 3: 1.5 / √(1.5 · 2)
    assert found.spearman == pytest.approx((-1 + 1.5 / 3**0.5) / 2, abs=1e-6)
    assert agree(one, 2 * one + 1) == attribution.Agreement(1.0, pytest.approx(1.0))
    assert agree(one[:, 2:], other[:, 2:]).spearman is None


@pytest.mark.parametrize(("source", "target"), [("5", "9"), ("5", ""), ("5 6", "")])
def test_the_shortest_sentences_are_explained(look_at: Any, source: str, target: str) -> None:
    explained = attribute(look_at(source, target))
    assert explained.erasure is not None
    assert explained.erasure.shape == explained.gradient.shape == explained.attention.shape  # type: ignore[union-attr]
    assert len(explained.links) == len(target)


def test_too_long_a_sentence_has_attention_alone(inspection: Inspection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attribution, "MAX_POSITIONS", 90)  # six by seven tokens are 91
    explained = attribute(inspection)
    assert explained.erasure is explained.gradient is None
    assert explained.agreement == {}
    sure = {
        (role.where, role.head): inspection.recording[role.where].weights[0, role.head, :-1, :-1].amax(-1).mean()
        for role in roles(inspection)
        if "cross" in role.where
    }
    assert (explained.where, explained.head) == max(sure, key=sure.__getitem__)
