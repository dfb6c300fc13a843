"""ByteNet, Kalchbrenner et al. 2016: a target network of dilated convolutions over a source network, no attention.

    block      x + W_3 ReLU(LN(conv_k,r(ReLU(LN(W_1 ReLU(LN(x)))))))     x has 2d numbers, inside d; dilation r
    unfolding  a source of n tokens is extended to ⌈a n⌉ + b positions, Eq. (2); the decoder's input at i is the
               embedding of y_(i-1) plus the source network's output at i, zeros after its end

The published network reads characters; here it reads the pieces of the tokenizer. LayerNorm is over channels, so that
no position sees a later one.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, cast

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from dragoman.config import ByteNetConfig
from dragoman.model.others.convolution import windows
from dragoman.model.parts.dropout import Dropout
from dragoman.model.parts.embedding import Embedding
from dragoman.model.parts.network import EncoderDecoder, initialise_linear


@dataclass(frozen=True, slots=True)
class ByteNetState:
    """The decoder's state for B source sentences and R hypotheses, which are grouped by sentence."""

    source: Float[Tensor, "B S2 D"]
    """The source network's output, 0 after each sentence's last position."""
    inputs: tuple[Float[Tensor, "R _ _"], ...] = ()
    """Of each block, the last (k − 1) r inputs of its dilated convolution; empty before the first token."""
    position: int = 0

    def select(self, rows: Int[Tensor, "R2"], sentences: Int[Tensor, "B2"] | None = None) -> "ByteNetState":
        source = self.source if sentences is None else self.source[sentences]
        return ByteNetState(source, tuple(block[rows] for block in self.inputs), self.position)


class ResidualBlock(nn.Module):
    """Section 3.6 with ReLU: narrow, dilated convolution, wide, plus the input."""

    def __init__(self, config: ByteNetConfig, number: int) -> None:
        super().__init__()
        wide, narrow = config.d_model, config.d_model // 2
        self.kernel = config.kernel
        self.dilation = 2 ** (number % (int(math.log2(config.max_dilation)) + 1))
        self.reach = (config.kernel - 1) * self.dilation
        self.first_norm, self.w_1 = nn.LayerNorm(wide), nn.Linear(wide, narrow)
        self.second_norm, self.w_2 = nn.LayerNorm(narrow), nn.Linear(config.kernel * narrow, narrow)
        self.third_norm, self.w_3 = nn.LayerNorm(narrow), nn.Linear(narrow, wide)
        self.dropout = Dropout(config.dropout)

    def narrow(self, x: Float[Tensor, "B T D"]) -> Float[Tensor, "B T _"]:
        """The input of the dilated convolution."""
        return F.relu(self.second_norm(self.w_1(F.relu(self.first_norm(x)))))

    def forward(self, x: Float[Tensor, "B T D"], inputs: Float[Tensor, "B T2 _"]) -> Float[Tensor, "B T D"]:
        """The block's output for `x`, given what its convolution joins: (k − 1) r positions more than those of `x`."""
        y = self.w_2(windows(inputs, self.kernel, self.dilation))
        return x + self.dropout(self.w_3(F.relu(self.third_norm(y))))


class ByteNet(EncoderDecoder):
    """The network for vocabularies of the given sizes."""

    def __init__(self, config: ByteNetConfig, source_vocab: int, target_vocab: int) -> None:
        super().__init__()
        self.config: ByteNetConfig = config
        self.source_embedding = Embedding(source_vocab, config.d_model, config.dropout, sinusoidal=False)
        self.target_embedding = Embedding(target_vocab, config.d_model, config.dropout, sinusoidal=False)
        self.extension = nn.Parameter(torch.randn(config.d_model))
        self.encoder = nn.ModuleList(ResidualBlock(config, number) for number in range(config.encoder_layers))
        self.decoder = nn.ModuleList(ResidualBlock(config, number) for number in range(config.decoder_layers))
        self.decoder_out = nn.Linear(config.d_model, config.d_model)
        self.decoder_dropout = Dropout(config.dropout)
        initialise_linear(self)
        self.tie_projection(config, target_vocab)

    def encode(self, src: Int[Tensor, "B S"], src_mask: Bool[Tensor, "B 1 1 S"]) -> ByteNetState:
        """The source network over the extended source."""
        x, inside = self._extended(self.source_embedding(src), src_mask[:, 0, 0])
        for block in cast("Iterable[ResidualBlock]", self.encoder):
            inputs = block.narrow(x).masked_fill(~inside, 0.0)  # what is outside of a sentence is 0
            side = block.reach // 2
            x = block(x, F.pad(inputs, (0, 0, side, side)))
        return ByteNetState(x.masked_fill(~inside, 0.0))

    def decode_features(
        self, tokens: Int[Tensor, "R T"], state: ByteNetState
    ) -> tuple[Float[Tensor, "R T D"], ByteNetState]:
        rows, start, end = tokens.size(0), state.position, state.position + tokens.size(1)
        under = state.source[:, start:end]
        under = F.pad(under, (0, 0, 0, tokens.size(1) - under.size(1)))
        x = self.target_embedding(tokens) + under.repeat_interleave(rows // under.size(0), 0)
        after = []
        for number, block in enumerate(cast("Iterable[ResidualBlock]", self.decoder)):
            inputs = block.narrow(x)
            if state.inputs:
                before = state.inputs[number]
                inputs = torch.cat((before.repeat_interleave(rows // before.size(0), 0), inputs), dim=1)
            else:
                inputs = F.pad(inputs, (0, 0, block.reach, 0))
            x = block(x, inputs)
            after.append(inputs[:, inputs.size(1) - block.reach :])
        x = self.decoder_dropout(F.relu(self.decoder_out(x)))
        return x, ByteNetState(state.source, tuple(after), end)

    def _extended(self, x: Tensor, mask: Tensor) -> tuple[Float[Tensor, "B S2 D"], Bool[Tensor, "B S2 1"]]:
        """The source with the vector `extension` after its tokens, and which positions belong to its sentence."""
        lengths = mask.sum(1)
        whole = self._stretched(lengths)
        longest = self._stretched(x.size(1))
        places = torch.arange(longest, device=x.device)
        x = F.pad(x, (0, 0, 0, longest - x.size(1)))
        x = torch.where((places < lengths[:, None])[..., None], x, self.extension.to(x.dtype))
        return x, (places < whole[:, None])[..., None]

    def _stretched(self, length: Any) -> Any:
        """⌈a n⌉ + b in whole numbers, with a in thousandths: in float32 1.2 n may be above the number that it is."""
        return (length * round(1000 * self.config.stretch) + 999) // 1000 + self.config.extra
