"""Scaled dot-product and multi-head attention, section 3.2, with the two masks of sections 3.1 and 3.2.3.

A mask is Boolean and True means "may be seen"; scores of positions that may not be seen are −∞ before the softmax.

Eq. (1) as written is `attention_weights(q, k, mask) @ v`. A forward pass computes the same by PyTorch's fused kernel
(`ScaledDotProduct`), or where that is slow, in bfloat16 training on a CPU, by `_Attention`; the tests hold the three
equal. The weights themselves are computed only where they are used: alignment, coverage, inspection.
"""

import math
from functools import cache
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from dragoman.model.parts.network import Attending


def padding_mask(ids: Int[Tensor, "B S"], pad: int) -> Bool[Tensor, "B 1 1 S"]:
    """Every position may see all tokens of its sentence and no padding."""
    return (ids != pad)[:, None, None, :]


def look_ahead_mask(queries: int, keys: int, device: torch.device | None = None) -> Bool[Tensor, "1 1 T S"]:
    """Each of the last `queries` of `keys` positions may see itself and the positions before it (section 3.2.3)."""
    visible = torch.ones(queries, keys, dtype=torch.bool, device=device).tril(keys - queries)
    return visible[None, None]


def attention_weights(
    q: Float[Tensor, "B H T K"], k: Float[Tensor, "B H S K"], mask: Bool[Tensor, "#B 1 #T S"]
) -> Float[Tensor, "B H T S"]:
    """softmax(Q Kᵀ / √d_k), the left factor of Eq. (1), section 3.2.1."""
    scores = q @ k.mT / math.sqrt(q.size(-1))
    return scores.masked_fill(~mask, -math.inf).softmax(dim=-1)


# Cosine and sine of the angles by which each position of each row is rotated.
Rotation = tuple[Float[Tensor, "#B 1 T P"], Float[Tensor, "#B 1 T P"]]


def rotate(x: Float[Tensor, "B H T K"], start: int | Rotation) -> Float[Tensor, "B H T K"]:
    """Rotary position embedding (Su et al. 2021): Q Kᵀ then depends on the distance of two positions.

    The pair (x_i, x_{i + d_k/2}) is rotated by the angle pos · 10000^(−2i/d_k); the first position is `start`, or
    `start` is the `rotation` of positions that do not follow each other.
    """
    if isinstance(start, int):
        end = start + x.size(2)
        cos, sin = (table[start:end] for table in rotary_table(1 << (end - 1).bit_length(), x.size(3), x.device))
    else:
        cos, sin = start
    a, b = x.float().chunk(2, dim=-1)
    return torch.cat((a * cos - b * sin, b * cos + a * sin), dim=-1).to(x.dtype)


@cache  # without end: a recorded step reads the table where it is
@torch.inference_mode(False)  # cached tables may be used in training next
def rotary_table(length: int, d_k: int, device: torch.device) -> tuple[Float[Tensor, "T P"], Float[Tensor, "T P"]]:
    """Cosine and sine of the angles of each position."""
    frequency = 10000 ** -(torch.arange(0, d_k, 2, dtype=torch.float64) / d_k)
    angles = torch.arange(length, dtype=torch.float64)[:, None] * frequency
    return angles.cos().to(device, torch.float32), angles.sin().to(device, torch.float32)


def rotation(places: Int[Tensor, "#B T"], d_k: int, most: int = 0) -> Rotation:
    """By what a row whose positions have these places is rotated; a place is less than T or, if larger, `most`."""
    cos, sin = rotary_table(1 << (max(places.size(1), most) - 1).bit_length(), d_k, places.device)
    return cos[places].unsqueeze(1), sin[places].unsqueeze(1)


class ScaledDotProduct(nn.Module):
    """Attention(Q, K, V) = softmax(Q Kᵀ / √d_k) V, Eq. (1), by PyTorch's fused kernel.

    A module without parameters, so that its input and output can be watched from outside.
    """

    def forward(
        self,
        q: Float[Tensor, "B H T K"],
        k: Float[Tensor, "B H S K"],
        v: Float[Tensor, "B H S W"],
        mask: Bool[Tensor, "#B 1 #T S"] | None,
    ) -> Float[Tensor, "B H T W"]:
        """For each query position the weighted mean of the values it may see; `mask = None` lets everything be seen."""
        if q.device.type == "cpu" and q.dtype == torch.bfloat16 and q.requires_grad:
            # Here the fused kernel's backward pass takes ten times as long as in float32 (`docs/log.md`, 2026-11-21).
            with torch.autocast("cpu", enabled=False):
                output: Tensor = _Attention.apply(q, k, v, mask)
                return output
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)


class _Attention(torch.autograd.Function):
    """Eq. (1) and its gradient in plain matrix products.

    With P = softmax(Q Kᵀ / √d_k) and G the gradient of the output: ∂V = Pᵀ G, ∂P = G Vᵀ,
    ∂S = P ⊙ (∂P − Σ_row ∂P ⊙ P) / √d_k, ∂Q = ∂S K, ∂K = ∂Sᵀ Q.
    """

    @staticmethod
    def forward(ctx: Any, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
        scores = (q @ k.mT).mul_(q.size(-1) ** -0.5)
        p = (scores if mask is None else scores.masked_fill_(~mask, -math.inf)).softmax(dim=-1)
        ctx.save_for_backward(q, k, v, p)
        return p @ v

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:
        (g,), (q, k, v, p) = grads, ctx.saved_tensors
        d_p = g @ v.mT
        d_s = d_p.sub_(torch.linalg.vecdot(d_p, p).unsqueeze(-1)).mul_(p).mul_(q.size(-1) ** -0.5)
        return d_s @ k, d_s.mT @ q, p.mT @ g, None


class MultiHeadAttention(Attending):
    """MultiHead(Q, K, V) = Concat(head_1, …, head_h) W^O, head_i = Attention(Q W_i^Q, K W_i^K, V W_i^V), section 3.2.2.

    W_1^Q, …, W_h^Q are the rows of one matrix `w_q`; keys and values likewise. The projections are methods of their
    own, so that keys and values of the past and of the memory are computed once: for queries x and memory m,

        MultiHead(x, m, m) = attention(attention.queries(x), *attention.keys_values(m), mask)

    With `rotary`, queries and keys are rotated by their positions, the first of which is `start` (see `rotate`).
    """

    def __init__(
        self, d_model: int, heads: int, d_k: int, d_v: int, *, bias: bool = True, rotary: bool = False
    ) -> None:
        super().__init__()
        self.heads, self.rotary = heads, rotary
        self.w_q = nn.Linear(d_model, heads * d_k, bias)
        self.w_k = nn.Linear(d_model, heads * d_k, bias)
        self.w_v = nn.Linear(d_model, heads * d_v, bias)
        self.w_o = nn.Linear(heads * d_v, d_model, bias)
        self.attend = ScaledDotProduct()

    def queries(self, x: Float[Tensor, "B T D"], start: int | Rotation = 0) -> Float[Tensor, "B H T K"]:
        """Q W_i^Q for every head i."""
        q = split_heads(self.w_q(x), self.heads)
        return rotate(q, start) if self.rotary else q

    def keys_values(
        self, x: Float[Tensor, "B S D"], start: int | Rotation = 0
    ) -> tuple[Float[Tensor, "B H S K"], Float[Tensor, "B H S W"]]:
        """K W_i^K and V W_i^V for every head i."""
        k, v = split_heads(self.w_k(x), self.heads), split_heads(self.w_v(x), self.heads)
        return rotate(k, start) if self.rotary else k, v

    def forward(
        self,
        q: Float[Tensor, "B H T K"],
        k: Float[Tensor, "B H S K"],
        v: Float[Tensor, "B H S W"],
        mask: Bool[Tensor, "#B 1 #T S"] | None,
    ) -> Float[Tensor, "B T D"]:
        """Concat(head_1, …, head_h) W^O of projected queries, keys and values."""
        heads = self.attend(q, k, v, mask)
        return self.w_o(concat_heads(heads))


def split_heads(x: Float[Tensor, "B T HK"], heads: int) -> Float[Tensor, "B H T K"]:
    """Vectors of all heads side by side → one sequence of vectors per head."""
    return x.unflatten(-1, (heads, -1)).transpose(1, 2)


def concat_heads(x: Float[Tensor, "B H T W"]) -> Float[Tensor, "B T HW"]:
    """Concat(head_1, …, head_h): the vectors of all heads side by side."""
    return x.transpose(1, 2).flatten(2)
