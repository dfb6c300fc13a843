"""Label-smoothed cross-entropy, section 5.4, as a sum over tokens: whoever updates divides once, by all of them.

The projection onto the vocabulary and the loss are one operation that works on a few hundred positions at a
time and finds the gradient while it has the logits, so that N × V numbers never exist at once. On a vocabulary of
10,000 this is faster than the two operations apart (`docs/log.md`, 2026-11-21).
"""

from collections.abc import Iterator
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from dragoman.model.device import working_dtype

# Positions whose logits exist at once: 256 × 10,000 numbers stay in a processor's cache, a GPU wants more to do.
CHUNK = {"cpu": 256, "cuda": 4096}


def smoothed_cross_entropy(logits: Tensor, gold: Tensor, smoothing: float) -> Tensor:
    """Σ over positions of −Σ_v q(v) log p(v), with q = (1 − ε) at the gold token plus ε / V everywhere.

    `logits` (N, V), `gold` (N,). Szegedy et al. 2016; the plain form that `projected_loss` is held against.
    """
    return F.cross_entropy(logits, gold, reduction="sum", label_smoothing=smoothing)


def projected_loss(features: Tensor, projection: Tensor, gold: Tensor, smoothing: float) -> Tensor:
    """`smoothed_cross_entropy(features @ projection.T, gold, smoothing)` in bounded memory.

    `features` (N, D), `projection` (V, D), `gold` (N,). Under autocast logits and the products with
    them are in its arithmetic, gradients are summed in float32.
    """
    compute = working_dtype(features.device)
    with torch.autocast(features.device.type, enabled=False):
        if torch.is_grad_enabled():
            return _ProjectedLoss.apply(features, projection, gold, smoothing, compute)
        table, loss = projection.to(compute), projection.new_zeros(())
        for part in _chunks(features):
            loss += smoothed_cross_entropy((features[part].to(compute) @ table.T).float(), gold[part], smoothing)
        return loss


def divergence(one: Tensor, other: Tensor, projection: Tensor) -> Tensor:
    """Σ over positions of KL(p ‖ q) + KL(q ‖ p), the two distributions projected from (N, D) features.

    Logits are computed again in the backward pass, so that here too N × V numbers never exist at once.
    """
    total = projection.new_zeros(())
    for part in _chunks(one):
        total = total + checkpoint(_divergence, one[part], other[part], projection, use_reentrant=False)
    return total


def _divergence(one: Tensor, other: Tensor, projection: Tensor) -> Tensor:
    log_p, log_q = (F.linear(features, projection).float().log_softmax(1) for features in (one, other))
    return ((log_p.exp() - log_q.exp()) * (log_p - log_q)).sum()


class _ProjectedLoss(torch.autograd.Function):
    """The gradient in the logits is p − q.

    The ε / V that q puts everywhere is applied to the D-wide products instead of to the V-wide logits: those are
    passed over by the softmax and a sum. That sum, of p without the gold token, says p − q at the gold token more
    exactly than a difference of two rounded numbers near 1.
    """

    @staticmethod
    def forward(
        ctx: Any, features: Tensor, projection: Tensor, gold: Tensor, smoothing: float, compute: torch.dtype
    ) -> Tensor:
        x, table = features.to(compute), projection.to(compute)
        d_features, d_projection = torch.empty_like(features), torch.zeros_like(projection)
        everywhere = smoothing / projection.size(0) * projection.sum(0)
        loss = projection.new_zeros(())
        for part in _chunks(features):
            logits = x[part] @ table.T
            y = torch.arange(logits.size(0), device=gold.device), gold[part]
            p = logits.softmax(1)
            at_gold, log_p = logits[y].to(projection.dtype), p[y].to(projection.dtype).log()
            if log_p.isinf().any():  # underflow, some 90 nats below the likeliest token
                log_p = at_gold - logits.to(projection.dtype).logsumexp(1)
            # −Σ q log p = −log p(gold) + ε (logit of gold − mean logit)
            loss += (smoothing * at_gold - log_p).sum() - (x[part].to(everywhere.dtype) @ everywhere).sum()
            d_logits, p[y] = p, 0
            d_logits[y] = smoothing - d_logits.sum(1)
            d_features[part] = (d_logits @ table).to(everywhere.dtype).sub_(everywhere)
            d_projection += d_logits.T @ x[part]
        d_projection -= smoothing / projection.size(0) * x.sum(0, dtype=projection.dtype)
        ctx.save_for_backward(d_features, d_projection)
        return loss

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor, None, None, None]:
        d_features, d_projection = ctx.saved_tensors
        return d_features * grads[0], d_projection * grads[0], None, None, None


def _chunks(features: Tensor) -> Iterator[slice]:
    size = CHUNK.get(features.device.type, CHUNK["cuda"])
    return (slice(start, start + size) for start in range(0, features.size(0), size))
