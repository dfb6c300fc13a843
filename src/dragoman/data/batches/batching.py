"""Lengths → batches: pure arithmetic, no file, no tensor, no hidden state."""

import math
import random
from collections.abc import Sequence


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
