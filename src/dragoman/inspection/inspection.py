"""One sentence and a model in memory → an `Inspection`: the translation, the search and every quantity of the pass.

The search is recorded step by step (`beam`). Then the translation that it found, or one that is given, passes through
the model once, each position reading the positions before it, and every activation is recorded (`record`). Cached
decoding computes the same numbers position by position (`tests/equivalence`): the record shows what the search used.
"""

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from dragoman.config import DecodeConfig
from dragoman.decode.constraints import Constraints
from dragoman.decode.hypothesis import FORBIDDEN_IDS, Hypothesis
from dragoman.engine.resources import SearchSize, cached_numbers, refuse_beyond_memory
from dragoman.errors import DataError
from dragoman.inspection.beam import Tree, grow_tree
from dragoman.inspection.record import (
    AddNormRecord,
    AttentionRecord,
    EmbeddingRecord,
    FeedForwardRecord,
    Recording,
    record,
)
from dragoman.model.parts.attention import padding_mask
from dragoman.model.transformer import Transformer
from dragoman.system.files import atomic_file
from dragoman.system.machine import available_memory
from dragoman.text.terms.symbols import NO_SYMBOLS, Symbols, Table, restore
from dragoman.text.tokens.marks import NO_MARKS, Marks
from dragoman.text.tokens.tokenizer import BOS, EOS, PAD, UNK, Tokenizer

# The arrays of each kind of activation and their axes. "position" is the position of the query, "key" of the key.
_STREAM = ("position", "d_model")
FIELDS: dict[type, dict[str, tuple[str, ...]]] = {
    EmbeddingRecord: dict.fromkeys(("scaled", "positions", "output"), _STREAM),
    AttentionRecord: {
        "q": ("head", "position", "d_k"),
        "k": ("head", "key", "d_k"),
        "v": ("head", "key", "d_v"),
        **dict.fromkeys(("products", "scaled", "masked", "weights"), ("head", "position", "key")),
        "heads": ("head", "position", "d_v"),
        "concat": ("position", "h·d_v"),
        "output": _STREAM,
    },
    FeedForwardRecord: {**dict.fromkeys(("inner", "active"), ("position", "d_ff")), "output": _STREAM},
    AddNormRecord: dict.fromkeys(("x", "added", "unnormed", "normed", "output"), _STREAM),
}


@dataclass(frozen=True)
class Array:
    """Numbers with a name for each axis, and with pieces as labels along the axes of positions."""

    values: np.ndarray[Any, np.dtype[np.float32]]
    axes: tuple[str, ...]
    labels: Mapping[str, tuple[str, ...]]
    """For each axis of positions, the piece at each position."""


@dataclass(frozen=True, slots=True)
class Prediction:
    """A piece of the translation, and the likeliest other pieces at its position."""

    piece: str
    probability: float
    alternatives: tuple[tuple[str, float], ...]
    """Pieces and their probabilities, likeliest first."""


@dataclass(frozen=True, repr=False)
class Inspection(Mapping[str, Array]):
    """What a model computes for a sentence: a mapping of names, as `decoder.5.cross_attention.weights`, to arrays.

    An attention's `weights`, `q`, `k`, `v`, `products` (Q Kᵀ), `scaled` (/ √d_k), `masked`, `heads`, `concat` and
    `output` (W^O); a feed-forward network's `inner`, `active` and `output`; an Add & Norm's `x`, `added`, `unnormed`,
    `normed` and `output`; an embedding's `scaled`, `positions` and `output`; `encoder.L` and `decoder.L`, the residual
    stream after a layer; `memory`; `features`, the decoder's output; and `logits`.
    """

    model: Transformer
    tokenizer: Tokenizer
    source: str
    text: str
    """The translation."""
    source_ids: tuple[int, ...]
    """The encoder's input, language tokens and EOS included."""
    target_ids: tuple[int, ...]
    """The decoder's output, EOS included. Its input is BOS and all but the last. Language tokens, which are given and
    not generated, are the first."""
    tree: Tree | None
    """The search; None if the translation was given."""
    recording: Recording
    table: Table
    """What the symbols in the pieces of both sides replace, for a model that was trained with `data.protect`."""

    def __repr__(self) -> str:
        """One line: the network and its arrays fill a screen, and a notebook."""
        return f"<{type(self).__name__} of {self.source!r} → {self.text!r}: {len(self)} arrays>"

    @property
    def pieces(self) -> dict[str, tuple[str, ...]]:
        """The pieces of the encoder's input (`source`), the decoder's input (`input`) and output (`output`)."""
        source = self.tokenizer.pieces(self.source_ids, "source")
        output = self.tokenizer.pieces(self.target_ids, "target")
        first = self.tokenizer.pieces([BOS], "target")
        return {"source": tuple(source), "input": (*first, *output[:-1]), "output": tuple(output)}

    def texts(self, hypotheses: Iterable[Hypothesis]) -> list[str]:
        texts = self.tokenizer.decode([hypothesis.tokens for hypothesis in hypotheses], "target")
        return [restore(text, self.table) for text in texts]

    @cached_property
    def logits(self) -> Tensor:
        """(T, V): the scores of the next token at each position, before the softmax (section 3.4)."""
        with torch.inference_mode():
            return self.model.project(self.recording["decoder_norm"][0])

    @cached_property
    def distribution(self) -> Tensor:
        """(T, V): log P of the next token at each position, in nats; −∞ for tokens that no translation contains."""
        with torch.inference_mode():
            disallowed = torch.isin(torch.arange(self.logits.size(1)), torch.tensor(FORBIDDEN_IDS))
            return self.logits.masked_fill(disallowed, -torch.inf).log_softmax(-1)

    @property
    def log_probs(self) -> Tensor:
        """(T): log P in nats of each token of the translation."""
        return self.distribution.gather(1, torch.tensor(self.target_ids)[:, None])[:, 0]

    def predictions(self, count: int) -> tuple[Prediction, ...]:
        """Each piece of the translation, with its probability and the `count` likeliest alternatives."""
        values, tokens = self.distribution.exp().topk(min(count + 1, self.logits.size(1)))
        likeliest = [
            list(zip(self.tokenizer.pieces(row, "target"), probabilities, strict=True))
            for row, probabilities in zip(tokens.tolist(), values.tolist(), strict=True)
        ]
        chosen = zip(self.pieces["output"], self.log_probs.exp().tolist(), likeliest, strict=True)
        return tuple(
            Prediction(piece, probability, tuple(other for other in others if other[0] != piece)[:count])
            for piece, probability, others in chosen
        )

    def __getitem__(self, name: str) -> Array:
        path, _, leaf = name.rpartition(".")
        if name == "logits":
            return self._array(self.logits[None], ("position", "vocabulary"), "decoder")
        if name in _WHOLE or isinstance(self.recording.get(name), Tensor):
            return self._array(self.recording[_WHOLE.get(name, name)], ("position", "d_model"), name)
        activation = self.recording[path]
        axes = FIELDS[type(activation)][leaf]
        return self._array(getattr(activation, leaf), axes, path)

    def __iter__(self) -> Iterator[str]:
        for name, activation in self.recording.items():
            if not isinstance(activation, Tensor):
                yield from (f"{name}.{leaf}" for leaf in FIELDS[type(activation)])
            elif name not in _WHOLE.values():
                yield name
        yield from (*_WHOLE, "logits")

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def _array(self, values: Tensor, axes: Sequence[str], where: str) -> Array:
        queries = "source" if where.startswith(("source", "encoder", "memory")) else "input"
        sides = {"position": queries, "key": "source" if where.endswith("cross_attention") else queries}
        values = values[0] if values.dim() > len(axes) else values
        labels = {axis: self.pieces[sides[axis]] for axis in axes if axis in sides}
        return Array(values.float().numpy(), tuple(axes), labels)

    def to_npz(self, path: str | os.PathLike[str]) -> None:
        """Write every array to one compressed file, and `axes`: JSON with the axes and labels of each array by name.

        Raises DragomanError if the file cannot be written.
        """
        arrays = {name: self[name] for name in self}
        axes = {name: {"axes": array.axes, "labels": array.labels} for name, array in arrays.items()}
        values: dict[str, Any] = {name: array.values for name, array in arrays.items()}
        with atomic_file(Path(path)) as file:
            np.savez_compressed(file, **values, axes=json.dumps(axes, ensure_ascii=False))


_WHOLE = {"memory": "encoder_norm", "features": "decoder_norm"}


@torch.inference_mode()
def inspect_model(
    model: Transformer,
    tokenizer: Tokenizer,
    text: str,
    target: str | None,
    options: DecodeConfig,
    marks: Marks = NO_MARKS,
    symbols: Symbols = NO_SYMBOLS,
) -> Inspection:
    """Translate `text`, or force the translation `target`, and record everything; `marks` are its language tokens.

    `symbols` has the symbols that the model knows. The text is translated as a whole by beam search.
    Raises DataError if it is empty, or if `target` contains what the vocabulary cannot spell.
    """
    masked, table = symbols.mask(text)
    ids = tokenizer.encode([masked], "source")[0]
    if not ids:
        raise DataError("the sentence is empty; give at least one word")
    source_ids = (*marks.source, *ids, EOS)
    source = torch.tensor([source_ids])
    if target is None:
        tree = _search(model, source, options, len(ids), marks)
        target_ids = list(tree.hypotheses[0].tokens)
    else:
        tree, target_ids = None, _forced_ids(tokenizer, symbols.mask_as(target, table))
    target_ids = [*marks.target, *target_ids]
    decoder_input = torch.tensor([[BOS, *target_ids]])
    with record(model) as recording:
        model.decode_features(decoder_input, model.encode(source, padding_mask(source, PAD)))
    translation = restore(tokenizer.decode([target_ids], "target")[0], table)
    return Inspection(model, tokenizer, text, translation, source_ids, (*target_ids, EOS), tree, recording, table)


def _forced_ids(tokenizer: Tokenizer, target: str) -> list[int]:
    """The tokens of a given translation. Raises DataError if a word needs UNK, which no translation contains."""
    for word in (*target.split(), target):
        if UNK in tokenizer.encode([word], "target")[0]:
            raise DataError(
                f"{word!r}: the model's vocabulary cannot spell it, so no translation contains it; write it differently"
            )
    return tokenizer.encode([target], "target")[0]


def _search(model: Transformer, source: Tensor, options: DecodeConfig, length: int, marks: Marks) -> Tree:
    """The search for the translation of a text of `length` tokens."""
    size = SearchSize(model.projection.size(0), cached_numbers(model.config))
    needed = size.bytes_per_sentence(length, options)
    refuse_beyond_memory(needed, available_memory(), f"a search with a beam of {options.beam:,}")
    constraints = Constraints(
        [options.limit(length)], min_length=options.min_length, no_repeat_ngram=options.no_repeat_ngram
    )
    alpha, beta = options.length_penalty, options.coverage_penalty
    start = torch.tensor([[BOS, *marks.target]])
    return grow_tree(model, source, constraints, beam=options.beam, alpha=alpha, beta=beta, start=start)
