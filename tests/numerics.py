"""How far two ways of computing one number may lie apart: from the arithmetic, not from one machine.

A processor's vectors and threads decide in which order a sum is added, and whether a product is rounded before that.
So a sum of n terms differs by about √n ε of the largest magnitude in it, with ε the spacing of its dtype at 1 (Higham
2002, "Accuracy and Stability of Numerical Algorithms", section 2.6: n ε at worst, √n ε as errors have either sign), and
the errors of sums that follow each other add up. An element may be small by cancellation: errors are relative to the
largest element, not to each.
"""

import math

import torch
from torch import Tensor

# The models of `conftest.py`: the longest sums, of d_ff terms, and how many sums follow each other. An attention has 4
# (projections, scores, weighted values, W_O), Eq. (2) has 2; two encoder layers, two decoder layers, logits.
TERMS, DEPTH = 24, 2 * (4 + 2) + 2 * (4 + 4 + 2) + 1
# Both ways of computing are off.
WAYS = 2


def rounding(dtype: torch.dtype = torch.float32, *, terms: int = TERMS, depth: int = DEPTH) -> float:
    """The difference to allow, relative to the largest magnitude, after `depth` sums of `terms` in a row."""
    return WAYS * depth * math.sqrt(terms) * torch.finfo(dtype).eps


def assert_same(
    found: Tensor, expected: Tensor, *, terms: int = TERMS, depth: int = DEPTH, scale: float | None = None
) -> None:
    """Equal but for rounding, relative to `scale`: the largest magnitude of `expected`, unless given."""
    if scale is None:
        scale = expected[expected.isfinite()].abs().max().item()
    allowed = scale * rounding(expected.dtype, terms=terms, depth=depth)
    torch.testing.assert_close(found, expected, atol=allowed, rtol=0)


def assert_same_gradients(
    found: list[Tensor], expected: list[Tensor], *, terms: int = TERMS, depth: int = 3 * DEPTH
) -> None:
    """`assert_same` of each, relative to the largest of all: some are nothing but rounding, as that of a key's bias.

    A gradient has three times the sums of its loss: the forward pass, and two products backward for each of them.
    """
    scale = max(one.abs().max().item() for one in expected)
    for mine, other in zip(found, expected, strict=True):
        assert_same(mine, other, terms=terms, depth=depth, scale=scale)
