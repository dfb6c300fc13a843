"""What is known about a request when it has been answered, for the log, the metrics and traces: never a text.

The guard opens a record for each request; a ticket that is issued while it is open has it, and the batcher adds to it.
"""

import json
import logging
import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple
from urllib.parse import quote

log = logging.getLogger("dragoman.serve")

# Intervals that a record keeps: a long text has thousands of batches.
MOST_INTERVALS = 64
# Ids protect nothing, so that no system call is needed; `random.seed` elsewhere does not repeat them.
_IDS = random.Random()


class Interval(NamedTuple):
    """What a request waited for, from one moment of the monotonic clock to another."""

    kind: Literal["queue", "search"]
    begin: float
    end: float
    tokens: int


@dataclass(eq=False)
class Record:
    """A request: what it asks for, who asks, and what it took."""

    method: str = ""
    path: str = ""
    dialect: str = "other"
    trace: str = ""
    """The header `traceparent` of W3C, if the request has one."""
    key: str = ""
    """The id of its key, which is no secret; empty: it needed none."""
    model: str = ""
    """The model that translated, or the last one of several."""
    tokens: int = 0
    """Source tokens that were searched."""
    status: int = 0
    seconds: float = 0.0
    intervals: list[Interval] = field(default_factory=list)
    id: str = field(default_factory=lambda: f"{_IDS.getrandbits(64):016x}")
    started: float = field(default_factory=time.monotonic)
    began: int = field(default_factory=time.time_ns)
    """When it started by the clock of the day, in nanoseconds."""

    def add(self, kind: Literal["queue", "search"], begin: float, tokens: int) -> None:
        """Record a wait or a search that ends now. Called with the lock of the batcher."""
        self.tokens += tokens if kind == "search" else 0
        if len(self.intervals) < MOST_INTERVALS:
            self.intervals.append(Interval(kind, begin, time.monotonic(), tokens))

    def line(self) -> str:
        """The request in a line, for people."""
        more = [self.model, f"{self.tokens} tokens" if self.tokens else "", self.key and f"key {self.key}", self.id]
        path = quote(self.path[:200], safe="/:@!$&'()*+,;=~")  # as it came: a line break in it would begin a line
        took = f"{self.method} {path} {self.status} {1000 * self.seconds:.1f} ms"
        return " ".join([took, *filter(None, more)])

    def fields(self) -> dict[str, Any]:
        """The fields of the request in the log."""
        fields = {"id": self.id, "method": self.method, "path": self.path[:200], "status": self.status}
        known = {"key": self.key, "model": self.model, "tokens": self.tokens}
        return fields | {"ms": round(1000 * self.seconds, 1)} | {name: value for name, value in known.items() if value}


OnRequest = Callable[[Record], None]
_CURRENT: ContextVar[Record | None] = ContextVar("record", default=None)


@contextmanager
def recorded(record: Record) -> Iterator[None]:
    """Within the block `current_record` is this one."""
    token = _CURRENT.set(record)
    try:
        yield
    finally:
        _CURRENT.reset(token)


def current_record() -> Record:
    """The record of the request that is answered in this context; outside of requests a new one."""
    return _CURRENT.get() or Record()


def log_event(level: int = logging.WARNING, **fields: Any) -> None:
    """An entry of the log about something besides requests: names, numbers and reasons; empty strings are left out."""
    shown = {name.replace("_", " "): value for name, value in fields.items() if value != ""}
    log.log(level, "%s", json.dumps(shown, ensure_ascii=False), extra={"fields": shown})
