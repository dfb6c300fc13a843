"""Label-smoothed cross-entropy, section 5.4, as a sum over tokens: whoever updates divides once, by all of them.

The projection onto the vocabulary and the loss are one operation that works on a few hundred positions at a
time and finds the gradient while it has the logits, so that N × V numbers never exist at once. On a vocabulary of
10,000 this is faster than the two operations apart (`docs/log.md`, 2026-11-21).
"""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

# Positions whose logits exist at once: 256 × 10,000 floats stay in the processor's cache.
CHUNK = 256


def smoothed_cross_entropy(logits: Tensor, gold: Tensor, smoothing: float) -> Tensor:
    """Σ over positions of −Σ_v q(v) log p(v), with q = (1 − ε) at the gold token plus ε / V everywhere.

    `logits` (N, V), `gold` (N,). Szegedy et al. 2016; the plain form that `projected_loss` is held against.
    """
    return F.cross_entropy(logits, gold, reduction="sum", label_smoothing=smoothing)


def projected_loss(features: Tensor, projection: Tensor, gold: Tensor, smoothing: float) -> Tensor:
    """`smoothed_cross_entropy(features @ projection.T, gold, smoothing)` in bounded memory.

    `features` (N, D), `projection` (V, D), `gold` (N,); computed in float32.
    """
    with torch.autocast(features.device.type, enabled=False):
        return _ProjectedLoss.apply(features.float(), projection, gold, smoothing)


class _ProjectedLoss(torch.autograd.Function):
    """With e = exp(z − max z) and m = Σ e, the gradient in z is e / m − q.

    Division by m, and the ε / V that q puts everywhere, are applied to the D-wide products instead of to the V-wide
    logits: those are passed over only to find their maximum, to exponentiate and to sum.
    """

    @staticmethod
    def forward(ctx: Any, features: Tensor, projection: Tensor, gold: Tensor, smoothing: float) -> Tensor:
        d_features, d_projection = torch.empty_like(features), torch.zeros_like(projection)
        everywhere = smoothing / projection.size(0) * projection.sum(0)
        loss = features.new_zeros(())
        for start in range(0, features.size(0), CHUNK):
            x, y = features[start : start + CHUNK], gold[start : start + CHUNK, None]
            z = x @ projection.T
            at_gold, highest = z.gather(1, y), z.amax(1, keepdim=True)
            e = z.sub_(highest).exp_()
            m = e.sum(1, keepdim=True)
            loss += (highest + m.log() - (1 - smoothing) * at_gold).sum() - (x @ everywhere).sum()
            e.scatter_add_(1, y, (smoothing - 1) * m)
            d_features[start : start + CHUNK] = (e @ projection).div_(m).sub_(everywhere)
            d_projection.addmm_(e.T, x / m)
        d_projection -= smoothing / projection.size(0) * features.sum(0)
        ctx.save_for_backward(d_features, d_projection)
        return loss

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor, None, None]:
        d_features, d_projection = ctx.saved_tensors
        return d_features * grads[0], d_projection * grads[0], None, None
