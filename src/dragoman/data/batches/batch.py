"""Pairs of token ids → one rectangle of tensors.

The source ends in EOS. The input of the decoder is BOS y, its target y EOS (section 3.1: outputs shifted right). The
language tokens of a pair come before the source and between BOS and y; what they follow is not in the loss.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Self

import torch
from torch import Tensor

from dragoman.text.tokens.marks import NO_MARKS, Marks
from dragoman.text.tokens.tokenizer import BOS, EOS, PAD


@dataclass(frozen=True, slots=True)
class Example:
    """The token ids of a pair, without special tokens, its location (`file:line`), and its language tokens."""

    source: list[int]
    target: list[int]
    location: str
    marks: Marks = NO_MARKS

    @property
    def lengths(self) -> tuple[int, int]:
        """Number of positions of source and target: tokens, language tokens and EOS."""
        return len(self.marks.source) + len(self.source) + 1, len(self.marks.target) + len(self.target) + 1

    @property
    def target_tokens(self) -> int:
        """Number of target tokens that count in the loss, with EOS."""
        return len(self.target) + 1


@dataclass(frozen=True, slots=True)
class Batch:
    """B rows: `src` (B, S), `tgt_in` and `tgt_out` (B, T), padded with PAD on the right.

    `locations` are those of the examples. There may be fewer examples than rows; the empty rows come last. `more` are
    tensors of B rows that an objective needs besides. Where a row holds several examples, `lengths` are their numbers
    of positions, (source, target); otherwise it is empty.
    """

    src: Tensor
    tgt_in: Tensor
    tgt_out: Tensor
    locations: tuple[str, ...]
    more: tuple[Tensor, ...] = ()
    lengths: tuple[tuple[int, int], ...] = ()

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """All tensors of B rows, in order."""
        return (self.src, self.tgt_in, self.tgt_out, *self.more)

    @property
    def target_tokens(self) -> int:
        """Number of positions of `tgt_out` that count in the loss."""
        return int((self.tgt_out != PAD).sum())

    def changed(self, change: Callable[[Tensor], Tensor]) -> Self:
        """The batch with every tensor changed."""
        src, tgt_in, tgt_out, *more = map(change, self.tensors)
        return replace(self, src=src, tgt_in=tgt_in, tgt_out=tgt_out, more=tuple(more))

    def to(self, device: torch.device) -> Self:
        return self.changed(lambda tensor: tensor.to(device, non_blocking=True))

    def pinned(self) -> Self:
        """The batch in pinned memory, from which copies to a GPU are asynchronous."""
        return self.changed(Tensor.pin_memory)


def collate(examples: Sequence[Example], rows: int = 0, width: int = 0) -> Batch:
    """The batch of these examples, in order, with at least `rows` rows and both sides at least `width` wide.

    A row without an example is an empty sentence that does not count in the loss.
    """
    empty = range(len(examples), rows)
    return Batch(
        src=pad([[*pair.marks.source, *pair.source, EOS] for pair in examples] + [[EOS] for _ in empty], width),
        tgt_in=pad([[BOS, *pair.marks.target, *pair.target] for pair in examples] + [[BOS] for _ in empty], width),
        tgt_out=pad([[*_not_in_loss(pair), *pair.target, EOS] for pair in examples] + [[] for _ in empty], width),
        locations=tuple(example.location for example in examples),
    )


def _not_in_loss(example: Example) -> list[int]:
    """What BOS and all language tokens but the last are followed by: the next language token, which is given."""
    return [PAD] * len(example.marks.target)


def split(batch: Batch, splits: int) -> list[Batch]:
    """The rows of a batch in up to `splits` batches of about equal size, each of at least one row."""
    rows = math.ceil(batch.src.size(0) / splits)
    cuts = [slice(start, start + rows) for start in range(0, batch.src.size(0), rows)]
    return [replace(batch.changed(itemgetter(cut)), locations=batch.locations[cut]) for cut in cuts]


def pad(rows: Sequence[Sequence[int]], width: int = 0) -> Tensor:
    """Rows of ids as one (B, max(longest, width)) tensor, padded with PAD on the right."""
    width = max(width, *map(len, rows))
    return torch.tensor([[*row, *[PAD] * (width - len(row))] for row in rows])
