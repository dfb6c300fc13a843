"""What the service keeps: a private folder, and tables, in one SQLite file in it or on a PostgreSQL server. No HTTP.

A store (`keys`, …) describes its tables in a MetaData of its own and creates them by `Database.create`. A transaction
is `with database.begin() as connection:`; where the database cannot be reached it raises DatabaseGone, which the
service answers with 503, and the next transaction tries again.
"""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, MetaData, create_engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, IntegrityError, NoSuchModuleError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.schema import CreateIndex, CreateTable

from dragoman.errors import ConfigError, DragomanError
from dragoman.installed import models_folder
from dragoman.system.files import storage_error

FILE = "service.db"
# Milliseconds that a transaction waits for one of another process.
BUSY = 5000
# Seconds that a connection to a server may take.
CONNECT = 5


class DatabaseGone(DragomanError):
    """The database does not answer; a later request may succeed."""

    retry_after = 5  # seconds


class Database:
    """Connections to the database at `url`, which threads share."""

    def __init__(self, url: str | URL) -> None:
        """Raises ConfigError if the URL is none or its driver is missing; nothing is connected yet."""
        try:
            self.url = make_url(url)
            if self.url.drivername in ("postgresql", "postgres"):
                self.url = self.url.set(drivername="postgresql+psycopg")
            self.engine = _engine(self.url)
        except NoSuchModuleError:
            known = "postgresql://… is known, or leave it out for SQLite"
            raise ConfigError(f"--database {self.name}: no such kind of database; {known}") from None
        except ArgumentError:
            raise ConfigError(
                "--database: not a URL; write postgresql://USER:PASSWORD@HOST/NAME, or leave it out for SQLite"
            ) from None
        except ModuleNotFoundError as error:
            raise ConfigError(
                f'--database {self.name}: {error.name} is not installed; `pip install "dragoman[postgresql]"`'
            ) from None

    @property
    def name(self) -> str:
        """The URL without its password, or the path of the file."""
        if self.url.get_backend_name() == "sqlite":
            return str(self.url.database)
        return self.url.render_as_string(hide_password=True)

    def create(self, metadata: MetaData) -> None:
        """Create the tables that do not exist; other processes may do so at the same time."""
        try:
            self._create(metadata)
        except IntegrityError:  # in PostgreSQL two processes can both see that there is none
            self._create(metadata)

    def _create(self, metadata: MetaData) -> None:
        with self.begin() as connection:
            for table in metadata.sorted_tables:
                connection.execute(CreateTable(table, if_not_exists=True))
                for index in table.indexes:
                    connection.execute(CreateIndex(index, if_not_exists=True))

    @contextmanager
    def begin(self) -> Iterator[Connection]:
        """A transaction: committed at the end, rolled back by an exception. Raises DatabaseGone."""
        try:
            with self.engine.begin() as connection:
                yield connection
        except (DBAPIError, PoolTimeout) as error:
            if isinstance(error, DBAPIError) and not _is_gone(error):
                raise
            raise DatabaseGone(f"the database does not answer: {_cause(error)}") from None

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
        return create_engine(
            url,
            pool_pre_ping=True,
            pool_timeout=CONNECT,
            connect_args={"connect_timeout": CONNECT},
            hide_parameters=True,
        )
    engine = create_engine(url, connect_args={"timeout": BUSY / 1000}, hide_parameters=True)

    @event.listens_for(engine, "connect")
    def configure(connection: Any, _: Any) -> None:
        """WAL: readers do not wait for a writer; what is committed survives a crash of this process."""
        for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", f"busy_timeout={BUSY}"):
            connection.execute(f"PRAGMA {pragma}")

    return engine


def _is_gone(error: DBAPIError) -> bool:
    """Whether the database failed, not the statement."""
    return error.connection_invalidated or type(error).__name__ in ("OperationalError", "InterfaceError")


def _cause(error: SQLAlchemyError) -> str:
    text = str(getattr(error, "orig", None) or "no connection is free").strip()
    return " ".join(text.partition("\n")[0].split())[:200]
