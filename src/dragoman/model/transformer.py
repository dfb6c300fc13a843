"""The Transformer, section 3: encode(src) → state, decode(tokens, state) → (logits, state).

Training decodes all positions at once from an empty past; translation decodes one position at a time. The state is a
value: decoding takes one and returns a new one, and no module stores any.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import cast

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from dragoman.config import ModelConfig
from dragoman.model.layers import DecoderLayer, EncoderLayer, Memory
from dragoman.model.parts.attention import MultiHeadAttention, Rotation, rotation
from dragoman.model.parts.cache import FixedPast, Lineage, Past, extend_lineage, step_mask, write_first
from dragoman.model.parts.embedding import Embedding, LearnedPositions
from dragoman.model.parts.network import EncoderDecoder, initialise_linear
from dragoman.model.parts.norm import norm
from dragoman.model.parts.rows import RowLayout


@dataclass(frozen=True, slots=True)
class DecoderState:
    """The decoder's state for B source sentences and R hypotheses, which are grouped by sentence."""

    memory: tuple[Memory, ...]
    """Per layer, the keys and values of the encoder's output: (B, H, S, K) and (B, H, S, W)."""
    memory_mask: Bool[Tensor, "B 1 #S S"]
    """Which source positions may be seen."""
    past: tuple[Past, ...] = ()
    """Per layer, the keys and values of the target positions decoded so far; empty before the first."""
    lineage: Lineage = None
    """Which of the N nodes of its sentence's past each of its M = R / B hypotheses consists of; None: all."""
    position: int = 0
    """How many target positions have been decoded."""

    def select(self, rows: Int[Tensor, "R2"], sentences: Int[Tensor, "B2"] | None = None) -> "DecoderState":
        """The state of the hypotheses `rows`, in this order; a row may be repeated.

        Rows must stay grouped by sentence, with an equal number for each. `sentences` are the sentences to keep when
        some are finished; only then are keys and values copied.
        """
        memory, mask, past, lineage = self.memory, self.memory_mask, self.past, self.lineage
        if sentences is not None:
            memory = tuple((k[sentences], v[sentences]) for k, v in memory)
            mask, past = mask[sentences], tuple(layer.select(sentences) for layer in past)
        if lineage is not None:
            lineage = lineage.flatten(0, 1)[rows].unflatten(0, (mask.size(0), -1))
        return DecoderState(memory, mask, past, lineage, self.position)


@dataclass(frozen=True, slots=True)
class FixedState:
    """The decoder's state of B sentences with M hypotheses each in tensors of one size that stay where they are.

    A recorded step reads and writes them. Nodes p · M … p · M + M − 1 of a past are those of target position p.
    """

    memory: tuple[Memory, ...]
    memory_mask: Bool[Tensor, "B 1 1 S"]
    past: tuple[tuple[Float[Tensor, "B H N K"], Float[Tensor, "B H N W"]], ...]
    """Per layer, keys and values of N = C · M nodes."""
    lineage: Bool[Tensor, "B M N"]
    """Which nodes each hypothesis consists of."""
    position: Int[Tensor, "1"]
    """How many of the C target positions have been decoded."""
    hypotheses: Int[Tensor, "M"]
    """0 … M − 1."""

    @classmethod
    def like(
        cls, state: "DecoderState | FixedState", *, sentences: int, hypotheses: int, source: int, target: int
    ) -> "FixedState":
        """Memory for states of the network of `state`, with these numbers of B, M, S and C."""
        mask, nodes = state.memory_mask, target * hypotheses

        def empty(length: int) -> tuple[tuple[Tensor, Tensor], ...]:  # zeros: what a mask hides is still computed
            def zeros(x: Tensor) -> Tensor:
                return x.new_zeros(sentences, x.size(1), length, x.size(3))

            return tuple((zeros(k), zeros(v)) for k, v in state.memory)

        made = cls(
            empty(source),
            mask.new_zeros(sentences, 1, 1, source),
            empty(nodes),
            mask.new_zeros(sentences, hypotheses, nodes),
            torch.zeros(1, dtype=torch.int64, device=mask.device),
            torch.arange(hypotheses, device=mask.device),
        )
        made._clear()  # a step is rehearsed before it is loaded, and what is NaN then stays in the cache, hidden or not
        return made

    @property
    def capacity(self) -> int:
        """C, the target positions that there is memory for."""
        return self.lineage.size(2) // self.lineage.size(1)

    def tensors(self) -> list[Tensor]:
        """Whatever has a value for each sentence."""
        return [*(x for pair in (*self.memory, *self.past) for x in pair), self.memory_mask, self.lineage]

    def load(self, state: DecoderState) -> None:
        """Continue `state`, which has one hypothesis per sentence; rows after its sentences have none."""
        self._clear()
        width = self.lineage.size(1)
        for here, there in zip(self.memory, state.memory, strict=True):
            write_first(here[0], there[0])
            write_first(here[1], there[1])
        write_first(self.memory_mask, state.memory_mask)
        for (k, v), past in zip(self.past, state.past, strict=False):
            write_first(k[:, :, ::width], past.k)
            write_first(v[:, :, ::width], past.v)
        self.lineage[:, :, : state.position * width : width] = True
        self.position.fill_(state.position)

    def take(self, other: "FixedState", sentences: Int[Tensor, "B2"]) -> None:
        """Continue these sentences of a state with memory for as many positions or fewer."""
        self._clear()
        for here, there in zip(self.tensors(), other.tensors(), strict=True):
            write_first(here, there.index_select(0, sentences))
        self.position.copy_(other.position)

    def _clear(self) -> None:
        self.lineage.fill_(False)
        self.memory_mask.fill_(False)
        self.memory_mask[..., 0] = True  # a row of a mask is never empty

    def extend(self) -> Int[Tensor, "M"]:
        """The nodes of the next position, of which every hypothesis may see its own."""
        width = self.hypotheses.size(0)
        nodes = self.position * width + self.hypotheses
        is_own = self.hypotheses[:, None] == self.hypotheses
        self.lineage.index_copy_(2, nodes, is_own.expand(self.lineage.size(0), -1, -1))
        return nodes

    def fork(self, parents: Int[Tensor, "B M"]) -> None:
        """Continue with these hypotheses of each sentence; one may be continued more than once."""
        self.lineage.copy_(self.lineage.gather(1, parents[..., None].expand_as(self.lineage)))


class Transformer(EncoderDecoder):
    """Figure 1, for vocabularies of the given sizes."""

    def __init__(self, config: ModelConfig, source_vocab: int, target_vocab: int) -> None:
        super().__init__()
        self.config: ModelConfig = config
        self.source_embedding = _embedding(config, source_vocab)
        self.target_embedding = _embedding(config, target_vocab)
        self.encoder = nn.ModuleList(EncoderLayer(config, number) for number in range(config.encoder_layers))
        self.decoder = nn.ModuleList(DecoderLayer(config, number) for number in range(config.decoder_layers))
        # In Pre-LN the residual stream is not normalised yet after the last layer; in Post-LN it is.
        pre = config.norm_order == "pre"
        self.encoder_norm = norm(config) if pre else nn.Identity()
        self.decoder_norm = norm(config) if pre else nn.Identity()
        self.tie_projection(config, target_vocab)
        initialise_linear(self.encoder)
        initialise_linear(self.decoder)

    def encode(
        self, src: Int[Tensor, "B S"], src_mask: Bool[Tensor, "B 1 #S S"], layout: RowLayout | None = None
    ) -> DecoderState:
        """The state before the first target token: the memory, projected once for every decoder layer.

        With a `layout` a row holds several sentences.
        """
        places = layout.source_places if layout else 0
        x, start = self.source_embedding(src, places), self._start(places)
        for layer in cast("Iterable[EncoderLayer]", self.encoder):
            x = layer(x, src_mask, start)
        memory = self.encoder_norm(x)
        decoder = cast("Iterable[DecoderLayer]", self.decoder)
        return DecoderState(tuple(layer.project_memory(memory) for layer in decoder), src_mask)

    def decode_features(
        self, tokens: Int[Tensor, "R T"], state: DecoderState, layout: RowLayout | None = None
    ) -> tuple[Float[Tensor, "R T D"], DecoderState]:
        """`decode` before the projection onto the vocabulary; with a `layout`, of rows as `encode` has had them."""
        length, width = tokens.size(1), tokens.size(0) // state.memory_mask.size(0)
        places = layout.target_places if layout else state.position
        memory_mask = layout.memory_mask if layout else state.memory_mask
        x, start = self.target_embedding(tokens, places), self._start(places)
        past_length = state.past[0].length if state.past else 0
        lineage = extend_lineage(state.lineage, past_length, width, length, state.memory_mask)
        mask = layout.target_mask if layout else step_mask(lineage, past_length, length, tokens.device)
        past: list[Past] = []
        for number, layer in enumerate(self.decoder):
            layer_past = state.past[number] if state.past else None
            x, layer_past = layer(x, layer_past, state.memory[number], mask, memory_mask, start)
            past.append(cast("Past", layer_past))
        position = state.position + length
        return self.decoder_norm(x), DecoderState(state.memory, state.memory_mask, tuple(past), lineage, position)

    def decode_in_place(self, tokens: Int[Tensor, "R 1"], state: FixedState) -> Float[Tensor, "R 1 D"]:
        """`decode_features` of one position after `state`, which then is the state after it."""
        place, nodes = state.position[None], state.extend()
        x, start = self.target_embedding(tokens, place, state.capacity), self._start(place, state.capacity)
        mask = state.lineage[:, None]
        for layer, (k, v), memory in zip(self.decoder, state.past, state.memory, strict=True):
            x, _ = layer(x, FixedPast(k, v, nodes), memory, mask, state.memory_mask, start)
        state.position.add_(1)
        return self.decoder_norm(x)

    def _start(self, places: int | Int[Tensor, "#B T"], most: int = 0) -> int | Rotation:
        """What attention needs to know of positions: the first of them or, if they are rotated one by one, how."""
        if isinstance(places, int):
            return places
        return rotation(places, self.config.d_k, most) if self.config.positions == "rotary" else 0

    def layers(self) -> Sequence[nn.Module]:
        return [*self.encoder, *self.decoder]

    def cross_attentions(self) -> Sequence[MultiHeadAttention]:
        return [layer.cross_attention for layer in cast("Iterable[DecoderLayer]", self.decoder)]


def _embedding(config: ModelConfig, vocab: int) -> Embedding:
    if config.positions == "learned":
        return LearnedPositions(vocab, config.d_model, config.dropout, config.max_positions)
    positions = (config.positions == "sinusoidal", config.position_base, config.first_position)
    return Embedding(vocab, config.d_model, config.dropout, *positions)
