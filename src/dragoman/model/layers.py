"""Encoder and decoder layers, section 3.1 and Figure 1: sub-layers with residual connections and norms.

Input and output: vectors of d_model numbers at each position. The feed-forward network is Eq. (2), section 3.3.
"""

from functools import partial

import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor, nn

from dragoman.config import ModelConfig, MoeConfig
from dragoman.model.parts.attention import MultiHeadAttention, Rotation
from dragoman.model.parts.cache import FixedPast, Past, by_sentence
from dragoman.model.parts.dropout import Dropout
from dragoman.model.parts.moe import Experts
from dragoman.model.parts.norm import norm

Memory = tuple[Float[Tensor, "B H S K"], Float[Tensor, "B H S W"]]


class FeedForward(nn.Module):
    """FFN(x) = max(0, x W_1 + b_1) W_2 + b_2, Eq. (2), section 3.3.

    With `silu` SiLU(z) = z / (1 + e^−z), Elfwing et al. (2018), takes the place of max(0, z).
    """

    def __init__(self, d_model: int, d_ff: int, bias: bool = True, silu: bool = False) -> None:
        super().__init__()
        self.activation = F.silu if silu else F.relu
        self.w_1 = nn.Linear(d_model, d_ff, bias)
        self.w_2 = nn.Linear(d_ff, d_model, bias)

    def forward(self, x: Float[Tensor, "B T D"]) -> Float[Tensor, "B T D"]:
        return self.w_2(self.activation(self.w_1(x)))


class GatedFeedForward(nn.Module):
    """FFN(x) = (Swish(x W_1) ⊙ x W_3) W_2, SwiGLU of Shazeer (2020), with Swish(z) = z / (1 + e^−z)."""

    def __init__(self, d_model: int, d_ff: int, bias: bool = True) -> None:
        super().__init__()
        self.w_1 = nn.Linear(d_model, d_ff, bias)
        self.w_3 = nn.Linear(d_model, d_ff, bias)
        self.w_2 = nn.Linear(d_ff, d_model, bias)

    def forward(self, x: Float[Tensor, "B T D"]) -> Float[Tensor, "B T D"]:
        return self.w_2(F.silu(self.w_1(x)) * self.w_3(x))


class Residual(nn.Module):
    """x + Dropout(y), sections 3.1 and 5.4. A module, so that its input and output can be watched from outside."""

    def __init__(self, dropout: float) -> None:
        super().__init__()
        self.dropout = Dropout(dropout)

    def forward(self, x: Float[Tensor, "B T D"], y: Float[Tensor, "B T D"]) -> Float[Tensor, "B T D"]:
        """The residual stream `x` plus the output `y` of a sub-layer."""
        return x + self.dropout(y)


class AddNorm(nn.Module):
    """The residual connection and the norm of a sub-layer, in two halves: after(x, Sublayer(before(x))).

    Post-LN, the paper, section 3.1: LayerNorm(x + Dropout(Sublayer(x))).
    Pre-LN, Xiong et al. (2020): x + Dropout(Sublayer(LayerNorm(x))).
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.norm = norm(config)
        self.add = Residual(config.dropout)
        self.post = config.norm_order == "post"

    def before(self, x: Float[Tensor, "B T D"]) -> Float[Tensor, "B T D"]:
        """The input of the sub-layer."""
        return x if self.post else self.norm(x)

    def after(self, x: Float[Tensor, "B T D"], y: Float[Tensor, "B T D"]) -> Float[Tensor, "B T D"]:
        """The residual stream after a sub-layer that had the output `y`."""
        total = self.add(x, y)
        return self.norm(total) if self.post else total


class EncoderLayer(nn.Module):
    """Figure 1 left: self-attention, then the feed-forward network. Layers are numbered from 0."""

    def __init__(self, config: ModelConfig, number: int = 0) -> None:
        super().__init__()
        self.self_attention = _attention(config, rotary=config.positions == "rotary")
        self.feed_forward = _feed_forward(config, number)
        self.self_attention_norm = AddNorm(config)
        self.feed_forward_norm = AddNorm(config)

    def forward(
        self, x: Float[Tensor, "B S D"], mask: Bool[Tensor, "B 1 #S S"], start: int | Rotation = 0
    ) -> Float[Tensor, "B S D"]:
        """Every source position attends to all source positions of its sentence, the first of which is `start`."""
        y = self.self_attention_norm.before(x)
        x = self.self_attention_norm.after(x, self._self_attend(y, mask, start))

        y = self.feed_forward_norm.before(x)
        return self.feed_forward_norm.after(x, self.feed_forward(y))

    def _self_attend(self, y: Tensor, mask: Tensor, start: int | Rotation) -> Tensor:
        attention = self.self_attention
        return attention(attention.queries(y, start), *attention.keys_values(y, start), mask)


class DecoderLayer(nn.Module):
    """Figure 1 right: masked self-attention, encoder-decoder attention, then the feed-forward network."""

    def __init__(self, config: ModelConfig, number: int = 0) -> None:
        super().__init__()
        self.self_attention = _attention(config, rotary=config.positions == "rotary")
        self.cross_attention = _attention(config)
        self.feed_forward = _feed_forward(config, number)
        self.self_attention_norm = AddNorm(config)
        self.cross_attention_norm = AddNorm(config)
        self.feed_forward_norm = AddNorm(config)

    def project_memory(self, memory: Float[Tensor, "B S D"]) -> Memory:
        """Keys and values of the encoder's output for this layer's encoder-decoder attention."""
        return self.cross_attention.keys_values(memory)

    def forward(
        self,
        x: Float[Tensor, "R T D"],
        past: Past | FixedPast | None,
        memory: Memory,
        mask: Bool[Tensor, "#B 1 Q N"] | None,
        memory_mask: Bool[Tensor, "B 1 #Q S"],
        start: int | Rotation = 0,
    ) -> tuple[Float[Tensor, "R T D"], Past | FixedPast]:
        """T new positions of R hypotheses, the first at position `start`; also returns `past` extended by them.

        The R hypotheses are grouped by sentence. Those of a sentence share its memory and its past; `mask` says which
        nodes of the past each of the sentence's Q = (R / B) · T new positions may see.
        """
        y = self.self_attention_norm.before(x)
        y, past = masked_self_attention(self.self_attention, y, past, mask, memory_mask.size(0), start)
        x = self.self_attention_norm.after(x, y)

        y = self.cross_attention_norm.before(x)
        x = self.cross_attention_norm.after(x, self._cross_attend(y, memory, memory_mask))

        y = self.feed_forward_norm.before(x)
        return self.feed_forward_norm.after(x, self.feed_forward(y)), past

    def _cross_attend(self, y: Tensor, memory: Memory, memory_mask: Tensor) -> Tensor:
        # The hypotheses of a sentence are queries of one sequence, so that the memory is not copied for each of them.
        queries = y.reshape(memory_mask.size(0), -1, y.size(-1))
        attention = self.cross_attention
        return attention(attention.queries(queries), *memory, memory_mask).view_as(y)


def masked_self_attention(
    attention: MultiHeadAttention,
    y: Float[Tensor, "R T D"],
    past: Past | FixedPast | None,
    mask: Bool[Tensor, "#B 1 Q N"] | None,
    sentences: int,
    start: int | Rotation,
) -> tuple[Float[Tensor, "R T D"], Past | FixedPast]:
    """The self-attention of a decoder, section 3.2.3, and `past` extended by the new positions.

    Of the R hypotheses, grouped by sentence, each has T new positions, the first at position `start`.
    """
    k, v = (by_sentence(part, sentences) for part in attention.keys_values(y, start))
    past = Past.of(k, v) if past is None else past.append(k, v)
    q = by_sentence(attention.queries(y, start), sentences)
    return attention(q, past.k, past.v, mask).view_as(y), past


def _attention(config: ModelConfig, rotary: bool = False) -> MultiHeadAttention:
    widths = (config.d_model, config.heads, config.d_k, config.d_v)
    return MultiHeadAttention(*widths, bias=config.bias, rotary=rotary)


def _feed_forward(config: ModelConfig, number: int) -> FeedForward | GatedFeedForward | Experts:
    if isinstance(config, MoeConfig) and (number + 1) % config.every == 0:
        return Experts(config, partial(_dense, config))
    return _dense(config)


def _dense(config: ModelConfig) -> FeedForward | GatedFeedForward:
    if config.feed_forward == "swiglu":
        return GatedFeedForward(config.d_model, config.d_ff, config.bias)
    return FeedForward(config.d_model, config.d_ff, config.bias, silu=config.feed_forward == "silu")
