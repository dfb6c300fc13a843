"""What the service keeps: a private folder, and tables, in one SQLite file in it or on a PostgreSQL server. No HTTP.

A store (`keys`, …) describes its tables in a MetaData of its own and creates them by `Database.create`. A transaction
is `with database.begin() as connection:`; where the database cannot be reached it raises DatabaseGone, which the
service answers with 503, and the next transaction tries again.
"""

import os
import tempfile
import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine, MetaData, create_engine, event, func, select
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.schema import CreateIndex, CreateTable

from dragoman.errors import ConfigError, DragomanError
from dragoman.installed import models_folder
from dragoman.system.files import storage_error

T = TypeVar("T")
FILE = "service.db"
KNOWN = "postgresql://… is known, or leave it out for SQLite"
# Milliseconds that a transaction waits for one of another process.
BUSY = 5000
# Seconds that a connection to a server may take, and each of its answers.
CONNECT = ANSWER = 5
# Seconds for which a server that has not answered in time is asked nothing; then one transaction tries again.
REST = 2
# The advisory lock of PostgreSQL under which tables are created, one process after another.
CREATING = int.from_bytes(b"dragoman", "big")


class DatabaseGone(DragomanError):
    """The database does not answer; a later request may succeed."""

    retry_after = 5  # seconds


class Database:
    """Connections to the database at `url`, which threads share."""

    def __init__(self, url: str | URL) -> None:
        """Raises ConfigError if the URL is none or its driver is missing; nothing is connected yet."""
        self._silent, self._asked_again, self._lock = False, 0.0, threading.Lock()
        """Whether the server did not answer in time, and when it may be asked again."""
        try:
            self.url = make_url(url)
            if self.url.drivername in ("postgresql", "postgres"):
                self.url = self.url.set(drivername="postgresql+psycopg")
            self.engine = _engine(self.url)
        except NoSuchModuleError:
            raise ConfigError(f"--database {self.name}: no such kind of database; {KNOWN}") from None
        except ArgumentError:
            raise ConfigError(
                "--database: not a URL; write postgresql://USER:PASSWORD@HOST/NAME, or leave it out for SQLite"
            ) from None
        except ModuleNotFoundError as error:
            if self.url.get_backend_name() != "postgresql":  # of which SQLAlchemy knows, and this service does not
                raise ConfigError(f"--database {self.name}: no such kind of database; {KNOWN}") from None
            raise ConfigError(
                f'--database {self.name}: {error.name} is not installed; `pip install "dragoman[postgresql]"`'
            ) from None

    @property
    def name(self) -> str:
        """The URL without its password, or the path of the file."""
        if self.url.get_backend_name() == "sqlite":
            return str(self.url.database)
        return self.url.render_as_string(hide_password=True)

    @property
    def is_server(self) -> bool:
        """Whether services on other machines may use it too."""
        return self.url.get_backend_name() != "sqlite"

    def create(self, metadata: MetaData) -> None:
        """Create the tables that do not exist; other processes may do so at the same time."""
        with self.begin() as connection:
            if self.is_server:  # in PostgreSQL two processes can both see that there is none
                connection.execute(select(func.pg_advisory_xact_lock(CREATING)))
            for table in metadata.sorted_tables:
                connection.execute(CreateTable(table, if_not_exists=True))
                for index in table.indexes:
                    connection.execute(CreateIndex(index, if_not_exists=True))

    @contextmanager
    def begin(self) -> Iterator[Connection]:
        """A transaction: committed at the end, rolled back by an exception. Raises DatabaseGone.

        One that does not answer holds a transaction for seconds, and then only one that tries whether it does again.
        """
        self._refuse_while_silent()
        try:
            with self.engine.begin() as connection:
                self._silent = False  # it answered, whatever becomes of the transaction
                yield connection
        except (DBAPIError, PoolTimeout) as error:
            if isinstance(error, DBAPIError) and not _is_gone(error):
                raise
            if type(getattr(error, "orig", None)).__name__ in ("ConnectionTimeout", "AnswerTimeout"):
                self._silent, self._asked_again = True, time.monotonic() + REST
            raise DatabaseGone(f"the database does not answer: {_cause(error)}") from None

    def _refuse_while_silent(self) -> None:
        with self._lock:
            if not self._silent:
                return
            now = time.monotonic()
            if now < self._asked_again:
                raise DatabaseGone("the database does not answer: it was silent a moment ago")
            self._asked_again = now + CONNECT + ANSWER + REST  # this transaction tries, the others do not wait for it

    def close(self) -> None:
        self.engine.dispose()


class ServiceState:
    """A folder that only this user can read, and a database, by default a file in it."""

    def __init__(self, folder: Path | None = None, url: str | None = None) -> None:
        """Make the folder if it does not exist; None: a temporary one. Raises ConfigError if it cannot be made, or the
        database at `url` cannot be reached."""
        self._temporary = tempfile.TemporaryDirectory(prefix="dragoman-") if folder is None else None
        self.folder = Path(self._temporary.name if self._temporary else folder or "").absolute()
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except FileExistsError:
            raise ConfigError(f"--state {self.folder}: is a file; give a folder") from None
        except OSError as error:
            raise storage_error(self.folder, error) from None
        self.database = Database(url or f"sqlite:///{self.folder / FILE}")
        try:
            with self.database.begin():
                pass
        except (DatabaseGone, DBAPIError) as error:
            self.close()
            cause = f"{error}; start it, or" if isinstance(error, DatabaseGone) else f"{_cause(error)};"
            raise ConfigError(f"{self.database.name}: {cause} give another --database or --state") from None
        if url is None:
            os.chmod(self.folder / FILE, 0o600)

    def close(self) -> None:
        """Close the database; remove a temporary folder."""
        self.database.close()
        if self._temporary:
            self._temporary.cleanup()


def state_folder() -> Path:
    """Where `dragoman serve` and `dragoman keys` keep their state unless --state is given: next to the models."""
    return models_folder().parent / "serve"


def _engine(url: URL) -> Engine:
    if url.get_backend_name() != "sqlite":
        engine = create_engine(
            url,
            pool_pre_ping=True,
            pool_timeout=CONNECT,
            connect_args={"connect_timeout": CONNECT},
            hide_parameters=True,
        )
        event.listen(engine, "do_connect", _connect)
        return engine
    engine = create_engine(url, connect_args={"timeout": BUSY / 1000}, hide_parameters=True)

    @event.listens_for(engine, "connect")
    def configure(connection: Any, _: Any) -> None:
        """WAL: readers do not wait for a writer; what is committed survives a crash of this process."""
        for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", f"busy_timeout={BUSY}"):
            connection.execute(f"PRAGMA {pragma}")

    return engine


def _connect(dialect: Any, record: Any, args: Sequence[Any], options: dict[str, Any]) -> Any:
    """A connection of psycopg whose server has `ANSWER` seconds for each answer: a frozen one sends none, ever."""
    import psycopg

    class AnswerTimeout(psycopg.OperationalError):
        """The server did not answer in time."""

    class PatientConnection(psycopg.Connection[Any]):
        """A connection that is closed where an answer does not come in time."""

        def wait(self, gen: Any, *args: Any, **options: Any) -> Any:
            return super().wait(limited(gen, ANSWER, self._too_late), *args, **options)

        def _too_late(self) -> None:
            self.pgconn.finish()
            raise AnswerTimeout(f"it did not answer within {ANSWER} seconds")

    return PatientConnection.connect(*args, **options)


def limited(generator: Generator[Any, Any, T], seconds: float, too_late: Callable[[], None]) -> Generator[Any, Any, T]:
    """The generator, of which `too_late` is called where it still waits after these seconds.

    It is sent what is ready to be read or written, or 0 every moment in which nothing is.
    """
    end, ready = time.monotonic() + seconds, None
    try:
        while True:
            ready = yield generator.send(ready)
            if ready:
                end = time.monotonic() + seconds  # an answer that comes is waited for to its end
            elif time.monotonic() > end:
                too_late()
    except StopIteration as done:
        value: T = done.value
        return value


def _is_gone(error: DBAPIError) -> bool:
    """Whether the database failed, not the statement."""
    return error.connection_invalidated or type(error).__name__ in ("OperationalError", "InterfaceError")


def _cause(error: SQLAlchemyError) -> str:
    text = str(getattr(error, "orig", None) or "no connection is free").strip()
    return " ".join(text.partition("\n")[0].split())[:200]
