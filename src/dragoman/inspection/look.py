"""A sentence through a trained model: its translation, how the search found it, and every quantity on the way.

The search is watched as it goes (`beam`); then the translation it chose, or one that is given, is read through the
model at once, every position from the ones before it, and recorded (`record`). Cached decoding computes the same
numbers position by position (`tests/equivalence`), so what is recorded is what the search saw.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from dragoman.bundle import Bundle
from dragoman.config import DecodeConfig
from dragoman.decode.constraints import Constraints
from dragoman.decode.hypothesis import FORBIDDEN_IDS
from dragoman.errors import DataError
from dragoman.inspection.beam import Tree, grow_tree
from dragoman.inspection.record import AddNormSeen, AttentionSeen, EmbeddingSeen, FeedForwardSeen, Seen, record
from dragoman.model.attention import padding_mask
from dragoman.model.transformer import Transformer
from dragoman.storage import atomic_file
from dragoman.text.tokenizer import BOS, EOS, PAD, UNK, Tokenizer

# What each sight tells, and the axes it tells it along: "position" stands for the side's own pieces.
FIELDS: dict[type, dict[str, tuple[str, ...]]] = {
    EmbeddingSeen: {
        "scaled": ("position", "d_model"),
        "positions": ("position", "d_model"),
        "output": ("position", "d_model"),
    },
    AttentionSeen: {
        "q": ("head", "position", "d_k"),
        "k": ("head", "seen", "d_k"),
        "v": ("head", "seen", "d_v"),
        "products": ("head", "position", "seen"),
        "scaled": ("head", "position", "seen"),
        "masked": ("head", "position", "seen"),
        "weights": ("head", "position", "seen"),
        "heads": ("head", "position", "d_v"),
        "concat": ("position", "h·d_v"),
        "output": ("position", "d_model"),
    },
    FeedForwardSeen: {
        "inner": ("position", "d_ff"),
        "active": ("position", "d_ff"),
        "output": ("position", "d_model"),
    },
    AddNormSeen: {
        "x": ("position", "d_model"),
        "added": ("position", "d_model"),
        "unnormed": ("position", "d_model"),
        "normed": ("position", "d_model"),
        "output": ("position", "d_model"),
    },
}


@dataclass(frozen=True)
class Array:
    """Numbers with a name for each axis, and pieces as coordinates along some."""

    values: np.ndarray[Any, np.dtype[np.float32]]
    axes: tuple[str, ...]
    labels: Mapping[str, tuple[str, ...]]
    """For an axis of positions, the piece at each."""


@dataclass(frozen=True, slots=True)
class Step:
    """A piece of a translation, and what the model would have said instead."""

    piece: str
    probability: float
    instead: tuple[tuple[str, float], ...]
    """The likeliest other pieces and their probabilities, likeliest first."""


@dataclass(frozen=True)
class Inspection(Mapping[str, Array]):
    """What a model did with a sentence; a mapping of arrays, by names as `decoder.5.cross_attention.weights`.

    An attention's `weights`, `q`, `k`, `v`, `products` (Q Kᵀ), `scaled` (/ √d_k), `masked`, `heads`, `concat` and
    `output` (W^O); a feed-forward network's `inner`, `active` and `output`; an Add & Norm's `x`, `added`, `unnormed`,
    `normed` and `output`; an embedding's `scaled`, `positions` and `output`; `encoder.L` and `decoder.L`, the residual
    stream after a layer; `memory`; `features`, what the decoder ends with; and `logits`.
    """

    model: Transformer
    tokenizer: Tokenizer
    source: str
    text: str
    """The translation."""
    source_tokens: tuple[int, ...]
    """With the end mark, as the encoder reads them."""
    target_tokens: tuple[int, ...]
    """With the end mark, as the decoder says them; it reads the begin mark and all but the last."""
    tree: Tree | None
    """The search; None for a translation that was given."""
    seen: Seen

    @property
    def pieces(self) -> dict[str, tuple[str, ...]]:
        """The pieces that the encoder reads (`source`), the decoder reads (`input`) and says (`output`)."""
        source = self.tokenizer.pieces(self.source_tokens, "source")
        output = self.tokenizer.pieces(self.target_tokens, "target")
        first = self.tokenizer.pieces([BOS], "target")
        return {"source": tuple(source), "input": (*first, *output[:-1]), "output": tuple(output)}

    @cached_property
    def logits(self) -> Tensor:
        """(T, V): what follows each position, before the softmax (section 3.4)."""
        with torch.inference_mode():
            return self.model.project(self.seen["decoder_norm"][0])

    @cached_property
    def distribution(self) -> Tensor:
        """(T, V): log P in nats of what may follow each position; the marks that no translation contains may not."""
        with torch.inference_mode():
            disallowed = torch.isin(torch.arange(self.logits.size(1)), torch.tensor(FORBIDDEN_IDS))
            return self.logits.masked_fill(disallowed, -torch.inf).log_softmax(-1)

    @property
    def log_probs(self) -> Tensor:
        """(T): log P in nats of each token of the translation."""
        return self.distribution.gather(1, torch.tensor(self.target_tokens)[:, None])[:, 0]

    def steps(self, count: int) -> tuple[Step, ...]:
        """Each piece of the translation, with its probability and the `count` likeliest others in its place."""
        values, tokens = self.distribution.exp().topk(min(count + 1, self.logits.size(1)))
        likeliest = [
            [(piece, value) for piece, value in zip(self.tokenizer.pieces(row, "target"), each, strict=True)]
            for row, each in zip(tokens.tolist(), values.tolist(), strict=True)
        ]
        said = zip(self.pieces["output"], self.log_probs.exp().tolist(), likeliest, strict=True)
        return tuple(
            Step(piece, probability, tuple(other for other in others if other[0] != piece)[:count])
            for piece, probability, others in said
        )

    def __getitem__(self, name: str) -> Array:
        path, _, leaf = name.rpartition(".")
        if name == "logits":
            return self._array(self.logits[None], ("position", "vocabulary"), "decoder")
        if name in _WHOLE or isinstance(self.seen.get(name), Tensor):
            return self._array(self.seen[_WHOLE.get(name, name)], ("position", "d_model"), name)
        sight = self.seen[path]
        axes = FIELDS[type(sight)][leaf]
        return self._array(getattr(sight, leaf), axes, path)

    def __iter__(self) -> Iterator[str]:
        for name, sight in self.seen.items():
            if not isinstance(sight, Tensor):
                yield from (f"{name}.{leaf}" for leaf in FIELDS[type(sight)])
            elif name not in _WHOLE.values():
                yield name
        yield from (*_WHOLE, "logits")

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def _array(self, values: Tensor, axes: Sequence[str], where: str) -> Array:
        own = "source" if where.startswith(("source", "encoder", "memory")) else "input"
        sides = {"position": own, "seen": "source" if where.endswith("cross_attention") else own}
        values = values[0] if values.dim() > len(axes) else values
        labels = {axis: self.pieces[sides[axis]] for axis in axes if axis in sides}
        return Array(values.float().numpy(), tuple(axes), labels)

    def to_npz(self, path: Path) -> None:
        """Every array into one compressed file; `axes` there is JSON: by name, the axes and their labels.

        Raises DragomanError if the disk refuses.
        """
        arrays = {name: self[name] for name in self}
        axes = {name: {"axes": array.axes, "labels": array.labels} for name, array in arrays.items()}
        values: dict[str, Any] = {name: array.values for name, array in arrays.items()}
        with atomic_file(path) as file:
            np.savez_compressed(file, **values, axes=json.dumps(axes, ensure_ascii=False))


_WHOLE = {"memory": "encoder_norm", "features": "decoder_norm"}


def inspect(bundle: Bundle, text: str, target: str | None = None, *, options: DecodeConfig | None = None) -> Inspection:
    """Translate `text` with the bundle's weights, or have it say `target`, and tell everything.

    The text is taken whole, by beam search. Raises DataError if it is blank or `target` holds what the vocabulary
    cannot spell, ModelError if the bundle has no weights for torch.
    """
    return inspect_model(bundle.load_model(), bundle.tokenizer, text, target, options or bundle.config.decode)


@torch.inference_mode()
def inspect_model(
    model: Transformer, tokenizer: Tokenizer, text: str, target: str | None, options: DecodeConfig
) -> Inspection:
    """As `inspect`, for a model that is in memory, as a checkpoint's."""
    ids = tokenizer.encode([text], "source")[0]
    if not ids:
        raise DataError("the sentence is empty; give one with a word in it")
    source = torch.tensor([[*ids, EOS]])
    if target is None:
        tree = _search(model, source, options)
        said = list(tree.hypotheses[0].tokens)
    else:
        tree, said = None, _sayable(tokenizer, target)
    read = torch.tensor([[BOS, *said]])
    with record(model) as seen:
        model.decode_features(read, model.encode(source, padding_mask(source, PAD)))
    text_said = tokenizer.decode([said], "target")[0]
    return Inspection(model, tokenizer, text, text_said, (*ids, EOS), (*said, EOS), tree, seen)


def _sayable(tokenizer: Tokenizer, target: str) -> list[int]:
    """The tokens of a translation that is given. Raises DataError for one that no model with this tokenizer can say."""
    for word in (*target.split(), target):
        if UNK in tokenizer.encode([word], "target")[0]:
            raise DataError(
                f"{word!r}: the model's vocabulary cannot spell it, so it is never said; write it otherwise"
            )
    return tokenizer.encode([target], "target")[0]


def _search(model: Transformer, source: Tensor, options: DecodeConfig) -> Tree:
    constraints = Constraints(
        [options.limit(source.size(1) - 1)], min_length=options.min_length, no_repeat_ngram=options.no_repeat_ngram
    )
    alpha, beta = options.length_penalty, options.coverage_penalty
    return grow_tree(model, source, constraints, beam=options.beam, alpha=alpha, beta=beta)
