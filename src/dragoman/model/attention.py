"""Scaled dot-product and multi-head attention, section 3.2, with the two masks of sections 3.1 and 3.2.3.

A mask is Boolean and True means "may be seen"; what may not be seen scores −∞ before the softmax.
"""

import math
from functools import lru_cache
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn


def padding_mask(ids: Int[Tensor, "B S"], pad: int) -> Bool[Tensor, "B 1 1 S"]:
    """Every position may see every token of its sentence, and no padding."""
    return (ids != pad)[:, None, None, :]


def look_ahead_mask(asking: int, asked: int, device: torch.device | None = None) -> Bool[Tensor, "1 1 T S"]:
    """Each of the last `asking` of `asked` positions may see itself and those before it (section 3.2.3)."""
    visible = torch.ones(asking, asked, dtype=torch.bool, device=device).tril(asked - asking)
    return visible[None, None]


def attention_weights(
    q: Float[Tensor, "B H T K"], k: Float[Tensor, "B H S K"], mask: Bool[Tensor, "#B 1 #T S"]
) -> Float[Tensor, "B H T S"]:
    """softmax(Q Kᵀ / √d_k), the left factor of Eq. (1), section 3.2.1."""
    scores = q @ k.mT / math.sqrt(q.size(-1))
    return scores.masked_fill(~mask, -math.inf).softmax(dim=-1)


def rotate(x: Float[Tensor, "B H T K"], start: int) -> Float[Tensor, "B H T K"]:
    """Rotary position embedding (Su et al. 2021), so that Q Kᵀ depends on how far apart two positions are.

    The pair (x_i, x_{i + d_k/2}) turns by the angle pos · 10000^(−2i/d_k); the first position is `start`.
    """
    end = start + x.size(2)
    cos, sin = (table[start:end] for table in _turns(1 << (end - 1).bit_length(), x.size(3), x.device))
    a, b = x.float().chunk(2, dim=-1)
    return torch.cat((a * cos - b * sin, b * cos + a * sin), dim=-1).to(x.dtype)


@lru_cache(maxsize=16)
@torch.inference_mode(False)  # kept, they may serve training next
def _turns(length: int, d_k: int, device: torch.device) -> tuple[Float[Tensor, "T K2"], Float[Tensor, "T K2"]]:
    """Cosine and sine of every position's angles."""
    frequency = 10000 ** -(torch.arange(0, d_k, 2, dtype=torch.float64) / d_k)
    angles = torch.arange(length, dtype=torch.float64)[:, None] * frequency
    return angles.cos().to(device, torch.float32), angles.sin().to(device, torch.float32)


class ScaledDotProduct(nn.Module):
    """Attention(Q, K, V) = softmax(Q Kᵀ / √d_k) V, Eq. (1), by PyTorch's fused kernel.

    A module without parameters, so that what enters and leaves it can be watched from outside.
    """

    def forward(
        self,
        q: Float[Tensor, "B H T K"],
        k: Float[Tensor, "B H S K"],
        v: Float[Tensor, "B H S W"],
        mask: Bool[Tensor, "#B 1 #T S"] | None,
    ) -> Float[Tensor, "B H T W"]:
        """The values seen by each position, weighted; `mask = None` lets everything be seen."""
        if q.device.type == "cpu" and q.dtype == torch.bfloat16 and q.requires_grad:
            # There the fused kernel's backward pass takes ten times as long as in float32 (`docs/log.md`, 2026-11-21).
            with torch.autocast("cpu", enabled=False):
                found: Tensor = _Attention.apply(q, k, v, mask)
                return found
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


class MultiHeadAttention(nn.Module):
    """MultiHead(Q, K, V) = Concat(head_1, …, head_h) W^O, section 3.2.2.

    Queries and keys/values are projected by separate calls, so that those of the past and of the memory are
    projected once and kept. With `rotary`, queries and keys are turned by their positions, the first being `start`.
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

    def queries(self, x: Float[Tensor, "B T D"], start: int = 0) -> Float[Tensor, "B H T K"]:
        """Q W_i^Q of every head i."""
        q = self._split(self.w_q(x))
        return rotate(q, start) if self.rotary else q

    def keys_values(
        self, x: Float[Tensor, "B S D"], start: int = 0
    ) -> tuple[Float[Tensor, "B H S K"], Float[Tensor, "B H S W"]]:
        """K W_i^K and V W_i^V of every head i."""
        k, v = self._split(self.w_k(x)), self._split(self.w_v(x))
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
        return self.w_o(heads.transpose(1, 2).flatten(2))

    def _split(self, x: Float[Tensor, "B T HK"]) -> Float[Tensor, "B H T K"]:
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)
