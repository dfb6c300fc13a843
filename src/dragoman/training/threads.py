"""Threads that each take rows of a batch, instead of a part of every product.

Threads that share a product meet at its end, hundreds of times a step, and when a neighbour holds the core of one, all
of them wait. A thread with rows of its own meets the others once (decision 0011).
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from functools import lru_cache
from typing import TypeVar

import torch

from dragoman.data.batch import Batch
from dragoman.model.dropout import drawn_from

T = TypeVar("T")
# Target positions that are worth a thread of their own: of fewer, products are too small to be fast.
POSITIONS = 1024


def shares(batch: Batch) -> int:
    """Among how many threads the rows of `batch` are dealt out."""
    return max(1, min(torch.get_num_threads(), batch.tgt_in.numel() // POSITIONS, batch.tgt_in.size(0)))


def at_once(tasks: Sequence[Callable[[], T]]) -> list[T]:
    """What each of `tasks` returns, done at the same time, each with its share of the threads.

    Their dropout draws from numbers of their own, which the random state decides. Raises what the first one that fails
    raises, when all have ended.
    """
    threads = torch.get_num_threads()
    each = max(1, threads // len(tasks))
    seeds = torch.randint(2**62, (len(tasks),)).tolist()
    torch.set_num_threads(each)
    try:
        futures = [_pool(threads).submit(_do, task, seed, each) for task, seed in zip(tasks, seeds, strict=True)]
        wait(futures)
    finally:
        torch.set_num_threads(threads)
    return [future.result() for future in futures]


@lru_cache(maxsize=1)
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads)


def _do(task: Callable[[], T], seed: int, threads: int) -> T:
    torch.set_num_threads(threads)  # each thread has a number of its own
    with drawn_from(torch.Generator().manual_seed(seed)):
        return task()
