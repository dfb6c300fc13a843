"""Which run of target units each of several spans gets: disjoint, one each, the best ones together. No torch.

For spans in a given order the best disjoint runs are found exactly (dynamic programming over the units); the order is
that of the middles of the runs that each would get alone.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Scores = NDArray[np.float64]
# Spans × units up to which the best runs are searched.
MAX_CELLS = 1 << 23
# What a unit costs that nothing speaks for or against: of two runs with the same score the shorter one is chosen.
COST = 1e-6


def disjoint_runs(scores: Sequence[Scores]) -> list[tuple[int, int]]:
    """The run (begin, end) of each span, by what it gains with each unit; empty only for more spans than units."""
    count, size = len(scores), len(scores[0]) if scores else 0
    if not count:
        return []
    if count > size or count * size > MAX_CELLS:
        return [(number * size // count, (number + 1) * size // count) for number in range(count)]
    alone = [_ordered_runs([own])[0] for own in scores]
    order = sorted(range(count), key=lambda number: sum(alone[number]))
    found = dict(zip(order, _ordered_runs([scores[number] for number in order]), strict=True))
    return [found[number] for number in range(count)]


def _ordered_runs(scores: Sequence[Scores]) -> list[tuple[int, int]]:
    """The runs with the largest sum, each with a unit or more, each after the one before."""
    size = len(scores[0])
    best, tables = np.zeros(size + 1), []
    for own in scores:
        sums = np.concatenate(([0.0], np.cumsum(own - COST)))
        started = best - sums
        ended = np.concatenate(([-np.inf], sums[1:] + np.maximum.accumulate(started)[:-1]))
        tables.append((started, ended))
        best = np.maximum.accumulate(ended)
    runs, limit = [], size
    for started, ended in reversed(tables):
        end = int(np.argmax(ended[: limit + 1]))
        limit = end - 1 - int(np.argmax(started[:end][::-1]))
        runs.append((limit, end))
    return runs[::-1]
