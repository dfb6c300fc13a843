"""Requests per minute of each key: counted in a process, or in the database where several services share one."""

import threading
import time
from collections.abc import Callable
from typing import Any

from sqlalchemy import Column, ColumnElement, Float, MetaData, String, Table, case, extract, func, literal, select
from sqlalchemy.dialects import postgresql, sqlite

from dragoman.serve.store.database import Database, DatabaseGone

METADATA = MetaData()
RATES = Table(
    "rates",
    METADATA,
    Column("key", String(16), primary_key=True),
    Column("until", Float(53), nullable=False),
)
# Seconds in which as many requests as a minute has may come at once, and what rounding may add to it.
BURST, ROUNDING = 60.0, 1e-3


class Rates:
    """Requests per minute of each key: a bucket that fills steadily. Its clock never goes backwards."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._left: dict[str, tuple[float, float]] = {}

    def take(self, key: str, per_minute: int) -> float:
        """Take a request; returns 0, or the seconds until there is one."""
        now = self._clock()
        with self._lock:
            left, before = self._left.get(key, (float(per_minute), now))
            left = min(float(per_minute), left + (now - before) * per_minute / 60)
            taken = left >= 1
            self._left[key] = (left - taken, now)
        return 0.0 if taken else (1 - left) * 60 / per_minute


class SharedRates:
    """Requests per minute of each key, one for all services of a database and by its clock.

    A row has the moment `until` which the requests of a key would last if they came evenly; one is refused that would
    move it further than a minute from now (the generic cell rate algorithm). While the database does not answer, each
    process counts by itself.
    """

    def __init__(self, database: Database) -> None:
        self.database, self._here = database, Rates()
        database.create(METADATA)

    def take(self, key: str, per_minute: int) -> float:
        """Take a request; returns 0, or the seconds until there is one. Blocks."""
        try:
            return self._take(key, BURST / per_minute) if per_minute else BURST
        except DatabaseGone:
            return self._here.take(key, per_minute)

    def _take(self, key: str, interval: float) -> float:
        dialect = postgresql if self.database.is_server else sqlite
        now = self._now()
        after = case((RATES.c.until > now, RATES.c.until), else_=now) + interval
        adding = dialect.insert(RATES).values(key=key, until=now + interval)
        taking = adding.on_conflict_do_update(
            index_elements=["key"], set_={"until": after}, where=after - now <= BURST + ROUNDING
        ).returning(RATES.c.until)
        with self.database.begin() as connection:
            if connection.execute(taking).first():
                return 0.0
            query = select(RATES.c.until - now).where(RATES.c.key == key)
            ahead: float = connection.execute(query).scalar_one()
        return max(0.001, ahead + interval - BURST)

    def _now(self) -> ColumnElement[Any]:
        """The clock of the server; those of the machines that ask may differ."""
        if self.database.is_server:
            return extract("epoch", func.clock_timestamp())
        return literal(time.time())
