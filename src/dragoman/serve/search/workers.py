"""The worker processes of a service: started, asked, and started again when they end.

A worker answers one call at a time. Each has a thread that keeps it: it starts the process, loads the models that are
in use, and starts another process when that one has ended, for whatever reason. The call that was in it raises
WorkerLost.
"""

import pickle
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from weakref import finalize

from dragoman import errors
from dragoman.config import DecodeConfig
from dragoman.decode.hypothesis import Hypothesis
from dragoman.engine import Attention, Ids, Query
from dragoman.serve.requests.events import log_event
from dragoman.serve.requests.ticket import WorkerLost
from dragoman.serve.search.fair import UNBOUNDED
from dragoman.serve.search.process import has_ended, start, stop
from dragoman.serve.search.worker import Answer, ModelVersion, Order, What

# Seconds until a call takes longer than any can; that nobody gets a worker; until the next start after one that failed.
STUCK, PATIENCE, SLOWEST_START = 600.0, 60.0, 5.0
WATCH = 1.0


@dataclass(eq=False)
class _Worker:
    process: subprocess.Popen[bytes]
    versions: set[ModelVersion] = field(default_factory=set)
    asked: float | None = None
    forgotten: set[ModelVersion] = field(default_factory=set)

    def ask(self, order: Order) -> Any:
        """Raises WorkerLost, and what the engine raised."""
        assert self.process.stdin
        assert self.process.stdout
        self.asked = time.monotonic()
        try:
            pickle.dump(order, self.process.stdin, pickle.HIGHEST_PROTOCOL)
            self.process.stdin.flush()
            answer: Answer = pickle.load(self.process.stdout)
        except (EOFError, OSError, ValueError, pickle.UnpicklingError):
            self.process.kill()
            self.close()
            raise WorkerLost("the process that translated it ended; send it again") from None
        finally:
            self.asked = None
        if answer.error:
            raise _error(answer)
        self.versions = (self.versions - order.forgotten) | {order.version}
        return answer.result

    def close(self) -> None:
        """Close both pipes."""
        for stream in (self.process.stdin, self.process.stdout):
            if stream:
                with suppress(OSError):
                    stream.close()


def _error(answer: Answer) -> Exception:
    kind = getattr(errors, answer.error, None)
    if isinstance(kind, type) and issubclass(kind, errors.DragomanError):
        return kind(answer.message)
    return RuntimeError(f"the engine raised {answer.error}")


class Workers:
    """`count` processes with engines of `threads` threads. `on_lost` is called for each that ended by itself."""

    def __init__(self, count: int, threads: int = 1, on_lost: Callable[[], None] = lambda: None) -> None:
        self.count, self.threads, self.on_lost = count, threads, on_lost
        self._changed, self._closing = threading.Condition(), False
        self._idle: list[_Worker] = []
        self._alive: list[_Worker] = []
        self._versions: dict[ModelVersion, int] = {}
        self._dropped: list[ModelVersion] = []
        self._batch_tokens: dict[ModelVersion, int] = {}
        self._keepers = [threading.Thread(target=self._keep, name=f"worker-{n}", daemon=True) for n in range(count)]
        for keeper in self._keepers:
            keeper.start()

    @property
    def pids(self) -> list[int]:
        """The processes that there are now."""
        with self._changed:
            return [worker.process.pid for worker in self._alive]

    def engine(self, version: ModelVersion) -> "RemoteEngine":
        """An engine for this version of a model, which every worker has loaded; it is unloaded with the last of them.

        Raises ModelError, ResourceError, WorkerLost.
        """
        self._forget_dropped()
        with self._changed:
            self._versions[version] = self._versions.get(version, 0) + 1
            for one in self._alive:
                one.forgotten.discard(version)
        engine = RemoteEngine(self, version)
        finalize(engine, self._dropped.append, version)
        end = time.monotonic() + PATIENCE
        while worker := self._take(end, lambda one: version not in one.versions, everywhere=version):
            self._batch_tokens[version] = self._ask(worker, Order("load", version)) or UNBOUNDED
        return engine

    def batch_tokens(self, version: ModelVersion) -> int:
        """Tokens that a worker searches together with this version of a model."""
        return self._batch_tokens.get(version, UNBOUNDED)

    def call(self, what: What, version: ModelVersion, arguments: tuple[Any, ...]) -> Any:
        """`what` of the engine of a model, in the first worker that is free. Raises as `_Worker.ask` does."""
        self._forget_dropped()
        worker = self._take(time.monotonic() + PATIENCE)
        assert worker
        return self._ask(worker, Order(what, version, arguments))

    def close(self) -> None:
        """End all workers; no call is open."""
        with self._changed:
            self._closing = True
            alive = list(self._alive)
            self._changed.notify_all()
        for worker in alive:
            stop(worker.process)
        for keeper in self._keepers:
            keeper.join()

    def _take(
        self,
        end: float,
        wanted: Callable[[_Worker], bool] = lambda worker: True,
        everywhere: ModelVersion | None = None,
    ) -> _Worker | None:
        """An idle worker that is wanted; None once every worker has the version. Raises WorkerLost."""
        with self._changed:
            while not self._closing:
                found = next((worker for worker in self._idle if wanted(worker)), None)
                if found:
                    self._idle.remove(found)
                    return found
                if everywhere and self._alive and all(everywhere in one.versions for one in self._alive):
                    return None
                if not self._changed.wait(end - time.monotonic()) and time.monotonic() >= end:
                    break
        raise WorkerLost("no process is there to translate it; try again later")

    def _ask(self, worker: _Worker, order: Order) -> Any:
        with self._changed:
            forgotten, worker.forgotten = frozenset(worker.forgotten), set()
        lost = False
        try:
            return worker.ask(Order(order.what, order.version, order.arguments, forgotten))
        except WorkerLost:
            lost = True
            raise
        finally:
            if not lost:
                self._release(worker)

    def _release(self, worker: _Worker) -> None:
        with self._changed:
            if worker in self._alive:
                self._idle.append(worker)
            self._changed.notify_all()

    def _forget_dropped(self) -> None:
        """Versions without an engine are forgotten by each worker with its next order. A finalizer takes no lock."""
        with self._changed:
            while self._dropped:
                version = self._dropped.pop()
                self._versions[version] -= 1
                if not self._versions[version]:
                    del self._versions[version]
                    self._batch_tokens.pop(version, None)
                    for worker in self._alive:
                        worker.forgotten |= {version} & worker.versions

    def _keep(self) -> None:
        delay = 0.1
        while not self._closing:
            started = time.monotonic()
            self._live(start(self.threads))
            if self._closing:
                return
            delay = 0.1 if time.monotonic() - started > SLOWEST_START else min(2 * delay, SLOWEST_START)
            with self._changed:
                self._changed.wait_for(lambda: self._closing, delay)

    def _live(self, process: subprocess.Popen[bytes] | None) -> None:
        """From the start of a process to its end."""
        if not process:
            return
        worker = _Worker(process)
        with self._changed:
            self._alive.append(worker)
        if self._closing:
            stop(process)
        self._warm(worker)
        _wait(worker)
        with self._changed:
            self._alive.remove(worker)
            if worker in self._idle:
                self._idle.remove(worker)
            self._changed.notify_all()
        if not self._closing:
            self.on_lost()
            log_event(worker=process.pid, ended=process.returncode)

    def _warm(self, worker: _Worker) -> None:
        """Load what is in use; a version that its folder no longer has is left out."""
        with self._changed:
            versions = list(self._versions)
        for version in versions:
            try:
                self._batch_tokens[version] = worker.ask(Order("load", version)) or UNBOUNDED
            except WorkerLost:
                return
            except Exception as error:
                log_event(worker=worker.process.pid, not_loaded=str(error))
        self._release(worker)


class RemoteEngine:
    """An `Engine` in the worker processes."""

    def __init__(self, workers: Workers, version: ModelVersion) -> None:
        self.workers, self.version = workers, version

    @property
    def batch_tokens(self) -> int:
        """See `CTranslate2Engine.batch_tokens`."""
        return self.workers.batch_tokens(self.version)

    def translate(self, queries: Sequence[Query], options: DecodeConfig) -> list[list[Hypothesis]]:
        """`Engine.translate`."""
        hypotheses: list[list[Hypothesis]] = self._call("translate", queries, options)
        return hypotheses

    def score(self, queries: Sequence[Query], targets: Sequence[Ids], alone: bool = False) -> list[list[float]]:
        """`Engine.score`."""
        log_probs: list[list[float]] = self._call("score", queries, targets, alone)
        return log_probs

    def attention(self, queries: Sequence[Query], targets: Sequence[Ids]) -> list[Attention] | None:
        """`Engine.attention`."""
        attentions: list[Attention] | None = self._call("attention", queries, targets)
        return attentions

    def _call(self, what: What, *arguments: Any) -> Any:
        return self.workers.call(what, self.version, arguments)


def _wait(worker: _Worker) -> None:
    """Until the process has ended; one that does not answer any more is ended."""
    while not has_ended(worker.process, WATCH):
        if worker.asked is not None and time.monotonic() - worker.asked > STUCK:
            worker.process.kill()
    if worker.asked is None:  # otherwise its call notices
        worker.close()
