"""Pairs → rows of one width that hold several of them each, the "packing" of tensor2tensor and T5.

A micro-batch of R rows of W positions has the same shape whatever the sentences are: a GPU is given one program of
kernels for all of them. A pair is in one row on both sides. Longer pairs go into rows twice as wide, or four times, and
as many fewer. A row of the source is `a b EOS c EOS`, of the target `BOS x BOS y z` and `x EOS y z EOS`: which
positions are of one pair follows from the ids (`dragoman.model.parts.rows`).
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import heapify, heapreplace

import numpy as np
import torch

from dragoman.data.batches.batch import Batch, Example
from dragoman.text.tokens.tokenizer import BOS, EOS, PAD

# Positions of a row: several sentences of most texts. A text of short sentences only needs half of it.
WIDTH = 128
Lengths = tuple[int, int]


@dataclass(frozen=True, slots=True)
class PackedRows:
    """The indices of the pairs in each row; rows without any come last."""

    width: int
    rows: tuple[tuple[int, ...], ...]


def row_width(max_length: int) -> int:
    """The width of rows for sentences of up to `max_length` tokens."""
    return WIDTH if max_length >= WIDTH // 2 else WIDTH // 2


def pack_rows(lengths: Sequence[Lengths], budget: int, width: int, rng: random.Random) -> Iterator[PackedRows]:
    """Every pair once, in micro-batches of `budget` positions a side, in an order that `rng` shuffles.

    A micro-batch takes the next pairs until its positions are as many as theirs; the longest are placed first, each in
    the row that is emptiest. What fits into none begins the next micro-batch.
    """
    order = list(range(len(lengths)))
    rng.shuffle(order)
    waiting: dict[int, _RowQueue] = {}
    for index in order:
        wide = width
        while max(lengths[index]) > wide:
            wide *= 2
        queue = waiting.setdefault(wide, _RowQueue(wide, max(1, budget // wide), lengths))
        while not queue.takes(index):
            yield queue.placed()
    for queue in waiting.values():
        while queue.indices:
            yield queue.placed()


class _RowQueue:
    """Pairs for the next rows of one width."""

    def __init__(self, width: int, rows: int, lengths: Sequence[Lengths]) -> None:
        self.width, self.rows, self.lengths = width, rows, lengths
        self.indices: list[int] = []
        self.source = self.target = 0

    def takes(self, index: int) -> bool:
        """Whether the positions left are enough for a pair, which is added then."""
        source, target = self.lengths[index]
        if max(self.source + source, self.target + target) > self.rows * self.width:
            return False
        self.indices.append(index)
        self.source, self.target = self.source + source, self.target + target
        return True

    def placed(self) -> PackedRows:
        """The pairs in rows; those that fit into none stay in the queue."""
        emptiest = [(0, 0, 0, row) for row in range(self.rows)]  # the longer side, source, target, row
        heapify(emptiest)
        rows: list[list[int]] = [[] for _ in emptiest]
        left = set[int]()
        for index in sorted(self.indices, key=lambda index: -max(self.lengths[index])):
            _, source, target, row = emptiest[0]
            source, target = source + self.lengths[index][0], target + self.lengths[index][1]
            if max(source, target) > self.width:
                left.add(index)
                continue
            heapreplace(emptiest, (max(source, target), source, target, row))
            rows[row].append(index)
        before, self.indices, self.source, self.target = self.indices, [], 0, 0
        for index in before:
            if index in left:
                self.takes(index)
        return PackedRows(self.width, tuple(map(tuple, rows)))


class NumberedText:
    """Pairs as arrays of token ids, of which a row is filled by copying: two or four bytes a token."""

    def __init__(self, examples: Sequence[Example]) -> None:
        """The pairs of `examples`, in order."""
        sources = [[*pair.marks.source, *pair.source, EOS] for pair in examples]
        targets = [[BOS, *pair.marks.target, *pair.target, EOS] for pair in examples]
        self.sources, self.source_starts = _flat(sources)
        self.targets, self.target_starts = _flat(targets)
        self.marks = np.array([len(pair.marks.target) for pair in examples], dtype=np.uint8)
        # Most pairs are of few files: a location is the number of its file and its line.
        self.files: dict[str, int] = {}
        split = [pair.location.rpartition(":") for pair in examples]
        self.file_of = np.array([self.files.setdefault(file, len(self.files)) for file, _, _ in split], dtype=np.uint32)
        self.line_of = np.array([int(line or 0) for _, _, line in split], dtype=np.uint32)
        self.lengths: list[Lengths] = [example.lengths for example in examples]

    def __len__(self) -> int:
        return len(self.lengths)

    def location(self, index: int) -> str:
        """`file:line` of a pair."""
        return f"{list(self.files)[self.file_of[index]]}:{self.line_of[index]}"

    def batch(self, packed: PackedRows) -> Batch:
        """The rows as tensors; each has all rows and the whole width, whatever is in them."""
        src, tgt_in, tgt_out = np.full((3, len(packed.rows), packed.width), PAD, dtype=np.int64)
        for row, indices in enumerate(packed.rows):
            source_end = target_end = 0
            for index in indices:
                source = self.sources[self.source_starts[index] : self.source_starts[index + 1]]
                target = self.targets[self.target_starts[index] : self.target_starts[index + 1]]
                begin, source_end = source_end, source_end + len(source)
                src[row, begin:source_end] = source
                begin, target_end = target_end, target_end + len(target) - 1
                tgt_in[row, begin:target_end] = target[:-1]
                begin += self.marks[index]  # what is followed by a language token is not in the loss
                tgt_out[row, begin:target_end] = target[1 + self.marks[index] :]
        members = [index for row in packed.rows for index in row]
        locations, lengths = tuple(map(self.location, members)), tuple(self.lengths[index] for index in members)
        sides = [torch.from_numpy(side) for side in (src, tgt_in, tgt_out)]
        return Batch(sides[0], sides[1], sides[2], locations, lengths=lengths)


def _flat(rows: Sequence[Sequence[int]]) -> tuple[np.ndarray, np.ndarray]:
    """All ids in a row, in as few bytes as they need, and where each of `rows` begins and the last ends."""
    starts = np.zeros(len(rows) + 1, dtype=np.int64)
    np.cumsum([len(row) for row in rows], out=starts[1:])
    ids = np.fromiter((number for row in rows for number in row), dtype=np.uint32, count=int(starts[-1]))
    return (ids.astype(np.uint16) if not len(ids) or ids.max() < 1 << 16 else ids), starts
