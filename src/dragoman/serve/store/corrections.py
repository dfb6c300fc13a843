"""Corrections that people made of translations: the store that `dragoman improve` learns from.

With SQLite it is a file of its own, `corrections.db`, which can be given away without the keys of the service. A
correction is on the disk when `add` returns. The same one by the same sender is there once, at its newest time.
"""

import hashlib
import json
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path

from sqlalchemy import BigInteger, Column, MetaData, String, Table, Text, delete, func, insert, select, update
from sqlalchemy.exc import DBAPIError, IntegrityError

from dragoman.errors import DataError, DragomanError
from dragoman.serve.store.database import Database, DatabaseGone, ServiceState
from dragoman.workflows.improve.corrections import TABLE

FILE = "corrections.db"
TABLES = MetaData()
CORRECTIONS = Table(
    TABLE,
    TABLES,
    Column("id", String(32), primary_key=True),
    Column("sender", Text, nullable=False, index=True),
    Column("source", Text, nullable=False),
    Column("translation", Text, nullable=False),
    Column("correction", Text, nullable=False),
    Column("source_language", String(40), nullable=False),
    Column("target_language", String(40), nullable=False),
    Column("model", Text, nullable=False),
    Column("updated", BigInteger, nullable=False),
)
_C = CORRECTIONS.c
# What one sender may keep.
MOST = 100_000


class CorrectionLimit(DragomanError):
    """A correction more than a sender may keep."""


@dataclass(frozen=True, slots=True)
class NewCorrection:
    """A source, what the model translated, and what is right."""

    source: str
    translation: str
    """Empty if it is not known."""
    correction: str
    source_language: str
    target_language: str
    model: str


@dataclass(frozen=True, slots=True)
class StoredCorrection(NewCorrection):
    """A correction in the store."""

    id: str
    updated: int
    """Microseconds since 1970, UTC."""


class CorrectionStore:
    """The corrections of all senders. Threads may share it."""

    def __init__(self, state: ServiceState, most: int = MOST) -> None:
        self._is_file = state.database.url.get_backend_name() == "sqlite"
        self.database = Database(f"sqlite:///{state.folder / FILE}") if self._is_file else state.database
        self._most = most
        self.database.create(TABLES)
        if self._is_file:
            (state.folder / FILE).chmod(0o600)

    def close(self) -> None:
        if self._is_file:
            self.database.close()

    def add(self, sender: str, new: NewCorrection) -> tuple[str, bool]:
        """Keep a correction; its id, and whether it was not there. Raises CorrectionLimit, DatabaseGone."""
        number = _id(sender, new)
        try:
            return number, self._add(sender, number, new)
        except IntegrityError:  # another process added the same one meanwhile
            return number, self._add(sender, number, new)

    def _add(self, sender: str, number: str, new: NewCorrection) -> bool:
        row = {**asdict(new), "updated": time.time_ns() // 1000}
        with self.database.begin() as connection:
            if connection.execute(update(CORRECTIONS).where(_C.id == number).values(row)).rowcount:
                return False
            count = select(func.count()).select_from(CORRECTIONS).where(_C.sender == sender)
            if connection.execute(count).scalar_one() >= self._most:
                raise CorrectionLimit(f"there are {self._most:,} corrections already; delete some first")
            connection.execute(insert(CORRECTIONS).values(id=number, sender=sender, **row))
            return True

    def owned(self, sender: str, first: int = 0, count: int = 100) -> tuple[int, Sequence[StoredCorrection]]:
        """How many the sender has, and `count` of them, the newest first, after the `first` ones."""
        with self.database.begin() as connection:
            of_sender = _C.sender == sender
            total = connection.execute(select(func.count()).select_from(CORRECTIONS).where(of_sender)).scalar_one()
            columns = [column for column in CORRECTIONS.columns if column.name != "sender"]
            query = select(*columns).where(of_sender).order_by(_C.updated.desc(), _C.id).offset(first).limit(count)
            return total, [StoredCorrection(**row) for row in connection.execute(query).mappings()]

    def delete(self, sender: str, number: str) -> bool:
        """Delete a correction of the sender; returns whether it was there."""
        with self.database.begin() as connection:
            query = delete(CORRECTIONS).where(_C.id == number, _C.sender == sender)
            return bool(connection.execute(query).rowcount)


def copy_corrections(url: str, path: Path) -> None:
    """Write the corrections of the database at `url` as a `corrections.db`. Raises DataError if they cannot be read."""
    with closing(Database(url)) as server, closing(Database(f"sqlite:///{path}")) as copy:
        copy.create(TABLES)
        try:
            with server.begin() as connection:
                rows = [dict(row) for row in connection.execute(select(CORRECTIONS)).mappings()]
        except (DatabaseGone, DBAPIError) as error:
            cause = error if isinstance(error, DatabaseGone) else "it has no corrections"
            raise DataError(f"{server.name}: {cause}; give the database of a service, or its corrections.db") from None
        if rows:
            with copy.begin() as connection:
                connection.execute(insert(CORRECTIONS), rows)


def _id(sender: str, new: NewCorrection) -> str:
    """The id of a correction, which is equal for equal corrections of one sender."""
    parts = [sender, new.source_language, new.target_language, new.source, new.correction]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]
