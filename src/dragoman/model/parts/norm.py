"""Norms: LayerNorm of the paper (Ba et al. 2016), and RMSNorm (Zhang and Sennrich 2019).

PyTorch computes RMSNorm on a CPU as five operations, each of which saves tensors for the backward pass. This one saves
the normalised vector alone and takes less than half the time (`docs/log.md`, 2026-11-21).
"""

from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from dragoman.config import ModelConfig

# Added to the variance, against division by zero.
EPSILON = {"layer": 1e-5, "rms": 1e-6}


def norm(config: ModelConfig) -> nn.Module:
    """The norm that `config` names."""
    kind = RMSNorm if config.norm == "rms" else LayerNorm
    return kind(config.d_model, EPSILON[config.norm])


class LayerNorm(nn.LayerNorm):
    """(x − mean(x)) / √(variance(x) + ε) · γ + β, by PyTorch's kernel, in the type of x."""

    def forward(self, x: Float[Tensor, "*any D"]) -> Float[Tensor, "*any D"]:
        return super().forward(x) if x.device.type == "cpu" else self.unconverted(x)

    def unconverted(self, x: Float[Tensor, "*any D"]) -> Float[Tensor, "*any D"]:
        """The norm where autocast would convert x, and with it all that follows, to float32: on a GPU.

        The kernel computes mean and variance in float32 in any case.
        """
        with torch.autocast(x.device.type, enabled=False):
            return F.layer_norm(x, self.normalized_shape, self.weight.to(x.dtype), self.bias.to(x.dtype), self.eps)


class RMSNorm(nn.Module):
    """x / √(mean(x²) + ε) · γ."""

    def __init__(self, d_model: int, eps: float = EPSILON["rms"]) -> None:
        super().__init__()
        self.weight, self.eps = nn.Parameter(torch.ones(d_model)), eps

    def forward(self, x: Float[Tensor, "*any D"]) -> Float[Tensor, "*any D"]:
        normalised: Tensor = _Normalise.apply(x, self.eps)
        return normalised * self.weight.to(x.dtype)


class _Normalise(torch.autograd.Function):
    """h = x · r with r = 1 / √(mean(x²) + ε); then ∂L/∂x = r (g − h · mean(g h)) for g = ∂L/∂h."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, eps: float) -> Tensor:
        squares = torch.linalg.vector_norm(
            x, dim=-1, keepdim=True, dtype=torch.promote_types(x.dtype, torch.float32)
        ).square()
        r = (squares / x.size(-1) + eps).rsqrt().to(x.dtype)
        h = x * r
        ctx.save_for_backward(h, r)
        return h

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        (g,), (h, r) = grads, ctx.saved_tensors
        mean = torch.linalg.vecdot(g, h).unsqueeze(-1) / h.size(-1)
        return torch.addcmul(g, h, mean, value=-1).mul_(r), None
