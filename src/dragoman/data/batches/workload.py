"""The work of an epoch: lengths of some pairs → updates, tokens and shapes of batches. Arithmetic only."""

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass

from dragoman.data.batches.batching import pack

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
