"""ConvS2S, Gehring et al. 2017: encode(src) → state, decode(tokens, state) → (logits, state).

    block          [A; B] = W [x_1 … x_k] + b     v = A ⊙ σ(B)     h^l = √½ (v + h^(l-1))       sections 3.2, 3.4
    attention      d_i = √½ (W_d h_i + b_d + g_i)     a_ij = softmax_j(d_i · z_j)               Eq. (1)
                   c_i = √m Σ_j a_ij √½ (z_j + e_j)     h_i ← √½ (W_c c_i + b_c + h_i)          Eq. (2), m source tokens

The four factors √½ are where fairseq has them. The gradient of z is divided by 2 × the number of attentions, each of
which uses it as keys and in values (section 3.4); that of e is not.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import cast

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from dragoman.config import ConvS2SConfig
from dragoman.model.others.convolution import NormedLinear, ScaledGradient, windows
from dragoman.model.parts.dropout import Dropout
from dragoman.model.parts.embedding import LearnedPositions
from dragoman.model.parts.network import Attending, EncoderDecoder
from dragoman.model.parts.scores import Annotations, DotAttention

ROOT_HALF = math.sqrt(0.5)
# The folded matrices of a decoder layer: convolution, W_d, W_c.
LayerWeights = tuple[Tensor, Tensor, Tensor]


@dataclass(frozen=True, slots=True)
class ConvState:
    """The decoder's state for B source sentences and R hypotheses, which are grouped by sentence."""

    memory: Annotations
    """z as keys, √½ (z + e) √m as values."""
    weights: tuple[LayerWeights, ...]
    """The decoder's matrices, folded once."""
    inputs: tuple[Float[Tensor, "R _ D"], ...] = ()
    """Of each layer, the last k − 1 inputs of the convolution; empty before the first token."""
    position: int = 0

    def select(self, rows: Int[Tensor, "R2"], sentences: Int[Tensor, "B2"] | None = None) -> "ConvState":
        inputs = tuple(layer[rows] for layer in self.inputs)
        return ConvState(self.memory.select(sentences), self.weights, inputs, self.position)


class GatedConvolution(nn.Module):
    """A convolution over k positions and a gated linear unit; dropout on its input."""

    def __init__(self, config: ConvS2SConfig) -> None:
        super().__init__()
        self.kernel = config.kernel
        self.w = NormedLinear(config.kernel * config.hidden, 2 * config.hidden, 1 - config.dropout, gain=4.0)
        self.dropout = Dropout(config.dropout)

    def forward(self, x: Float[Tensor, "B T2 D"], w: Tensor) -> Float[Tensor, "B T D"]:
        """One output for every k neighbours of `x`, which holds what comes before and after already."""
        return F.glu(self.w(windows(x, self.kernel), w), dim=-1)


class ConvAttention(Attending):
    """The attention of a decoder layer, Eq. (1) and (2)."""

    def __init__(self, config: ConvS2SConfig) -> None:
        super().__init__()
        self.w_d = NormedLinear(config.hidden, config.d_model)
        self.w_c = NormedLinear(config.d_model, config.hidden)
        self.attend = DotAttention()

    def forward(self, h: Tensor, g: Tensor, to: Annotations, w_d: Tensor, w_c: Tensor) -> Float[Tensor, "R T D"]:
        """h + W_c c, for h of T positions of R hypotheses and the embeddings `g` of their tokens."""
        d = (self.w_d(h, w_d) + g) * ROOT_HALF
        q = d.reshape(to.mask.size(0), 1, -1, d.size(-1))
        c = self.attend(q, to.keys, to.values, to.mask).view_as(d)
        return (self.w_c(c, w_c) + h) * ROOT_HALF


class ConvEncoder(nn.Module):
    """Blocks of the width d between two linear maps from and to the width f of the embeddings."""

    def __init__(self, config: ConvS2SConfig) -> None:
        super().__init__()
        self.w_in = NormedLinear(config.d_model, config.hidden, keep_rate=1 - config.dropout)
        self.layers = nn.ModuleList(GatedConvolution(config) for _ in range(config.encoder_layers))
        self.w_out = NormedLinear(config.hidden, config.d_model)

    def forward(self, e: Float[Tensor, "B S D"], mask: Bool[Tensor, "B S"]) -> Float[Tensor, "B S D"]:
        """z; padding is 0 before every convolution, as what lies outside of a sentence."""
        x = self.w_in(e, self.w_in.fold())
        for layer in cast("Iterable[GatedConvolution]", self.layers):
            side = (layer.kernel - 1) // 2
            inputs = layer.dropout(x.masked_fill(~mask[..., None], 0.0))
            x = (layer(F.pad(inputs, (0, 0, side, side)), layer.w.fold()) + x) * ROOT_HALF
        return self.w_out(x, self.w_out.fold())


class ConvDecoderLayer(nn.Module):
    """A convolution that sees no later position, then attention."""

    def __init__(self, config: ConvS2SConfig) -> None:
        super().__init__()
        self.convolution = GatedConvolution(config)
        self.cross_attention = ConvAttention(config)

    def fold(self) -> LayerWeights:
        attention = self.cross_attention
        return self.convolution.w.fold(), attention.w_d.fold(), attention.w_c.fold()

    def forward(
        self, x: Tensor, g: Tensor, before: Tensor | None, to: Annotations, weights: LayerWeights
    ) -> tuple[Float[Tensor, "R T D"], Float[Tensor, "R _ D"]]:
        """T further positions, and the last k − 1 inputs of the convolution."""
        w, w_d, w_c = weights
        past = self.convolution.kernel - 1
        inputs = self.convolution.dropout(x)
        inputs = F.pad(inputs, (0, 0, past, 0)) if before is None else torch.cat((before, inputs), dim=1)
        y = self.cross_attention(self.convolution(inputs, w), g, to, w_d, w_c)
        return (y + x) * ROOT_HALF, inputs[:, inputs.size(1) - past :]


class ConvS2S(EncoderDecoder):
    """The network for vocabularies of the given sizes."""

    def __init__(self, config: ConvS2SConfig, source_vocab: int, target_vocab: int) -> None:
        super().__init__()
        self.config: ConvS2SConfig = config
        sizes = (config.d_model, config.dropout, config.max_positions, False)
        self.source_embedding = LearnedPositions(source_vocab, *sizes)
        self.target_embedding = LearnedPositions(target_vocab, *sizes)
        self.encoder = ConvEncoder(config)
        self.decoder = nn.ModuleList(ConvDecoderLayer(config) for _ in range(config.decoder_layers))
        self.decoder_in = NormedLinear(config.d_model, config.hidden, keep_rate=1 - config.dropout)
        self.decoder_out = NormedLinear(config.hidden, config.d_model)
        self.decoder_dropout = Dropout(config.dropout)
        self.tie_projection(config, target_vocab)

    def encode(self, src: Int[Tensor, "B S"], src_mask: Bool[Tensor, "B 1 1 S"]) -> ConvState:
        """Keys and values of the source, and the decoder's folded matrices."""
        mask = src_mask[:, 0, 0]
        e = self.source_embedding(src)
        z = ScaledGradient.apply(self.encoder(e, mask), 1 / (2 * len(self.decoder)))
        root_m = mask.sum(1).to(z.dtype).sqrt()[:, None, None]
        values = (z + e) * ROOT_HALF * root_m
        weights = tuple(layer.fold() for layer in self._layers())
        return ConvState(Annotations(z[:, None], values[:, None], src_mask), weights)

    def decode_features(self, tokens: Int[Tensor, "R T"], state: ConvState) -> tuple[Float[Tensor, "R T D"], ConvState]:
        g = self.target_embedding(tokens, state.position)
        x, inputs = self.decoder_in(g, self.decoder_in.fold()), []
        for number, layer in enumerate(self._layers()):
            before = None
            if state.inputs:
                before = state.inputs[number]
                before = before.repeat_interleave(tokens.size(0) // before.size(0), 0)
            x, last = layer(x, g, before, state.memory, state.weights[number])
            inputs.append(last)
        x = self.decoder_dropout(self.decoder_out(x, self.decoder_out.fold()))
        return x, ConvState(state.memory, state.weights, tuple(inputs), state.position + tokens.size(1))

    def cross_attentions(self) -> list[ConvAttention]:
        return [layer.cross_attention for layer in self._layers()]

    def _layers(self) -> list[ConvDecoderLayer]:
        return [*cast("Iterable[ConvDecoderLayer]", self.decoder)]
