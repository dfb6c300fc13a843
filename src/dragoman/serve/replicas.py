"""The processes that serve on one port together: started, watched, and started again when they end.

One thread watches all of them. It keeps the port open, so that connections wait while a replica is started, but accepts
none itself. It answers what must be one for all: how often a key may ask, and the metrics of all replicas.
"""

import json
import logging
import multiprocessing
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import Any

from prometheus_client import Metric

from dragoman import errors
from dragoman.errors import DragomanError, ResourceError
from dragoman.serve.metrics import merged
from dragoman.serve.rates import Rates
from dragoman.serve.replica import Link, Message

log = logging.getLogger("dragoman.serve")

Run = Callable[[socket.socket, Link], None]
# Seconds between two looks at what was asked, and until a replica that ended again and again is started once more.
LOOK, SLOWEST_START = 0.2, 5.0


@dataclass(eq=False)
class _Replica:
    number: int
    process: SpawnProcess
    pipe: "Connection[Message, Message]"
    started: float
    delay: float
    ready: bool = False
    failure: DragomanError | None = None

    def send(self, message: Message) -> None:
        with suppress(OSError):  # it has ended, which the next look finds
            self.pipe.send(message)


@dataclass
class _Collection:
    """Metrics that a replica has asked for, and the replicas that have not reported theirs."""

    asker: _Replica
    number: int
    missing: set[_Replica]
    found: list[Metric] = field(default_factory=list)


class Replicas:
    """`count` processes that `run` a service on the port `listening`. It is used from one thread."""

    def __init__(self, count: int, run: Run, listening: socket.socket) -> None:
        self.run, self.listening = run, listening
        self._rates, self._context = Rates(), multiprocessing.get_context("spawn")
        self._alive: list[_Replica] = []
        self._due = [(0.0, number, 0.1) for number in range(count)]
        """When a replica is to be started, and the delay until the start after that."""
        self._collections = dict[int, _Collection]()
        self._collected = 0
        self._any_was_ready = False

    def serve(self, stopped: threading.Event, seconds: float) -> None:
        """Serve until `stopped` is set and what was accepted is answered, for which there are `seconds`.

        Raises the error of a replica that cannot serve, unless one could before.
        """
        try:
            while not stopped.is_set():
                self._start_due()
                ended = self._look(LOOK)
                if not stopped.is_set():  # a signal may go to all processes
                    for one in ended:
                        self._again(one)
        finally:
            self._stop(seconds)

    def _start_due(self) -> None:
        now = time.monotonic()
        due, self._due = self._due, [each for each in self._due if each[0] > now]
        for _, number, delay in (each for each in due if each[0] <= now):
            pipe, theirs = self._context.Pipe()
            process = self._context.Process(
                target=_run, args=(self.run, self.listening, number, theirs), name=f"replica-{number}"
            )
            one = _Replica(number, process, pipe, now, delay)
            try:
                with _without_interrupts():
                    process.start()
            except OSError as error:
                pipe.close()
                one.failure = ResourceError(f"no process can be started: {error.strerror}; give fewer --replicas")
                self._again(one)
            else:
                self._alive.append(one)
            finally:
                theirs.close()

    def _look(self, seconds: float) -> list[_Replica]:
        """Answer what is asked within these seconds; returns the replicas that have ended."""
        ended = list[_Replica]()
        ways: dict[Any, _Replica] = {one.pipe: one for one in self._alive}
        ways |= {one.process.sentinel: one for one in self._alive}
        for found in wait(list(ways), seconds):
            one = ways[found]
            if one in ended:
                continue
            try:
                if one.pipe.poll():
                    self._receive(one, one.pipe.recv())
                    continue
            except (EOFError, OSError):
                pass
            else:
                if found is one.pipe:
                    continue
            self._remove(one)
            ended.append(one)
        return ended

    def _receive(self, one: _Replica, message: Message) -> None:
        match message.what:
            case "ready":
                one.ready = self._any_was_ready = True
            case "failed":
                name, text = message.value
                one.failure = getattr(errors, name)(text)
            case "take":
                one.send(Message("answer", message.number, self._rates.take(*message.value)))
            case "collect":
                self._collect(one, message.number)
            case "report":
                self._collections[message.number].found += message.value
                self._reported(one, message.number)

    def _collect(self, asker: _Replica, number: int) -> None:
        """Ask those that serve for their metrics; one that is being started does not answer yet."""
        self._collected += 1
        asked = {one for one in self._alive if one.ready or one is asker}
        self._collections[self._collected] = _Collection(asker, number, set(asked))
        for one in asked:
            one.send(Message("report", self._collected))

    def _reported(self, one: _Replica, number: int) -> None:
        """A replica has reported its metrics, or has ended; the last one completes the answer."""
        collection = self._collections[number]
        collection.missing.discard(one)
        if not collection.missing:
            del self._collections[number]
            collection.asker.send(Message("answer", collection.number, merged(collection.found)))

    def _remove(self, one: _Replica) -> None:
        one.process.join()
        one.pipe.close()
        self._alive.remove(one)
        for number in list(self._collections):
            self._reported(one, number)

    def _again(self, one: _Replica) -> None:
        """Start another in the place of one that has ended. Raises its error if none could serve until now."""
        if not self._any_was_ready:
            code = one.process.exitcode
            raise one.failure or ResourceError(
                f"a process ended while it started (exit code {code}); see above, or give fewer --replicas"
            )
        why = {"why": str(one.failure)} if one.failure else {}
        log.warning("%s", json.dumps({"replica": one.number, "ended": one.process.exitcode, **why}))
        now = time.monotonic()
        delay = 0.1 if now - one.started > SLOWEST_START else min(2 * one.delay, SLOWEST_START)
        self._due.append((now + delay, one.number, delay))

    def _stop(self, seconds: float) -> None:
        """Let all end after what they have accepted; nobody is let in meanwhile."""
        self.listening.close()
        for one in self._alive:
            one.process.terminate()
        end = time.monotonic() + seconds
        while self._alive and time.monotonic() < end:
            self._look(LOOK)
        for one in self._alive:
            one.process.kill()
            one.process.join()


def _run(run: Run, listening: socket.socket, number: int, pipe: "Connection[Message, Message]") -> None:
    run(listening, Link(number, pipe))


@contextmanager
def _without_interrupts() -> Iterator[None]:
    """What is started within is not interrupted by Ctrl-C, which goes to all processes of a terminal."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
