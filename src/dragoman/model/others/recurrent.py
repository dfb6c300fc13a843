"""Recurrent encoder and decoder: encode(src) → state, decode(tokens, state) → (logits, state).

    attention                    the query          the context enters        features
    none      Sutskever 2014     —                  the first state only      s_i
    additive  Bahdanau 2015      s_(i-1), bottom    every layer's input       maxout(U_o s_i + V_o E y + C_o c_i)
    others    Luong 2015         s_i, top           the features              h~_i = tanh(W_c [c_i; s_i]), Eq. (5)

With input feeding h~_(i-1) is a part of the first layer's input. The maxout has s_i, as Bahdanau's Eq. (4) says; the
appendix prints s_(i-1). Residual connections begin with the third layer, as in GNMT (Wu et al. 2016).
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import cast

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from dragoman.config import RnnConfig
from dragoman.model.others.recurrence import Affine, Carry, Recurrence
from dragoman.model.others.recurrent_encoder import FIRST_RESIDUAL, RecurrentEncoder
from dragoman.model.parts.dropout import Dropout
from dragoman.model.parts.embedding import Embedding
from dragoman.model.parts.network import Attending, EncoderDecoder
from dragoman.model.parts.scores import AdditiveAttention, Annotations, DotAttention


@dataclass(frozen=True, slots=True)
class RecurrentState:
    """The decoder's state for B source sentences and R hypotheses, which are grouped by sentence."""

    annotations: Annotations
    """h_1 … h_S as values, and their keys."""
    carries: tuple[Carry, ...]
    """The carry of each layer, (R, Z); of B rows before the first token."""
    fed: Float[Tensor, "R D"] | None = None
    """h~ of the position before, with input feeding."""

    def select(self, rows: Int[Tensor, "R2"], sentences: Int[Tensor, "B2"] | None = None) -> "RecurrentState":
        carries = tuple(tuple(part[rows] for part in carry) for carry in self.carries)
        return RecurrentState(self.annotations.select(sentences), carries, None if self.fed is None else self.fed[rows])

    def of_rows(self, rows: int) -> "RecurrentState":
        """The state of `rows` hypotheses: those of a sentence are repeated to the number that it has from now on."""
        times = rows // self.carries[0][0].size(0)
        if times == 1:
            return self
        every = torch.arange(self.carries[0][0].size(0), device=self.carries[0][0].device)
        return self.select(every.repeat_interleave(times))


class CrossAttention(Attending):
    """Queries of the decoder and keys of the annotations for one of the scores."""

    def __init__(self, config: RnnConfig) -> None:
        super().__init__()
        hidden, memory, width = config.hidden, config.encoder_hidden, config.attention_width
        self.general = config.attention == "general"
        self.w_q: nn.Module = nn.Identity()
        self.w_k: nn.Module = nn.Identity()
        self.attend = DotAttention(1 / math.sqrt(hidden) if config.attention == "scaled" else 1.0)
        if self.general:
            self.w_q = Affine(hidden, memory, bias=False)
        elif config.attention in ("additive", "concat"):
            self.w_q, self.w_k = Affine(hidden, width, bias=False), Affine(memory, width, bias=False)
            self.attend = AdditiveAttention(width)

    def keys(self, h: Float[Tensor, "B S Z2"]) -> Float[Tensor, "B S K"]:
        """Once for each source position; h_t^T W_a h_s as h_t · (W_a h_s), which leaves no product for each h_t."""
        return F.linear(h, cast("Affine", self.w_q).weight.t()) if self.general else self.w_k(h)

    def forward(self, s: Float[Tensor, "R T Z"], to: Annotations, watched: bool = True) -> Float[Tensor, "R T Z2"]:
        """The context of each of T positions of R hypotheses; hooks on `attend` see the call if it is `watched`."""
        q = (s if self.general else self.w_q(s)).reshape(to.mask.size(0), 1, -1, to.keys.size(-1))
        call = self.attend if watched else self.attend.forward  # a method of its own has no hooks
        return call(q, to.keys, to.values, to.mask).view(*s.shape[:2], -1)


class RecurrentDecoder(nn.Module):
    """The layers, the attention and what makes the features of them."""

    def __init__(self, config: RnnConfig) -> None:
        super().__init__()
        self.config = config
        d_model, hidden, memory = config.d_model, config.hidden, config.encoder_hidden
        self.additive = config.attention == "additive"
        context = memory if self.additive else 0
        first = d_model + context + (d_model if config.input_feeding else 0)
        widths = [first] + [hidden + context] * (config.decoder_layers - 1)
        self.layers = nn.ModuleList(Recurrence(width, hidden, config.cell) for width in widths)
        self.dropout = Dropout(config.dropout)
        self.cross_attention = CrossAttention(config) if config.attention != "none" else None
        self.w_c: Affine | None = None
        if self.additive:
            self.w_o: nn.Module = Affine(hidden + d_model + memory, 2 * d_model)
        elif self.cross_attention is not None:
            self.w_c = Affine(memory + hidden, d_model, bias=False)
        else:
            self.w_o = Affine(hidden, d_model) if hidden != d_model else nn.Identity()
        self.bridges: nn.ModuleList | None = None
        if config.start == "bridge":
            last = memory // 2 if self._backward_alone() else memory
            self.bridges = nn.ModuleList(Affine(last, hidden) for _ in range(config.decoder_layers))

    def _backward_alone(self) -> bool:
        """Whether the last state of the backward direction starts the decoder: without attention both do."""
        directions, layers = self.config.directions, self.config.encoder_layers
        both = directions == "both" or (directions == "first" and layers == 1)
        return both and self.cross_attention is not None

    def start(self, lasts: list[list[Carry]]) -> tuple[Carry, ...]:
        """The carry of each layer before the first token, from the last states of the encoder's layers."""
        if self.bridges is None:
            return tuple(
                tuple(torch.cat(parts, dim=-1) for parts in zip(*directions, strict=True)) for directions in lasts
            )
        top = [carry[0] for carry in lasts[-1]]
        end = top[-1] if self._backward_alone() else torch.cat(top, dim=-1)
        states = [bridge(end).tanh() for bridge in self.bridges]
        return tuple((s, torch.zeros_like(s)) if self.config.cell == "lstm" else (s,) for s in states)

    def forward(
        self, x: Float[Tensor, "R T D"], state: RecurrentState
    ) -> tuple[Float[Tensor, "R T D"], RecurrentState]:
        """The features of T further positions of R hypotheses, and the state after them."""
        if self.additive:
            return self._additive(x, state)
        return self._fed(x, state) if self.config.input_feeding else self._at_once(x, state)

    def _at_once(self, x: Tensor, state: RecurrentState) -> tuple[Tensor, RecurrentState]:
        """Without a loop over positions: nothing that a step computes is the input of the next but the carry."""
        carries = []
        for number, (layer, carry) in enumerate(zip(self.layers, state.carries, strict=True)):
            y, carry = layer(x, carry)
            x = self._over(number, x, y)
            carries.append(carry)
        after = RecurrentState(state.annotations, tuple(carries))
        if self.cross_attention is None or self.w_c is None:
            return self.w_o(x), after
        context = self.cross_attention(x, state.annotations)
        return self.dropout(self.w_c(torch.cat((context, x), dim=-1)).tanh()), after

    def _fed(self, x: Tensor, state: RecurrentState) -> tuple[Tensor, RecurrentState]:
        """Luong et al. 2015, section 3.3: h~ of a position is a part of the next position's input."""
        assert self.cross_attention is not None
        assert self.w_c is not None
        fed = x.new_zeros(x.size(0), x.size(2)) if state.fed is None else state.fed
        carries, features, tops = state.carries, [], []
        for gates in self._bottom.gates(x).unbind(1):
            top, carries = self._step(gates, fed, None, carries)
            context = self.cross_attention(top[:, None], state.annotations, watched=False)
            fed = self.w_c(torch.cat((context[:, 0], top), dim=-1)).tanh()
            features.append(fed)
            tops.append(top)
        self._show(tops, state)
        return self.dropout(torch.stack(features, dim=1)), RecurrentState(state.annotations, carries, fed)

    def _additive(self, x: Tensor, state: RecurrentState) -> tuple[Tensor, RecurrentState]:
        """Bahdanau et al. 2015, appendix A.2.2: the state before a position asks, the context is its input."""
        assert self.cross_attention is not None
        carries, tops, contexts, queries = state.carries, [], [], []
        for gates in self._bottom.gates(x).unbind(1):
            queries.append(carries[0][0])
            context = self.cross_attention(queries[-1][:, None], state.annotations, watched=False)[:, 0]
            top, carries = self._step(gates, context, context, carries)
            tops.append(top)
            contexts.append(context)
        self._show(queries, state)
        read = self.w_o(torch.cat((torch.stack(tops, 1), x, torch.stack(contexts, 1)), dim=-1))
        features = read.unflatten(-1, (-1, 2)).amax(-1)
        return self.dropout(features), RecurrentState(state.annotations, carries)

    def _step(
        self, gates: Tensor, rest: Tensor, context: Tensor | None, carries: tuple[Carry, ...]
    ) -> tuple[Tensor, tuple[Carry, ...]]:
        """One position through all layers; `rest` is the part of the bottom layer's input after the token."""
        after = [self._bottom.step(gates, rest, carries[0])]
        x = self._over(0, None, after[0][0])
        upper = cast("Iterable[Recurrence]", self.layers[1:])
        for number, (layer, carry) in enumerate(zip(upper, carries[1:], strict=True), start=1):
            after.append(layer.step(layer.gates(x), context, carry))
            x = self._over(number, x, after[-1][0])
        return x, tuple(after)

    @property
    def _bottom(self) -> Recurrence:
        return cast("Recurrence", self.layers[0])

    def _over(self, number: int, x: Tensor | None, y: Tensor) -> Tensor:
        """What the layer `number` hands up: its output `y`, from the third on its input `x` too."""
        y = self.dropout(y) if number + 1 < len(self.layers) else y
        return x + y if x is not None and self.config.residual and number >= FIRST_RESIDUAL else y

    def _show(self, queries: list[Tensor], state: RecurrentState) -> None:
        """Ask once more for all positions together, if somebody watches: as the Transformer's attention is called."""
        assert self.cross_attention is not None
        if self.cross_attention.attend._forward_hooks:
            self.cross_attention(torch.stack(queries, dim=1), state.annotations)


class Recurrent(EncoderDecoder):
    """A recurrent network for vocabularies of the given sizes."""

    def __init__(self, config: RnnConfig, source_vocab: int, target_vocab: int) -> None:
        super().__init__()
        self.config: RnnConfig = config
        self.source_embedding = Embedding(source_vocab, config.d_model, config.dropout, sinusoidal=False)
        self.target_embedding = Embedding(target_vocab, config.d_model, config.dropout, sinusoidal=False)
        self.encoder = RecurrentEncoder(config)
        self.decoder = RecurrentDecoder(config)
        self.tie_projection(config, target_vocab)

    def encode(self, src: Int[Tensor, "B S"], src_mask: Bool[Tensor, "B 1 1 S"]) -> RecurrentState:
        """The annotations, their keys, and the decoder's first carries."""
        with torch.autocast(src.device.type, enabled=False):
            mask = src_mask[:, 0, 0]
            h, lasts = self.encoder(self.source_embedding(src), mask)
            attention = self.decoder.cross_attention
            keys = h if attention is None else attention.keys(h)
            return RecurrentState(Annotations(keys[:, None], h[:, None], src_mask), self.decoder.start(lasts))

    def decode_features(
        self, tokens: Int[Tensor, "R T"], state: RecurrentState
    ) -> tuple[Float[Tensor, "R T D"], RecurrentState]:
        with torch.autocast(tokens.device.type, enabled=False):
            return self.decoder(self.target_embedding(tokens), state.of_rows(tokens.size(0)))

    def cross_attentions(self) -> list[CrossAttention]:
        """The attention, which all layers share; none without attention."""
        return [] if self.decoder.cross_attention is None else [self.decoder.cross_attention]
