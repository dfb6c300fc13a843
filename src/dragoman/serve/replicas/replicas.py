"""The processes that serve on one port together: started, watched, and started again when they end.

One thread watches all of them and answers what must be one for all: how often a key may ask, and the metrics of all. It
waits for none: one that does not answer is left out, and ended after a while.
"""

import multiprocessing
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import Any

from prometheus_client import Metric

from dragoman import errors
from dragoman.errors import DragomanError, ResourceError
from dragoman.serve.replicas.replica import ReplicaLink, ReplicaMessage
from dragoman.serve.requests.record import log_event
from dragoman.serve.store.rates import Rates
from dragoman.serve.watch.metrics import merged

# Seconds between two looks at what was asked; within which a replica reports its metrics, or is left out; between two
# such questions of our own; and until a replica that has not answered them is ended.
LOOK, REPORT, WATCH, STUCK = 0.2, 1.0, 10.0, 60.0
# Seconds until another is started where a replica has ended: the least, doubled each time, and the most.
SOON, LATEST = 0.1, 5.0


@dataclass(eq=False)
class _ReplicaProcess:
    number: int
    process: SpawnProcess
    pipe: "Connection[ReplicaMessage, ReplicaMessage]"
    delay: float
    ready: float | None = None
    """Since when it serves."""
    asked_at: float | None = None
    """Since when it owes a report: it is asked for one at a time, so that its pipe is never full."""
    failure: DragomanError | None = None

    def send(self, message: ReplicaMessage) -> None:
        with suppress(OSError):  # it has ended, which the next look finds
            self.pipe.send(message)


@dataclass
class _Collection:
    """Metrics that a replica has asked for, and the replicas that have not reported theirs; None: nobody."""

    asker: _ReplicaProcess | None
    number: int
    missing: set[_ReplicaProcess]
    began: float = field(default_factory=time.monotonic)
    metrics: list[Metric] = field(default_factory=list)


class Replicas:
    """`count` processes that `run` a service. It is used from one thread."""

    def __init__(self, count: int, run: Callable[[ReplicaLink], None]) -> None:
        self.run = run
        self._rates, self._context = Rates(), multiprocessing.get_context("spawn")
        self._alive: list[_ReplicaProcess] = []
        self._due = [(0.0, number, SOON) for number in range(count)]
        """When a replica is to be started, and the delay until the start after that."""
        self._collections = list[_Collection]()
        self._watched = 0.0
        self._served = False
        """Whether any was ever ready."""

    def serve(self, stopped: threading.Event, seconds: float, on_ready: Callable[[], None] = lambda: None) -> int:
        """Serve until `stopped` is set; `on_ready` is called when the first can.

        Returns the number of replicas that have not answered what they accepted within `seconds` and were ended. Raises
        the error of a replica that cannot serve, unless another one can.
        """
        try:
            while not stopped.is_set():
                self._start_due()
                served = self._served
                ended = self._look(LOOK)
                if self._served and not served:
                    on_ready()
                for replica in ended:
                    if not stopped.is_set():  # a signal may go to all processes
                        self._again(replica)
                self._watch()
        finally:
            killed = self._stop(seconds)
        return killed

    def _start_due(self) -> None:
        now = time.monotonic()
        due, self._due = self._due, [start for start in self._due if start[0] > now]
        for _, number, delay in (start for start in due if start[0] <= now):
            pipe, theirs = self._context.Pipe()
            process = self._context.Process(target=_run, args=(self.run, number, theirs), name=f"replica-{number}")
            replica = _ReplicaProcess(number, process, pipe, delay)
            try:
                with _without_interrupts():
                    process.start()
            except OSError as error:
                pipe.close()
                replica.failure = ResourceError(f"no process can be started: {error.strerror}; give fewer --replicas")
                self._again(replica)
            else:
                self._alive.append(replica)
            finally:
                theirs.close()

    def _look(self, seconds: float) -> list[_ReplicaProcess]:
        """Answer what is asked within these seconds; returns the replicas that have ended."""
        ended = list[_ReplicaProcess]()
        ways: dict[Any, _ReplicaProcess] = {replica.pipe: replica for replica in self._alive}
        ways |= {replica.process.sentinel: replica for replica in self._alive}
        for handle in wait(list(ways), seconds):
            replica = ways[handle]
            if replica in ended:
                continue
            try:
                if replica.pipe.poll():
                    self._receive(replica, replica.pipe.recv())
                    continue
            except (EOFError, OSError):
                pass
            else:
                if handle is replica.pipe:
                    continue
            self._remove(replica)
            ended.append(replica)
        return ended

    def _receive(self, replica: _ReplicaProcess, message: ReplicaMessage) -> None:
        match message.what:
            case "ready":
                replica.ready, self._served = time.monotonic(), True
            case "failed":
                name, text = message.value
                replica.failure = getattr(errors, name)(text)
            case "take":
                replica.send(ReplicaMessage("answer", message.number, self._rates.take(*message.value)))
            case "collect":
                self._collect(replica, message.number)
            case "report":
                replica.asked_at = None
                for collection in list(self._collections):
                    if replica in collection.missing:
                        collection.metrics += message.value
                        self._reported(replica, collection)

    def _collect(self, asker: _ReplicaProcess | None, number: int = 0) -> None:
        """Ask those that serve for their metrics; one that owes a report already answers with that."""
        now = time.monotonic()
        replicas = {replica for replica in self._alive if replica.ready is not None or replica is asker}
        self._collections.append(_Collection(asker, number, set(replicas)))
        for replica in replicas:
            if replica.asked_at is None:
                replica.asked_at = now
                replica.send(ReplicaMessage("report"))

    def _reported(self, replica: _ReplicaProcess, collection: _Collection) -> None:
        """A replica has reported its metrics, or has ended; the last one completes the answer."""
        collection.missing.discard(replica)
        if not collection.missing:
            self._complete(collection)

    def _complete(self, collection: _Collection) -> None:
        self._collections.remove(collection)
        if collection.asker:
            collection.asker.send(ReplicaMessage("answer", collection.number, merged(collection.metrics)))

    def _watch(self) -> None:
        """Complete what has waited long enough, and end the replicas that answer nothing any more."""
        now = time.monotonic()
        for collection in [waiting for waiting in self._collections if now - waiting.began > REPORT]:
            self._complete(collection)
        for replica in self._alive:
            if replica.asked_at is not None and now - replica.asked_at > STUCK:
                replica.process.kill()
        if now - self._watched > WATCH:
            self._watched = now
            self._collect(None)

    def _remove(self, replica: _ReplicaProcess) -> None:
        replica.process.join(LATEST)
        replica.process.kill()
        replica.process.join()
        replica.pipe.close()
        self._alive.remove(replica)
        for collection in list(self._collections):
            self._reported(replica, collection)

    def _again(self, replica: _ReplicaProcess) -> None:
        """Start another in the place of one that has ended. Raises its error if none can serve."""
        code, others = replica.process.exitcode, any(other.ready is not None for other in self._alive)
        if replica.failure and not others:
            raise replica.failure
        if not self._served:
            raise ResourceError(
                f"a process ended while it started (exit code {code}); see above, or give fewer --replicas"
            )
        log_event(replica=replica.number, ended=code, why=str(replica.failure or ""))
        now = time.monotonic()
        lasted = replica.ready is not None and now - replica.ready > LATEST
        delay = SOON if lasted else min(2 * replica.delay, LATEST)
        self._due.append((now + delay, replica.number, delay))

    def _stop(self, seconds: float) -> int:
        """Let all end after what they have accepted; the number of those that had to be killed."""
        for replica in self._alive:
            replica.process.terminate()
        end = time.monotonic() + seconds
        while self._alive and time.monotonic() < end:
            self._look(LOOK)
        killed = list(self._alive)
        for replica in killed:
            replica.process.kill()
            replica.process.join()
        return len(killed)


def _run(run: Callable[[ReplicaLink], None], number: int, pipe: "Connection[ReplicaMessage, ReplicaMessage]") -> None:
    run(ReplicaLink(number, pipe))


@contextmanager
def _without_interrupts() -> Iterator[None]:
    """What is started within is not interrupted by Ctrl-C, which goes to all processes of a terminal."""
    resource_tracker.ensure_running()  # which would let them through again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
