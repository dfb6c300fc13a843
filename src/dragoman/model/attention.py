"""Scaled dot-product and multi-head attention, section 3.2, with the two masks of sections 3.1 and 3.2.3.

A mask is Boolean and True means "may be seen"; what may not be seen scores −∞ before the softmax.
"""

import math

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
        if q.device.type == "cpu" and q.dtype == torch.bfloat16:
            # There the kernel's backward pass takes ten times as long as in float32 (`docs/log.md`, 2026-11-21).
            with torch.autocast("cpu", enabled=False):
                return F.scaled_dot_product_attention(q.float(), k.float(), v.float(), attn_mask=mask).to(q.dtype)
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)


class MultiHeadAttention(nn.Module):
    """MultiHead(Q, K, V) = Concat(head_1, …, head_h) W^O, section 3.2.2.

    Queries and keys/values are projected by separate calls, so that those of the past and of the memory are
    projected once and kept.
    """

    def __init__(self, d_model: int, heads: int, d_k: int, d_v: int) -> None:
        super().__init__()
        self.heads = heads
        self.w_q = nn.Linear(d_model, heads * d_k)
        self.w_k = nn.Linear(d_model, heads * d_k)
        self.w_v = nn.Linear(d_model, heads * d_v)
        self.w_o = nn.Linear(heads * d_v, d_model)
        self.attend = ScaledDotProduct()

    def queries(self, x: Float[Tensor, "B T D"]) -> Float[Tensor, "B H T K"]:
        """Q W_i^Q of every head i."""
        return self._split(self.w_q(x))

    def keys_values(self, x: Float[Tensor, "B S D"]) -> tuple[Float[Tensor, "B H S K"], Float[Tensor, "B H S W"]]:
        """K W_i^K and V W_i^V of every head i."""
        return self._split(self.w_k(x)), self._split(self.w_v(x))

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
