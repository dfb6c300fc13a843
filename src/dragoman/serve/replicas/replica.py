"""A replica: one of several processes that serve on a port, each with the whole service; its side of the pipe.

What must be one for all is asked of the process that started it (`serve.replicas.replicas`): how often a key may ask,
and the metrics of all. When that process ends, in whatever way, its replicas end as on SIGTERM.
"""

import asyncio
import itertools
import os
import signal
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any, Literal

from prometheus_client import Metric

from dragoman import errors
from dragoman.errors import DragomanError
from dragoman.serve.store.rates import Rates
from dragoman.serve.watch.metrics import as_text
from dragoman.serve.work.service import Service

# Seconds until a replica answers by itself: more than the process that started it waits for the others.
PATIENCE = 2.0


@dataclass(frozen=True, slots=True)
class ReplicaMessage:
    """Between a replica and the process that started it: an order with its arguments, or the answer to one."""

    what: Literal["ready", "failed", "take", "collect", "report", "answer"]
    number: int = 0
    """Of the order that is answered."""
    value: Any = None


class ReplicaLink:
    """A replica's end of its pipe."""

    def __init__(self, replica: int, pipe: "Connection[ReplicaMessage, ReplicaMessage]") -> None:
        self.replica, self._pipe = replica, pipe
        self._sending, self._numbers = threading.Lock(), itertools.count()
        self._asked: dict[int, asyncio.Future[Any]] = {}
        self._loop: asyncio.AbstractEventLoop | None = None

    def ready(self) -> None:
        self._send(ReplicaMessage("ready"))

    def failed(self, error: DragomanError) -> None:
        names = (kind.__name__ for kind in type(error).__mro__)
        self._send(ReplicaMessage("failed", value=(next(name for name in names if hasattr(errors, name)), str(error))))

    def join(self, service: Service) -> None:
        """Ask for what is one for all; report the metrics of this service when asked."""
        service.metrics.labels = {"replica": str(self.replica)}
        rates = Rates()

        async def take(key: str, per_minute: int) -> float:
            seconds: float | None = await self._ask("take", (key, per_minute))
            return rates.take(key, per_minute) if seconds is None else seconds

        async def metrics() -> bytes:
            collected: Iterable[Metric] | None = await self._ask("collect", None)
            return as_text(service.metrics.collect() if collected is None else collected)

        service.all_metrics = metrics
        if not service.state.database.is_server:  # which counts for all
            service.take = take
        threading.Thread(target=self._watch, args=(service.metrics.collect,), name="link", daemon=True).start()

    async def _ask(self, what: Literal["take", "collect"], value: Any) -> Any:
        """The answer to an order; None if there is none in time."""
        self._loop = asyncio.get_running_loop()
        number = next(self._numbers)
        self._asked[number] = answer = self._loop.create_future()
        try:
            self._send(ReplicaMessage(what, number, value))
            return await asyncio.wait_for(answer, PATIENCE)
        except TimeoutError:
            return None
        finally:
            del self._asked[number]

    def _watch(self, collect: Callable[[], list[Metric]]) -> None:
        try:
            while True:
                message = self._pipe.recv()
                if message.what == "report":
                    self._send(ReplicaMessage("report", value=collect()))
                elif self._loop:
                    with suppress(RuntimeError):  # it is closed
                        self._loop.call_soon_threadsafe(self._answered, message)
        except (EOFError, OSError):
            pass
        finally:  # nothing is asked and answered any more
            os.kill(os.getpid(), signal.SIGTERM)

    def _answered(self, message: ReplicaMessage) -> None:
        answer = self._asked.get(message.number)
        if answer and not answer.done():
            answer.set_result(message.value)

    def _send(self, message: ReplicaMessage) -> None:
        with self._sending, suppress(OSError):
            self._pipe.send(message)
