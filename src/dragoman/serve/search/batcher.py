"""The sentences of all requests → common batches → engines. Threads: an engine's call blocks, without Python's lock.

A free worker takes its share of what waits, at once: as much as every worker would have of it. So the sentences of one
text are searched at the same time where several workers are free, and where all are busy the next one that is free has
work too. A larger batch of few sentences would save little, and all of them would wait for its end. What an engine has
started cannot be recalled, and nobody has his answer before the whole batch is searched, so a batch is no larger than
what an engine searches together anyway, and everything that waits is here, where it can be cancelled. Only where much
waits is the next batch given to an engine that is busy, which then begins it at once: those whose results have come all
run now, and a worker would wait for Python's lock. If a batch fails, each of its calls is searched alone, and only
those at fault fail.
"""

import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dragoman.serve.search.fair import BatchPart, EngineCall, FairQueue

# Tokens that the engine searches per second, until the first batches were timed; and the weight of each new batch.
FIRST_RATE, SMOOTHING = 2000.0, 0.1
# Tokens, and calls, that wait when an engine that is busy is given its next batch: more than the next batches take, and
# of many requests. Of a document, which would keep a short text waiting, there are few calls.
AHEAD, AHEAD_CALLS = 512, 16


@dataclass(frozen=True, slots=True)
class BatchReport:
    """A batch that was searched."""

    sentences: int
    tokens: int
    calls: int
    seconds: float
    shares: Mapping[tuple[str, str], int] = field(default_factory=dict)
    """Tokens by model and key."""


@dataclass(eq=False)
class _Waiting:
    """A call and its results so far; `left` jobs have none yet."""

    call: EngineCall
    left: int
    results: list[Any]
    added: float = field(default_factory=time.monotonic)
    started: bool = False
    error: BaseException | None = None
    done: threading.Event = field(default_factory=threading.Event)


class Batcher:
    """Searches `workers` batches at a time, of up to `budget` tokens. `on_batch` and `on_queued` report to metrics."""

    def __init__(
        self,
        workers: int = 2,
        budget: int = 1024,
        on_batch: Callable[[BatchReport], None] = lambda report: None,
        on_queued: Callable[[float], None] = lambda seconds: None,
    ) -> None:
        self.budget = budget
        self.on_batch, self.on_queued = on_batch, on_queued
        self.tokens_per_second = FIRST_RATE
        self._queue, self._waiting = FairQueue(), dict[EngineCall, _Waiting]()
        self._changed = threading.Condition()
        self._running, self._closing, self._workers = 0, False, workers
        count = workers + -(-workers // 2)  # some of them are ahead
        threads = (threading.Thread(target=self._work, name=f"batch-{n}", daemon=True) for n in range(count))
        self._threads = list(threads)
        for thread in self._threads:
            thread.start()

    @property
    def tokens(self) -> int:
        """Tokens that wait."""
        return self._queue.tokens

    def search(self, call: EngineCall) -> list[Any]:
        """`call.work(call.jobs)`, in batches with the jobs of other calls of its group; blocks the calling thread.

        Raises Cancelled and Expired, and what `work` raises for these jobs.
        """
        ticket, jobs = call.ticket, call.jobs
        ticket.check()
        if not jobs:
            return []
        waiting = _Waiting(call, len(jobs), [None] * len(jobs))
        with self._changed:
            self._queue.add(call)
            self._waiting[call] = waiting
            if self._is_due:  # else all are busy: the next that is free looks by itself, and none is woken for nothing
                self._changed.notify()
        ticket.on_cancel(waiting.done.set)
        try:
            if not ticket.is_cancelled:
                waiting.done.wait(ticket.remaining)
        finally:
            ticket.on_cancel(None)
            with self._changed:
                self._queue.remove(call)
                del self._waiting[call]
        if waiting.error:
            raise waiting.error
        if waiting.left:
            ticket.check()
        assert not waiting.left, "a call ended without its results"
        return waiting.results

    def close(self) -> None:
        """End the workers after what they search now; call it when no request is open."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        for thread in self._threads:
            thread.join()

    def _work(self) -> None:
        while parts := self._next():
            started = time.monotonic()
            try:
                self._search(parts)
            finally:
                self._report(parts, started)

    @property
    def _is_due(self) -> bool:
        """Whether a batch is to be given to an engine."""
        if self._running < self._workers:
            return bool(self._queue)
        return self._queue.tokens >= AHEAD and self._queue.calls >= AHEAD_CALLS

    def _next(self) -> list[BatchPart]:
        """The next batch, when there is one; empty at the end."""
        with self._changed:
            while not self._is_due and not self._closing:
                self._changed.wait()
            parts = self._queue.take(min(self.budget, -(-self._queue.tokens // self._workers)))
            self._running += bool(parts)
            if self._is_due:  # the shares of others that are free
                self._changed.notify()
            now, waited = time.monotonic(), list[float]()
            for part in parts:
                waiting = self._waiting[part.call]
                if not waiting.started:
                    waiting.started = True
                    waited.append(now - waiting.added)
                    part.call.ticket.record.add("queue", waiting.added, sum(part.call.sizes))
        for seconds in waited:
            self.on_queued(seconds)
        return parts

    def _search(self, parts: Sequence[BatchPart]) -> None:
        jobs = [part.call.jobs[n] for part in parts for n in part.jobs]
        started = time.monotonic()
        try:
            results = list(parts[0].call.work(jobs))
            assert len(results) == len(jobs), "an engine returned another number of results"
        except BaseException as error:
            self._search_alone(parts, error)
            return
        left = iter(results)
        for part in parts:
            self._finish(part, [next(left) for _ in part.jobs], started)

    def _search_alone(self, parts: Sequence[BatchPart], error: BaseException) -> None:
        """Find out whose error it is; those that nobody waits for any more are left out."""
        if len(parts) == 1:
            self._fail(parts[0], error)
            return
        for part in parts:
            if part.call in self._waiting:
                self._search([part])

    def _finish(self, part: BatchPart, results: Sequence[Any], started: float) -> None:
        with self._changed:
            part.call.ticket.record.add("search", started, part.tokens)
            if waiting := self._waiting.get(part.call):
                for job, result in zip(part.jobs, results, strict=True):
                    waiting.results[job] = result
                waiting.left -= len(results)
                if not waiting.left:
                    waiting.done.set()

    def _fail(self, part: BatchPart, error: BaseException) -> None:
        with self._changed:
            self._queue.remove(part.call)
            if waiting := self._waiting.get(part.call):
                waiting.error = error
                waiting.done.set()

    def _report(self, parts: Sequence[BatchPart], started: float) -> None:
        shares = Counter[tuple[str, str]]()
        for part in parts:
            record = part.call.ticket.record
            shares[record.model, record.key] += part.tokens
        tokens = shares.total()
        seconds = time.monotonic() - started
        with self._changed:
            rate = max(self._workers, self._running) * tokens / max(seconds, 1e-6)
            self._running -= 1
            self.tokens_per_second += SMOOTHING * (rate - self.tokens_per_second)
        sentences = sum(len(part.jobs) for part in parts)
        self.on_batch(BatchReport(sentences, tokens, len({part.call for part in parts}), seconds, shares))
