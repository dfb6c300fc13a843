"""Attention by other scores than Eq. (1): Bahdanau et al. 2015, appendix A.1.2, and Luong et al. 2015, Eq. (8).

Each is called as `ScaledDotProduct` is, with one head: queries (B, 1, T, K), keys and values of a memory, and a mask.
Queries and keys are given after their linear maps, so that those of the memory are computed once per sentence:

    dot        q · k                    general    k = W_a h_s, then as dot
    concat     v · tanh(q + k)          additive   the same: q = W_a s_(i-1), k = U_a h_j
    scaled     q · k / √K
"""

import math
from abc import abstractmethod
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn


@dataclass(frozen=True, slots=True)
class Annotations:
    """What such an attention reads of B sentences: keys, values, and which positions are tokens."""

    keys: Float[Tensor, "B 1 S K"]
    values: Float[Tensor, "B 1 S W"]
    mask: Bool[Tensor, "B 1 1 S"]

    def select(self, sentences: Int[Tensor, "B2"] | None) -> "Annotations":
        """The annotations of `sentences`; of all of them if None."""
        if sentences is None:
            return self
        return Annotations(self.keys[sentences], self.values[sentences], self.mask[sentences])


class ScoredAttention(nn.Module):
    """Σ_s softmax_s(score(q_t, k_s)) v_s; what scores is in the classes below."""

    @abstractmethod
    def scores(self, q: Float[Tensor, "B H T K"], k: Float[Tensor, "B H S K"]) -> Float[Tensor, "B H T S"]:
        """How well each key fits each query."""

    def weights(
        self, q: Float[Tensor, "B H T K"], k: Float[Tensor, "B H S K"], mask: Bool[Tensor, "#B 1 #T S"] | None
    ) -> Float[Tensor, "B H T S"]:
        """The softmax of the scores; 0 where the mask is False."""
        scores = self.scores(q, k)
        return (scores if mask is None else scores.masked_fill(~mask, -math.inf)).softmax(dim=-1)

    def forward(
        self,
        q: Float[Tensor, "B H T K"],
        k: Float[Tensor, "B H S K"],
        v: Float[Tensor, "B H S W"],
        mask: Bool[Tensor, "#B 1 #T S"] | None,
    ) -> Float[Tensor, "B H T W"]:
        """The context of each query."""
        return self.weights(q, k, mask) @ v


class DotAttention(ScoredAttention):
    """q · k, times `scale`."""

    def __init__(self, scale: float = 1.0) -> None:
        super().__init__()
        self.scale = scale

    def scores(self, q: Float[Tensor, "B H T K"], k: Float[Tensor, "B H S K"]) -> Float[Tensor, "B H T S"]:
        return (q * self.scale if self.scale != 1 else q) @ k.mT


class AdditiveAttention(ScoredAttention):
    """v · tanh(q + k), Bahdanau et al. 2015; the same as v · tanh(W [h_t; h_s]) of Luong et al. 2015."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.v = nn.Parameter(torch.empty(width).uniform_(-(width**-0.5), width**-0.5))

    def scores(self, q: Float[Tensor, "B H T K"], k: Float[Tensor, "B H S K"]) -> Float[Tensor, "B H T S"]:
        return ((q[:, :, :, None] + k[:, :, None]).tanh() @ self.v[:, None]).squeeze(-1)
