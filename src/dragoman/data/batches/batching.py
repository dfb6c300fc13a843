"""Lengths → batches, and from those of some pairs the work of an epoch: arithmetic, no file, tensor or hidden state."""

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass


def bucket_width(length: int) -> int:
    """`length` rounded up to one of 8, 16, … 64, 80, … 128, 160, …: from 32 on, four widths per doubling.

    Batches of these widths have few shapes: 16 up to a width of 256.
    """
    step = 1 << max(3, (length - 1).bit_length() - 3)
    return math.ceil(length / step) * step


def pack(lengths: Sequence[tuple[int, int]], budget: int, rng: random.Random) -> list[list[int]]:
    """Group indices of similar (source, target) length; the groups in random order.

    A group's rows × its longest side, padding counted, is at most `budget` tokens; a single pair longer than
    the budget is a group of its own. Pairs of equal length are grouped at random.
    """
    order = list(range(len(lengths)))
    rng.shuffle(order)
    order.sort(key=lambda index: (max(lengths[index]), lengths[index][1]))
    batches: list[list[int]] = []
    for index in order:
        # The order ascends, so the newcomer is the longest and sets the width of its group.
        if batches and (len(batches[-1]) + 1) * max(lengths[index]) <= budget:
            batches[-1].append(index)
        else:
            batches.append([index])
    rng.shuffle(batches)
    return batches


# Pairs from which the lengths of all are known well enough.
SAMPLE = 5000


@dataclass(frozen=True, slots=True)
class Workload:
    """An epoch of training text, in batches of one size."""

    pairs: float
    """Pairs of an epoch, by the weights of the corpora; those longer than `data.max_length` are not counted."""
    batches: tuple[tuple[tuple[int, int], ...], ...]
    """Some of its micro-batches: the (source, target) lengths of the pairs, with EOS."""
    sampled: int
    """Pairs in `batches`."""
    batches_per_step: float
    """Micro-batches of all processes in an update."""

    @property
    def steps_per_epoch(self) -> float:
        return self.pairs / self.sampled * len(self.batches) / self.batches_per_step

    @property
    def tokens_per_step(self) -> float:
        """Target tokens of an update, padding not counted."""
        tokens = sum(target for batch in self.batches for _, target in batch)
        return tokens / len(self.batches) * self.batches_per_step

    @property
    def tokens_per_pair(self) -> float:
        """Target tokens of a pair, with EOS."""
        return sum(target for batch in self.batches for _, target in batch) / self.sampled


def shape_of(batch: Sequence[tuple[int, int]]) -> tuple[int, int, int]:
    """Rows, source width and target width of a batch."""
    return len(batch), max(source for source, _ in batch), max(target for _, target in batch)


def workload_of(
    lengths: Sequence[tuple[int, int]], pairs: float, *, max_length: int, batch_tokens: int, batches_per_step: float
) -> Workload | None:
    """The workload of `pairs` whose lengths are distributed as `lengths`, with EOS; None if no pair is short enough."""
    fitting = [length for length in lengths if max(length) <= max_length + 1]
    if not fitting or pairs <= 0:
        return None
    # A few pairs of a large corpus would fill many a batch only in part, which the corpus fills.
    share = pairs / len(lengths)
    repeats = max(1, min(math.ceil(share), math.ceil(SAMPLE / len(fitting))))
    many = fitting * repeats
    groups = pack(many, batch_tokens, random.Random(0))
    batches = tuple(tuple(many[index] for index in group) for group in groups)
    return Workload(share * len(fitting), batches, len(many), batches_per_step)
