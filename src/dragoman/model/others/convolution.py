"""Linear maps with weight normalisation, and the windows of a convolution: ConvS2S (Gehring et al. 2017) has both."""

import math
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn


class NormedLinear(nn.Module):
    """W x + b with W = g V / ‖V‖ for each output (Salimans and Kingma 2016), section 3.5 of Gehring et al. 2017.

    V starts as N(0, √(gain · keep_rate / inputs)), where `keep_rate` is the share of the input that dropout keeps and
    `gain` is 4 before a gated linear unit. `fold` makes W, once for all calls of a pass.
    """

    def __init__(self, inputs: int, outputs: int, keep_rate: float = 1.0, gain: float = 1.0) -> None:
        super().__init__()
        self.v = nn.Parameter(torch.empty(outputs, inputs).normal_(std=math.sqrt(gain * keep_rate / inputs)))
        self.g = nn.Parameter(self.v.detach().norm(dim=1))
        self.bias = nn.Parameter(torch.zeros(outputs))

    def fold(self) -> Float[Tensor, "_ I"]:
        """W, whose rows have the lengths g."""
        return F.normalize(self.v, dim=1) * self.g[:, None]

    def forward(self, x: Float[Tensor, "*any I"], w: Float[Tensor, "_ I"]) -> Float[Tensor, "*any _"]:
        """W x + b for the folded `w`."""
        return F.linear(x, w, self.bias)


class ScaledGradient(torch.autograd.Function):
    """x, whose gradient is multiplied by a number."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, factor: float) -> Tensor:
        ctx.factor = factor
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        return grads[0] * ctx.factor, None


def windows(x: Float[Tensor, "B T2 D"], kernel: int, dilation: int = 1) -> Float[Tensor, "B T _"]:
    """The `kernel` positions that a convolution joins, side by side, for each place where they all exist."""
    length = x.size(1) - (kernel - 1) * dilation
    return torch.cat([x[:, start : start + length] for start in range(0, kernel * dilation, dilation)], dim=-1)
