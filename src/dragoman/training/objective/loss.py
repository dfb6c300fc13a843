"""Label-smoothed cross-entropy, section 5.4, summed over target tokens; the update divides by their count once.

The projection onto the vocabulary and the loss are one operation (decision 0001). It works on a few hundred of the L
target tokens at a time and computes the gradient while it has their logits, so that L × V numbers never exist at once.
With a vocabulary of 10,000 this is faster than two operations (`docs/log.md`, 2026-11-21). A GPU's rows of
several pairs have these formulas again in `row_loss`, without a question to the device.
"""

from collections.abc import Iterator
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from dragoman.model.parts.device import compute_dtype

# Tokens whose logits exist at once: 256 × 10,000 numbers stay in a processor's cache; a GPU needs more work.
CHUNK = {"cpu": 256, "cuda": 4096}


def smoothed_cross_entropy(logits: Float[Tensor, "L V"], gold: Int[Tensor, "L"], smoothing: float) -> Float[Tensor, ""]:
    """Σ over tokens of −Σ_v q(v) log p(v), with q = (1 − ε) at the gold token plus ε / V everywhere.

    Szegedy et al. (2016). The plain form, which the tests compare `projected_loss` with.
    """
    return F.cross_entropy(logits, gold, reduction="sum", label_smoothing=smoothing)


def projected_loss(
    features: Float[Tensor, "L D"],
    projection: Float[Tensor, "V D"],
    gold: Int[Tensor, "L"],
    smoothing: float,
    r_drop: float = 0.0,
    bias: Float[Tensor, "V"] | None = None,
) -> Float[Tensor, ""]:
    """`smoothed_cross_entropy(features @ projection.T + bias, gold, smoothing)` in bounded memory.

    With `r_drop`, α of Liang et al. (2021), the first and the second half of the rows are two passes over the same
    tokens, and α/2 (KL(p₁ ‖ p₂) + KL(p₂ ‖ p₁)) is added. Under autocast, logits and the products with them are in its
    precision; gradients are summed in float32.
    """
    compute = compute_dtype(features.device)
    with torch.autocast(features.device.type, enabled=False):
        if torch.is_grad_enabled() or r_drop:
            return _ProjectedLoss.apply(features, projection, bias, gold, smoothing, r_drop, compute)
        table, loss = projection.to(compute), projection.new_zeros(())
        added = None if bias is None else bias.to(compute)
        for part in _chunks(features, 1):
            logits = F.linear(features[part].to(compute), table, added)
            loss += smoothed_cross_entropy(logits.float(), gold[part], smoothing)
        return loss


class _ProjectedLoss(torch.autograd.Function):
    """The gradient with respect to the logits is p − q, plus that of `_divergence` with R-Drop.

    The ε / V of q is applied to products of width D instead of logits of width V, which only the softmax and a sum
    read. That sum, of p without the gold token, gives p − q at the gold token more accurately than the difference of
    two rounded numbers near 1. The gradient with respect to `bias` is the sum of that with respect to the logits.
    """

    @staticmethod
    def forward(
        ctx: Any,
        features: Tensor,
        projection: Tensor,
        bias: Tensor | None,
        gold: Tensor,
        smoothing: float,
        r_drop: float,
        compute: torch.dtype,
    ) -> Tensor:
        x, table = features.to(compute), projection.to(compute)
        added = None if bias is None else bias.to(compute)
        d_features = torch.empty_like(features)
        d_projection = torch.zeros_like(projection) if ctx.needs_input_grad[1] else None  # None where it is frozen
        d_bias = None if bias is None else torch.zeros_like(bias)
        everywhere = smoothing / projection.size(0) * projection.sum(0)
        loss = projection.new_zeros(())
        if bias is not None:
            loss -= smoothing * features.size(0) * bias.mean()
        for part in _chunks(features, 2 if r_drop else 1):
            logits = F.linear(x[part], table, added)
            y = torch.arange(logits.size(0), device=gold.device), gold[part]
            p = logits.softmax(1)
            at_gold, log_p = logits[y].to(projection.dtype), p[y].to(projection.dtype).log()
            if log_p.isinf().any():  # underflow, some 90 nats below the likeliest token
                log_p = at_gold - logits.to(projection.dtype).logsumexp(1)
            # −Σ q log p = −log p(gold) + ε (logit of gold − mean logit)
            loss += (smoothing * at_gold - log_p).sum() - (x[part].to(everywhere.dtype) @ everywhere).sum()
            drawn = _divergence(logits, p, at_gold - log_p, r_drop / 2) if r_drop else None
            d_logits, p[y] = p, 0
            d_logits[y] = smoothing - d_logits.sum(1)
            if drawn:
                loss += drawn[0]
                d_logits += drawn[1]
            d_features[part] = (d_logits @ table).to(everywhere.dtype).sub_(everywhere).to(features.dtype)
            if d_projection is not None:
                d_projection += d_logits.T @ x[part]
            if d_bias is not None:
                d_bias += d_logits.sum(0, dtype=d_bias.dtype)
        if d_projection is not None:
            d_projection -= smoothing / projection.size(0) * x.sum(0, dtype=projection.dtype)
        if d_bias is not None:
            d_bias -= smoothing / projection.size(0) * features.size(0)
        ctx.save_for_backward(d_features, d_projection, d_bias)
        return loss

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        scaled = [None if tensor is None else tensor * grads[0] for tensor in ctx.saved_tensors]
        return (*scaled, None, None, None, None)


def _divergence(
    logits: Float[Tensor, "L V"], p: Float[Tensor, "L V"], normaliser: Float[Tensor, "L"], weight: float
) -> tuple[Float[Tensor, ""], Float[Tensor, "L V"]]:
    """`weight` times Σ over positions of KL(p₁ ‖ p₂) + KL(p₂ ‖ p₁), and its gradient with respect to the logits.

    The first half of the rows is 1, the second 2; `normaliser` is log Σ exp of each row of `logits`.
    With r = log p₁ − log p₂ the gradient is p₁ (1 − KL₁ + r) − p₂ in the logits of 1 and p₂ (1 − KL₂ − r) − p₁ in
    those of 2.
    """
    (logits_1, logits_2), (p_1, p_2), (z_1, z_2) = logits.chunk(2), p.chunk(2), normaliser.chunk(2)
    ratio = (logits_1 - logits_2).sub_((z_1 - z_2).to(p.dtype).unsqueeze(1)).mul_(weight)
    gradient = torch.empty_like(p)
    gradient_1, gradient_2 = gradient.chunk(2)
    torch.mul(p_1, ratio, out=gradient_1)
    torch.mul(p_2, ratio.neg_(), out=gradient_2)
    apart = gradient.sum(1, keepdim=True)  # weight · KL₁ and weight · KL₂
    gradient.addcmul_(p, weight - apart)
    gradient_1.sub_(p_2, alpha=weight)
    gradient_2.sub_(p_1, alpha=weight)
    return apart.sum(dtype=normaliser.dtype), gradient


def _chunks(features: Tensor, passes: int) -> Iterator[Tensor]:
    """Indices of the rows of each chunk: the same target tokens of every pass."""
    size = CHUNK.get(features.device.type, CHUNK["cuda"]) // passes
    rows = torch.arange(features.size(0), device=features.device).view(passes, -1)
    return (rows[:, start : start + size].flatten() for start in range(0, rows.size(1), size))
