"""Pairs of token ids → one rectangle of tensors.

The source ends in EOS; the decoder reads BOS y and is to say y EOS (section 3.1: outputs shifted right).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor

from dragoman.text.tokenizer import BOS, EOS, PAD


@dataclass(frozen=True, slots=True)
class Example:
    """A tokenised pair, without marks, and where it came from (`file:line`)."""

    source: list[int]
    target: list[int]
    place: str

    @property
    def lengths(self) -> tuple[int, int]:
        """Tokens of source and target with their end marks."""
        return len(self.source) + 1, len(self.target) + 1


@dataclass(frozen=True, slots=True)
class Batch:
    """B rows: `src` (B, S), `tgt_in` and `tgt_out` (B, T), padded with PAD on the right.

    `places` are those of the examples, which may be fewer than the rows: empty ones come last.
    """

    src: Tensor
    tgt_in: Tensor
    tgt_out: Tensor
    places: tuple[str, ...]

    @property
    def target_tokens(self) -> int:
        """Positions of `tgt_out` that count in the loss."""
        return int((self.tgt_out != PAD).sum())

    def to(self, device: torch.device) -> Self:
        """The same batch on `device`."""
        src, tgt_in, tgt_out = (x.to(device, non_blocking=True) for x in (self.src, self.tgt_in, self.tgt_out))
        return type(self)(src, tgt_in, tgt_out, self.places)

    def pinned(self) -> Self:
        """The same batch in memory that a GPU reads by itself."""
        return type(self)(self.src.pin_memory(), self.tgt_in.pin_memory(), self.tgt_out.pin_memory(), self.places)


def collate(examples: Sequence[Example], rows: int = 0, width: int = 0) -> Batch:
    """The batch of these examples, in their order; at least so many `rows`, both sides at least so wide.

    A row without an example is an empty sentence of which nothing is to be said.
    """
    empty = range(len(examples), rows)
    return Batch(
        src=pad([[*example.source, EOS] for example in examples] + [[EOS] for _ in empty], width),
        tgt_in=pad([[BOS, *example.target] for example in examples] + [[BOS] for _ in empty], width),
        tgt_out=pad([[*example.target, EOS] for example in examples] + [[] for _ in empty], width),
        places=tuple(example.place for example in examples),
    )


def split(batch: Batch, pieces: int) -> list[Batch]:
    """The batch's rows in so many batches of about equal size, or one a row."""
    rows = math.ceil(batch.src.size(0) / pieces)
    starts = range(0, batch.src.size(0), rows)
    cuts = [slice(start, start + rows) for start in starts]
    return [Batch(batch.src[cut], batch.tgt_in[cut], batch.tgt_out[cut], batch.places[cut]) for cut in cuts]


def pad(rows: Sequence[Sequence[int]], width: int = 0) -> Tensor:
    """Rows of ids as one (B, longest) tensor, or `width` if that is more, PAD on the right."""
    width = max(width, *map(len, rows))
    return torch.tensor([[*row, *[PAD] * (width - len(row))] for row in rows])
