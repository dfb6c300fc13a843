"""The loss's laws: chunked = plain, accumulated = one batch."""

from collections.abc import Callable, Sequence

import pytest
import torch
import torch.nn.functional as F
from torch.testing import assert_close

from architectures import ALL, OTHERS
from dragoman.data.batches.batch import Batch, Example, collate, split
from dragoman.model.parts.device import autocast
from dragoman.model.parts.network import EncoderDecoder
from dragoman.training.objective.balance import Balance
from dragoman.training.objective.loss import CHUNK as CHUNKS
from dragoman.training.objective.loss import projected_loss, smoothed_cross_entropy
from dragoman.training.objective.objective import SummedLoss, batch_loss
from numerics import assert_same, assert_same_gradients

CHUNK = CHUNKS["cpu"]
Draw = Callable[..., list[list[int]]]


@pytest.fixture(params=ALL.values(), ids=ALL)
def model(request: pytest.FixtureRequest, build: Callable[..., EncoderDecoder]) -> EncoderDecoder:
    """Every architecture."""
    return build(**request.param)


@pytest.mark.parametrize("r_drop", [0.0, 5.0])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_a_bias_on_the_logits_and_its_gradient_are_autograds(smoothing: float, r_drop: float) -> None:
    torch.manual_seed(0)
    features = torch.randn(2 * CHUNK + 6, 12, requires_grad=True)
    projection, bias = torch.randn(40, 12, requires_grad=True), torch.randn(40, requires_grad=True)
    gold = torch.randint(0, 40, (CHUNK + 3,)).repeat(2)
    logits = features @ projection.T + bias
    plain = smoothed_cross_entropy(logits, gold, smoothing) + r_drop / 2 * both_ways(logits)
    chunked = projected_loss(features, projection, gold, smoothing, r_drop, bias)
    with torch.no_grad():
        alone = projected_loss(features, projection, gold, smoothing, r_drop, bias)
    for loss in (chunked, alone):
        assert_close(loss, plain, atol=1e-3, rtol=1e-5)
    of = (features, projection, bias)
    for mine, torchs in zip(torch.autograd.grad(3 * chunked, of), torch.autograd.grad(3 * plain, of), strict=True):
        assert (mine - torchs).norm() < 1e-5 * torchs.norm()


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("count", [1, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK + 7])
def test_the_loss_in_pieces_is_the_loss_at_once_and_so_are_its_gradients(count: int, smoothing: float) -> None:
    torch.manual_seed(0)
    features = torch.randn(count, 12, requires_grad=True)
    projection = torch.randn(40, 12, requires_grad=True)
    gold = torch.randint(0, 40, (count,))
    plain = smoothed_cross_entropy(features @ projection.T, gold, smoothing)
    pieces = projected_loss(features, projection, gold, smoothing)
    assert_close(pieces, plain)
    for mine, torchs in zip(
        torch.autograd.grad(3 * pieces, (features, projection)),
        torch.autograd.grad(3 * plain, (features, projection)),
        strict=True,
    ):
        assert_close(mine, torchs, atol=1e-4, rtol=1e-4)


def test_without_gradients_it_is_the_same_loss() -> None:
    features, projection, gold = torch.randn(300, 12), torch.randn(40, 12), torch.randint(0, 40, (300,))
    with torch.no_grad():
        assert_close(
            projected_loss(features, projection, gold, 0.1),
            smoothed_cross_entropy(features @ projection.T, gold, 0.1),
        )


def test_in_bfloat16_the_loss_and_its_gradients_differ_by_no_more_than_its_rounding() -> None:
    torch.manual_seed(0)
    features = torch.randn(300, 64, requires_grad=True)
    projection = (torch.randn(500, 64) / 8).requires_grad_()
    gold = torch.randint(0, 500, (300,))
    plain = smoothed_cross_entropy(features @ projection.T, gold, 0.1)
    with autocast("bfloat16", torch.device("cpu")):
        rounded = projected_loss(features, projection, gold, 0.1)
    assert rounded.item() == pytest.approx(plain.item(), rel=1e-3)
    for mine, exact in zip(
        torch.autograd.grad(rounded, (features, projection)),
        torch.autograd.grad(plain, (features, projection)),
        strict=True,
    ):
        assert mine.dtype == exact.dtype
        assert (mine - exact).norm() < 0.02 * exact.norm()


def both_ways(logits: torch.Tensor) -> torch.Tensor:
    """KL(p₁ ‖ p₂) + KL(p₂ ‖ p₁) in PyTorch's own operations."""
    one, two = logits.log_softmax(1).chunk(2)
    return F.kl_div(one, two, log_target=True, reduction="sum") + F.kl_div(two, one, log_target=True, reduction="sum")


@pytest.mark.parametrize("positions", [1, CHUNK // 2, CHUNK // 2 + 1, CHUNK + 3])
def test_the_loss_of_two_passes_in_pieces_is_the_one_at_once_and_so_are_its_gradients(positions: int) -> None:
    torch.manual_seed(0)
    features = torch.randn(2 * positions, 12, requires_grad=True)
    projection = torch.randn(40, 12, requires_grad=True)
    gold = torch.randint(0, 40, (positions,)).repeat(2)
    logits = features @ projection.T
    plain = smoothed_cross_entropy(logits, gold, 0.1) + 5.0 / 2 * both_ways(logits)
    pieces = projected_loss(features, projection, gold, 0.1, r_drop=5.0)
    assert_close(pieces, plain, atol=1e-3, rtol=1e-5)
    for mine, torchs in zip(
        torch.autograd.grad(pieces, (features, projection)),
        torch.autograd.grad(plain, (features, projection)),
        strict=True,
    ):
        assert (mine - torchs).norm() < 1e-5 * torchs.norm()


def test_in_bfloat16_the_loss_of_two_passes_differs_by_no_more_than_its_rounding() -> None:
    torch.manual_seed(0)
    features = torch.randn(150, 64)
    features = torch.cat([features, features + torch.randn(150, 64) / 4]).bfloat16().requires_grad_()
    projection = (torch.randn(500, 64) / 4).requires_grad_()
    gold = torch.randint(0, 500, (150,)).repeat(2)
    logits = features.float() @ projection.T
    plain = smoothed_cross_entropy(logits, gold, 0.1) + 5.0 / 2 * both_ways(logits)
    with autocast("bfloat16", torch.device("cpu")):
        rounded = projected_loss(features, projection, gold, 0.1, r_drop=5.0)
    assert rounded.item() == pytest.approx(plain.item(), rel=2e-3)
    for mine, exact in zip(
        torch.autograd.grad(rounded, (features, projection)),
        torch.autograd.grad(plain, (features, projection)),
        strict=True,
    ):
        assert (mine - exact).norm() < 0.03 * exact.norm()


def test_very_large_logits_do_not_overflow() -> None:
    features = torch.tensor([[200.0, 0.0]], requires_grad=True)
    loss = projected_loss(features, torch.eye(2), torch.tensor([1]), 0.0)
    assert loss.item() == pytest.approx(200)
    loss.backward()
    assert features.grad is not None
    assert_close(features.grad, torch.tensor([[1.0, -1.0]]))


def test_micro_batches_of_unequal_size_sum_to_the_gradient_of_one_batch(model: EncoderDecoder, sentences: Draw) -> None:
    sources, targets = sentences([3, 8, 5, 2]), sentences([9, 2, 4, 6], seed=2)
    examples = [Example(s, t, "") for s, t in zip(sources, targets, strict=True)]
    tokens = sum(len(target) + 1 for target in targets)

    def gradients(parts: list[list[Example]]) -> list[torch.Tensor]:
        model.zero_grad()
        for part in parts:
            (batch_loss(model, collate(part), 0.1) / tokens).backward()
        return [parameter.grad.clone() for parameter in model.parameters() if parameter.grad is not None]

    whole = gradients([examples])
    for parts in ([examples[:1], examples[1:]], [[example] for example in examples]):
        assert_same_gradients(gradients(parts), whole)


def test_rows_without_an_example_change_no_gradient(model: EncoderDecoder, sentences: Draw) -> None:
    examples = [Example(s, t, "") for s, t in zip(sentences([3, 8]), sentences([9, 2], seed=2), strict=True)]
    tokens = collate(examples).target_tokens

    def learned(batches: Sequence[Batch]) -> tuple[torch.Tensor, list[torch.Tensor]]:
        model.zero_grad()
        loss = torch.stack([batch_loss(model, batch, 0.1) for batch in batches]).sum() / tokens
        loss.backward()
        return loss.detach(), [p.grad.clone() for p in model.parameters() if p.grad is not None]

    alone = learned([collate(examples)])
    wide = collate(examples, rows=8, width=16)
    for batches in ([wide], split(wide, 4)):
        loss, gradients = learned(batches)
        assert_same(loss, alone[0])
        assert_same_gradients(gradients, alone[1])


@pytest.mark.parametrize("shape", [name for name in OTHERS if name.startswith("moe")])
def test_the_balance_of_experts_and_its_totals_are_sums_over_tokens(
    build: Callable[..., EncoderDecoder], sentences: Draw, shape: str
) -> None:
    """The objective in any parts is that of one batch, although the losses of Shazeer et al. are of whole batches."""
    model = build(**OTHERS[shape], w_importance=2.0, w_load=3.0)
    examples = [
        Example(s, t, "") for s, t in zip(sentences([3, 8, 5, 1]), sentences([9, 2, 4, 6], seed=2), strict=True)
    ]
    objective, balance = SummedLoss(model, 0.1), Balance(model.config)

    def learned(batches: Sequence[Batch]) -> tuple[torch.Tensor, torch.Tensor, list[torch.Tensor]]:
        model.zero_grad()
        parts = [objective(each.src, each.tgt_in, each.tgt_out, balance.coefficients) for each in batches]
        loss = torch.stack([loss for loss, _ in parts]).sum() / 21
        loss.backward()
        gradients = [p.grad.clone() for p in model.parameters() if p.grad is not None]
        return loss.detach(), torch.stack([totals for _, totals in parts]).sum(0), gradients

    _, totals, plain = learned([collate(examples)])
    balance.after(totals.tolist(), 21)
    whole = learned([collate(examples)])
    assert max((a - b).abs().max() for a, b in zip(whole[2], plain, strict=True)) > 1e-3
    for batches in ([collate([one]) for one in examples], [collate(examples[:3]), collate(examples[3:])]):
        loss, found, gradients = learned(batches)
        assert_same(loss, whole[0])
        assert_same(found, whole[1])
        assert_same_gradients(gradients, whole[2])


def test_padding_costs_nothing(model: EncoderDecoder, sentences: Draw) -> None:
    examples = [Example(s, t, "") for s, t in zip(sentences([3, 8]), sentences([9, 2], seed=2), strict=True)]
    together = batch_loss(model, collate(examples), 0.1)
    apart = sum(batch_loss(model, collate([example]), 0.1) for example in examples)
    assert_same(together, apart)
