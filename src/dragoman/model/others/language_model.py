"""Language models: P(y) = Π P(y_t | y_<t), a decoder that has no source, behind the same two functions.

An `EncoderDecoder` although it has no encoder: `encode` reads nothing of its source but the number of sentences, and
`decode` is that of any network. So a language model is trained, resumed and searched with as a translation model is,
and its state joins that of a search, without a second interface for one network.

    transformer   y → masked self-attention, feed-forward network, N times: Figure 1 right without its middle sub-layer
    lstm, gru     y → recurrences, the input of a layer added to its output from the third layer on
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import cast

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from dragoman.config import LanguageModelConfig, ModelConfig
from dragoman.model.layers import EncoderLayer, masked_self_attention
from dragoman.model.others.recurrence import Carry, Recurrence
from dragoman.model.others.recurrent_encoder import FIRST_RESIDUAL
from dragoman.model.parts.cache import Past, extend_lineage, step_mask
from dragoman.model.parts.dropout import Dropout
from dragoman.model.parts.embedding import Embedding
from dragoman.model.parts.network import EncoderDecoder, initialise_linear
from dragoman.model.transformer import DecoderState


@dataclass(frozen=True, slots=True)
class CarriedState:
    """The carry of each recurrent layer, (R, D); of B rows before the first token."""

    carries: tuple[Carry, ...]

    def select(self, rows: Int[Tensor, "R2"], sentences: Int[Tensor, "B2"] | None = None) -> "CarriedState":
        """The carries of the hypotheses `rows`; nothing here belongs to a sentence, so `sentences` has no effect."""
        return CarriedState(tuple(tuple(part[rows] for part in carry) for carry in self.carries))

    def of_rows(self, rows: int) -> "CarriedState":
        """The carries of `rows` hypotheses: those of a sentence are repeated to the number that it has from now on."""
        times = rows // self.carries[0][0].size(0)
        if times == 1:
            return self
        return CarriedState(tuple(tuple(part.repeat_interleave(times, 0) for part in carry) for carry in self.carries))


class CausalLayer(EncoderLayer):
    """Masked self-attention, then the feed-forward network."""

    def forward(  # type: ignore[override]  # it has a past
        self,
        x: Float[Tensor, "R T D"],
        past: Past | None,
        mask: Bool[Tensor, "#B 1 Q N"] | None,
        sentences: int,
        start: int = 0,
    ) -> tuple[Float[Tensor, "R T D"], Past]:
        """T new positions of R hypotheses, the first at `start`; also `past` extended by them."""
        y = self.self_attention_norm.before(x)
        y, longer = masked_self_attention(self.self_attention, y, past, mask, sentences, start)
        x = self.self_attention_norm.after(x, y)

        y = self.feed_forward_norm.before(x)
        return self.feed_forward_norm.after(x, self.feed_forward(y)), cast("Past", longer)


class LanguageModel(EncoderDecoder):
    """A decoder without a source, for a vocabulary of the given size."""

    def __init__(self, config: LanguageModelConfig, vocab: int) -> None:
        super().__init__()
        self.config: LanguageModelConfig = config
        self.attends = config.layer == "transformer"
        self.target_embedding = Embedding(vocab, config.d_model, config.dropout, sinusoidal=self.attends)
        self.decoder_norm: nn.Module = nn.Identity()
        if config.layer == "transformer":
            self.decoder = nn.ModuleList(CausalLayer(_shape(config)) for _ in range(config.layers))
            self.decoder_norm = nn.LayerNorm(config.d_model)
            initialise_linear(self.decoder)
        else:
            cell = config.layer
            self.decoder = nn.ModuleList(Recurrence(config.d_model, config.d_model, cell) for _ in range(config.layers))
        self.dropout = Dropout(config.dropout)
        self.tie_projection(config, vocab)

    def encode(self, src: Int[Tensor, "B S"], src_mask: Bool[Tensor, "B 1 1 S"]) -> DecoderState | CarriedState:
        """The state before the first token of B sentences, whatever their sources are."""
        if self.attends:
            return DecoderState((), src_mask)
        layers = cast("Iterable[Recurrence]", self.decoder)
        return CarriedState(tuple(layer.empty(src.size(0)) for layer in layers))

    def decode_features(
        self, tokens: Int[Tensor, "R T"], state: DecoderState | CarriedState
    ) -> tuple[Float[Tensor, "R T D"], DecoderState | CarriedState]:
        return self._attend(tokens, state) if isinstance(state, DecoderState) else self._recur(tokens, state)

    def _attend(self, tokens: Tensor, state: DecoderState) -> tuple[Tensor, DecoderState]:
        length, sentences = tokens.size(1), state.memory_mask.size(0)
        past_length = state.past[0].length if state.past else 0
        lineage = extend_lineage(state.lineage, past_length, tokens.size(0) // sentences, length, state.memory_mask)
        mask = step_mask(lineage, past_length, length, tokens.device)
        x, past = self.target_embedding(tokens, state.position), list[Past]()
        for number, layer in enumerate(self.decoder):
            x, layer_past = layer(x, state.past[number] if state.past else None, mask, sentences, state.position)
            past.append(layer_past)
        after = DecoderState((), state.memory_mask, tuple(past), lineage, state.position + length)
        return self.decoder_norm(x), after

    def _recur(self, tokens: Tensor, state: CarriedState) -> tuple[Tensor, CarriedState]:
        with torch.autocast(tokens.device.type, enabled=False):
            x, carries = self.target_embedding(tokens), list[Carry]()
            for number, (layer, carry) in enumerate(
                zip(self.decoder, state.of_rows(tokens.size(0)).carries, strict=True)
            ):
                y, carry = layer(x, carry)
                y = self.dropout(y)
                x = x + y if number >= FIRST_RESIDUAL else y
                carries.append(carry)
            return x, CarriedState(tuple(carries))

    @property
    def vocabularies(self) -> tuple[int, int]:
        """The number of pieces, twice."""
        return self.projection.size(0), self.projection.size(0)

    def layers(self) -> Sequence[nn.Module]:
        """The attention layers; recurrences have none that could be compiled or recomputed."""
        return list(self.decoder) if self.attends else ()


def _shape(config: LanguageModelConfig) -> ModelConfig:
    """A Transformer of which a layer is one of `config`."""
    keys = {key: getattr(config, key) for key in ("layers", "d_model", "d_ff", "heads", "dropout")}
    return ModelConfig.model_validate(keys)
