"""The threads of a process that trains, and data parallelism among them: each thread takes rows of a batch.

PyTorch's own threads share every matrix product and synchronise at its end, hundreds of times per step; when another
program occupies the core of one thread, all of them wait. Threads with rows of their own synchronise once per batch
(decision 0011).
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from functools import lru_cache
from typing import TypeVar

import torch

from dragoman.data.batches.batch import Batch
from dragoman.errors import counted
from dragoman.model.parts.dropout import drawn_from
from dragoman.system.machine import usable_processors
from dragoman.system.processes import limit_kernel_caches, retain_freed_memory

T = TypeVar("T")
# Target positions per thread below which matrix products are too small to be efficient.
POSITIONS_PER_THREAD = 1024


def prepare_process(threads: int | None, d_model: int) -> None:
    """The settings of a process that trains: `threads` for torch, or as many as it may use; allocator, kernel caches.

    Process-wide: for the functions that train, never for a constructor.
    """
    usable = threads or usable_processors()  # a container's quota, which torch does not know
    if threads or usable < torch.get_num_threads():
        torch.set_num_threads(usable)
    retain_freed_memory(torch.get_num_threads())
    limit_kernel_caches(d_model)


def continue_with_threads(before: int, chosen: int | None) -> str | None:
    """The threads of a run that is resumed on a CPU: as many as `before`, unless `train.threads` is `chosen`.

    The order of sums depends on them, so that a notice says where they differ, or where this machine has more. More
    threads than processors would only wait for each other. Process-wide, as `prepare_process`.
    """
    now = torch.get_num_threads()
    if chosen is None and before <= max(now, usable_processors()):
        torch.set_num_threads(before)
        return (
            f"on {counted(before, 'thread')} as before, for the same results; this machine has more: "
            f"train.threads={now} uses them, and results will not be bit-identical"
            if before < now
            else None
        )
    if now == before:
        return None
    return f"started with {counted(before, 'thread')}, now {now:,}: results will not be bit-identical"


def thread_count_for(batch: Batch) -> int:
    """The number of threads among which the rows of `batch` are divided."""
    return max(1, min(torch.get_num_threads(), batch.tgt_in.numel() // POSITIONS_PER_THREAD, batch.tgt_in.size(0)))


def run_in_threads(tasks: Sequence[Callable[[], T]]) -> list[T]:
    """Run `tasks` concurrently, each with an equal part of torch's threads. Returns their results in order.

    Each task's dropout draws from a generator of its own, seeded from the default one. If tasks fail, the exception of
    the first is raised after all have ended.
    """
    threads = torch.get_num_threads()
    per_task = max(1, threads // len(tasks))
    seeds = torch.randint(2**62, (len(tasks),)).tolist()
    torch.set_num_threads(per_task)
    try:
        futures = [_pool(threads).submit(_run, task, seed, per_task) for task, seed in zip(tasks, seeds, strict=True)]
        wait(futures)
    finally:
        torch.set_num_threads(threads)
    return [future.result() for future in futures]


@lru_cache(maxsize=1)
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads)


def _run(task: Callable[[], T], seed: int, threads: int) -> T:
    torch.set_num_threads(threads)  # the setting is per thread
    with drawn_from(torch.Generator().manual_seed(seed)):
        return task()
