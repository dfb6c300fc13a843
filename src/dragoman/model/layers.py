"""Encoder and decoder layers, section 3.1 and Figure 1: sub-layers inside residual connections with LayerNorm."""

from collections.abc import Callable

import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor, nn

from dragoman.config import ModelConfig
from dragoman.model.attention import MultiHeadAttention
from dragoman.model.cache import Past, by_sentence
from dragoman.model.dropout import Dropout
from dragoman.model.norm import norm

Memory = tuple[Float[Tensor, "B H S K"], Float[Tensor, "B H S W"]]


class FeedForward(nn.Module):
    """FFN(x) = max(0, x W_1 + b_1) W_2 + b_2, Eq. (2), section 3.3."""

    def __init__(self, d_model: int, d_ff: int, bias: bool = True) -> None:
        super().__init__()
        self.w_1 = nn.Linear(d_model, d_ff, bias)
        self.w_2 = nn.Linear(d_ff, d_model, bias)

    def forward(self, x: Float[Tensor, "B T D"]) -> Float[Tensor, "B T D"]:
        """The same two layers at every position."""
        return self.w_2(self.w_1(x).relu())


class GatedFeedForward(nn.Module):
    """FFN(x) = (Swish(x W_1) ⊙ x W_3) W_2, SwiGLU of Shazeer (2020), with Swish(z) = z / (1 + e^−z)."""

    def __init__(self, d_model: int, d_ff: int, bias: bool = True) -> None:
        super().__init__()
        self.w_1 = nn.Linear(d_model, d_ff, bias)
        self.w_3 = nn.Linear(d_model, d_ff, bias)
        self.w_2 = nn.Linear(d_ff, d_model, bias)

    def forward(self, x: Float[Tensor, "B T D"]) -> Float[Tensor, "B T D"]:
        """The same layers at every position."""
        return self.w_2(F.silu(self.w_1(x)) * self.w_3(x))


class AddNorm(nn.Module):
    """A residual connection around a sub-layer, with LayerNorm and dropout, sections 3.1 and 5.4.

    Post-LN, the paper: LayerNorm(x + Dropout(Sublayer(x))).
    Pre-LN, Xiong et al. (2020): x + Dropout(Sublayer(LayerNorm(x))).
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.norm = norm(config)
        self.dropout = Dropout(config.dropout)
        self.post = config.norm_order == "post"

    def forward(self, x: Float[Tensor, "B T D"], sublayer: Callable[[Tensor], Tensor]) -> Float[Tensor, "B T D"]:
        """`x` with what the sub-layer adds to it."""
        if self.post:
            return self.norm(x + self.dropout(sublayer(x)))
        return x + self.dropout(sublayer(self.norm(x)))


class EncoderLayer(nn.Module):
    """Figure 1 left: self-attention, then the feed-forward network."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.self_attention = _attention(config, rotary=config.positions == "rotary")
        self.feed_forward = _feed_forward(config)
        self.add_norm = nn.ModuleList(AddNorm(config) for _ in range(2))

    def forward(self, x: Float[Tensor, "B S D"], mask: Bool[Tensor, "B 1 1 S"]) -> Float[Tensor, "B S D"]:
        """Every source position looks at every other."""

        def look(y: Tensor) -> Tensor:
            attention = self.self_attention
            return attention(attention.queries(y), *attention.keys_values(y), mask)

        x = self.add_norm[0](x, look)
        return self.add_norm[1](x, self.feed_forward)


class DecoderLayer(nn.Module):
    """Figure 1 right: masked self-attention, encoder-decoder attention, then the feed-forward network."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.self_attention = _attention(config, rotary=config.positions == "rotary")
        self.cross_attention = _attention(config)
        self.feed_forward = _feed_forward(config)
        self.add_norm = nn.ModuleList(AddNorm(config) for _ in range(3))

    def remember(self, memory: Float[Tensor, "B S D"]) -> Memory:
        """The keys and values of the encoder's output, as this layer's encoder-decoder attention sees it."""
        return self.cross_attention.keys_values(memory)

    def forward(
        self,
        x: Float[Tensor, "R T D"],
        past: Past | None,
        memory: Memory,
        mask: Bool[Tensor, "#B 1 _ _"] | None,
        memory_mask: Bool[Tensor, "B 1 1 S"],
        start: int = 0,
    ) -> tuple[Float[Tensor, "R T D"], Past]:
        """New positions `x`, the first of which is position `start`, look at the `past` and at themselves, then at
        the `memory`; also returns the past with them.

        The R hypotheses of B sentences stand grouped by sentence. Those of one sentence share its memory and its
        past, and `mask` tells what of the past is theirs.
        """
        sentences, seen = memory_mask.size(0), []

        def look_back(y: Tensor) -> Tensor:
            attention = self.self_attention
            k, v = (by_sentence(part, sentences) for part in attention.keys_values(y, start))
            seen.append(Past.of(k, v) if past is None else past.append(k, v))
            q = by_sentence(attention.queries(y, start), sentences)
            return attention(q, seen[0].k, seen[0].v, mask).view_as(y)

        def look_at_source(y: Tensor) -> Tensor:
            # The hypotheses of one sentence ask as if they were positions of one: the memory is not copied.
            together = y.reshape(sentences, -1, y.size(-1))
            attention = self.cross_attention
            return attention(attention.queries(together), *memory, memory_mask).view_as(y)

        x = self.add_norm[0](x, look_back)
        x = self.add_norm[1](x, look_at_source)
        return self.add_norm[2](x, self.feed_forward), seen[0]


def _attention(config: ModelConfig, rotary: bool = False) -> MultiHeadAttention:
    widths = (config.d_model, config.heads, config.d_k, config.d_v)
    return MultiHeadAttention(*widths, bias=config.bias, rotary=rotary)


def _feed_forward(config: ModelConfig) -> FeedForward | GatedFeedForward:
    kind = GatedFeedForward if config.feed_forward == "swiglu" else FeedForward
    return kind(config.d_model, config.d_ff, config.bias)
