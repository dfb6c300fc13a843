"""A function over blocks in several processes: results in order, and never more than a few blocks on the way."""

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool

from dragoman.data.corpus.pair_block import PairBlock
from dragoman.data.make.clean import Judge, Judgement
from dragoman.errors import ResourceError

# Blocks that wait or are worked on, per process.
ON_THE_WAY = 3

_judge: Judge


def judged(blocks: Iterable[PairBlock], judge: Judge, workers: int) -> Iterator[tuple[PairBlock, Judgement]]:
    """Each block with its judgement, in order, from `workers` processes, or from this one if they are 1.

    Raises ResourceError if a process is killed, as the operating system does when memory is short.
    """
    if workers == 1:
        yield from ((block, judge(block)) for block in blocks)
        return
    # Started afresh: a fork of a process with threads, as a progress bar has, may hang.
    start = multiprocessing.get_context("spawn")
    waiting: deque[tuple[PairBlock, Future[Judgement]]] = deque()
    with ProcessPoolExecutor(workers, start, _begin, (judge,)) as pool:
        try:
            for block in blocks:
                texts = list(block.source.lines), list(block.target.lines)
                waiting.append((block, pool.submit(_work, *texts, block.first, dict(block.malformed))))
                if len(waiting) >= ON_THE_WAY * workers:
                    first, judgement = waiting.popleft()
                    yield first, judgement.result()
            for block, judgement in waiting:
                yield block, judgement.result()
        except BrokenProcessPool:
            raise ResourceError("a worker process was killed; use fewer with --workers") from None
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def _begin(judge: Judge) -> None:
    """In a new process: Ctrl-C is for the parent, which ends this one; if the parent is killed, this one ends too."""
    global _judge
    _judge = judge
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    if parent := multiprocessing.parent_process():
        parent.join()
        os._exit(1)  # it waits for work that nobody sends


def _work(source: list[str], target: list[str], first: int, malformed: dict[int, str]) -> Judgement:
    return _judge(PairBlock(source, target, first, malformed))
