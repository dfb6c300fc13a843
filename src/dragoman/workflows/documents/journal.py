"""Finished translations of documents on disk, next to the output: a killed process continues where it stopped.

`OUT.partial` is a database of SQLite: what the work was started with, a row for each text that was translated (once for
all documents that have it), and a row for each file that was written. The translations are in it while the work lasts,
so that memory does not grow with the documents; it is removed when all are written.
"""

import hashlib
import json
import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

from dragoman.documents import Unit
from dragoman.errors import DragomanError, counted
from dragoman.system.files import storage_error
from dragoman.text.words.inline import Code, InlineText
from dragoman.workflows.journal import ResumableWork, as_stored, foreign_file_error, remove_files, saved_work

SCHEMA = "dragoman.documents.partial/1"
TABLES = """
create table facts (name text primary key, value text);
create table translations (key blob primary key, value text) without rowid;
create table files (path text primary key);
create table review (file text, location text, source text, translation text, why text);
"""


@dataclass(frozen=True, slots=True)
class Finished:
    """A finished translation, and what is wrong with it: a kind and a text for each warning."""

    inline: InlineText
    why: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class FlaggedUnit:
    """What a person should look at."""

    file: str
    location: str
    source: str
    translation: str
    why: tuple[tuple[str, str], ...]


def printable(name: str) -> str:
    """The name of a file; of one that is not UTF-8, with the numbers of its other bytes."""
    return name.encode(errors="backslashreplace").decode()


def key_of(unit: Unit, max_length: int | None) -> bytes:
    """Units with the same key have the same translation."""
    inline = unit.source
    content = (inline.text, [astuple(code) for code in inline.codes], inline.protected, unit.patterns, max_length)
    return hashlib.sha256(json.dumps(content).encode()).digest()[:16]


class Journal:
    """The open database; see `open_journal`."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database
        self.keep: bool | None = None
        """Whether it is kept: yes if a file could not be written, no if one would have been wrong."""

    def get(self, key: bytes) -> Finished | None:
        row = self._database.execute("select value from translations where key = ?", (key,)).fetchone()
        return _decoded(row[0]) if row else None

    def has(self, key: bytes) -> bool:
        return self._database.execute("select 1 from translations where key = ?", (key,)).fetchone() is not None

    def add(self, finished: Iterable[tuple[bytes, Finished]]) -> None:
        """Write translations to the disk; from then on they are finished."""
        rows = ((key, _encoded(translation)) for key, translation in finished)
        with self._database:
            self._database.executemany("insert or replace into translations values (?, ?)", rows)

    @property
    def count(self) -> int:
        return int(self._database.execute("select count(*) from translations").fetchone()[0])

    def written(self) -> frozenset[Path]:
        return frozenset(Path(os.fsdecode(path)) for (path,) in self._database.execute("select path from files"))

    def add_file(self, path: Path, rows: Iterable[FlaggedUnit]) -> None:
        """A file is written; `rows` of it are to be looked at."""
        listed = [(printable(row.file), row.location, row.source, row.translation, json.dumps(row.why)) for row in rows]
        with self._database:
            self._database.execute("insert or replace into files values (?)", (os.fsencode(path),))
            self._database.executemany("insert into review values (?, ?, ?, ?, ?)", listed)

    def forget_review(self) -> None:
        """Begin the list of what is to be looked at again."""
        with self._database:
            self._database.execute("delete from review")

    def review(self) -> Iterator[FlaggedUnit]:
        """What is to be looked at, in order."""
        rows = self._database.execute("select file, location, source, translation, why from review order by rowid")
        for file, location, source, translation, why in rows:
            yield FlaggedUnit(file, location, source, translation, tuple(map(tuple, json.loads(why))))

    @property
    def review_count(self) -> int:
        return int(self._database.execute("select count(*) from review").fetchone()[0])


@contextmanager
def open_journal(
    output: Path, started_with: Mapping[str, Any], *, resume: bool = False, force: bool = False
) -> Iterator[Journal]:
    """The journal of work on `output`, removed when the block ends without an exception.

    Otherwise what is finished is kept, and the error says how to continue; nothing is kept of a block that finished
    nothing, or whose result would have been wrong. `started_with` is what must be the same when the work is resumed, by
    name. Raises ConfigError.
    """
    work = ResumableWork(output, "text")
    refuse_unfinished(output, resume=resume, force=force)
    if force and not resume:
        work.partial.unlink(missing_ok=True)
    try:
        work.partial.parent.mkdir(parents=True, exist_ok=True)
        database = _opened(work, as_stored(started_with))
    except OSError as error:
        raise storage_error(output, error) from None
    except sqlite3.Error as error:
        raise _explained(work, error) from None
    journal = Journal(database)
    keeps = False

    def saved() -> str:
        return f"{counted(journal.count, 'text')} saved" if keeps else ""

    try:
        with saved_work(lambda: f"stopped; {saved()},", saved):
            try:
                yield journal
                keeps = bool(journal.keep)
            except BaseException as error:
                with suppress(sqlite3.Error):
                    keeps = journal.keep is not False and journal.count > 0
                if isinstance(error, sqlite3.Error):
                    raise _explained(work, error) from error
                raise
    finally:
        database.close()
        if not keeps:
            _remove(work)


def refuse_unfinished(output: Path, *, resume: bool, force: bool) -> None:
    """Raise ConfigError if there is an interrupted translation and neither flag says what to do with it."""
    work = ResumableWork(output, "text")
    if not (work.partial.exists() or work.partial.is_symlink()):
        return
    count = _count(work)
    work.refuse_interrupted(count, resume=resume, force=force)
    if not count:
        _remove(work)


def _count(work: ResumableWork) -> int:
    """The number of translations in a journal. Raises ConfigError if it is none, or another process writes it."""
    path = work.partial
    foreign = foreign_file_error(path)
    if path.is_symlink() or not path.is_file():
        raise foreign
    database = sqlite3.connect(path, timeout=0)
    try:
        if not path.stat().st_size:
            return 0
        if not database.execute("select count(*) from sqlite_master").fetchone()[0]:
            return 0  # killed before its tables were there
        schema = database.execute("select value from facts where name = 'schema'").fetchone()
        if not schema or schema[0] != SCHEMA:
            raise foreign
        return Journal(database).count
    except sqlite3.OperationalError as error:
        if "locked" in str(error):
            raise work.locked_error() from None
        raise foreign from None
    except sqlite3.Error:
        raise foreign from None
    finally:
        database.close()


def _opened(work: ResumableWork, started_with: dict[str, Any]) -> sqlite3.Connection:
    """The database, new or continued; no second process can open it."""
    new = not work.partial.exists()
    if new:
        work.partial.touch(exist_ok=False)  # fails if a link took the name
    database = sqlite3.connect(work.partial, timeout=0, check_same_thread=False)
    try:
        # The lock is the database's own: closing a second descriptor of the file would release it (POSIX).
        database.execute("pragma locking_mode = exclusive")
        database.execute("begin exclusive")
        if new:
            for table in TABLES.split(";"):
                database.execute(table)
            facts = {"schema": SCHEMA, "started_with": json.dumps(started_with)}
            database.executemany("insert into facts values (?, ?)", facts.items())
        else:
            then = database.execute("select value from facts where name = 'started_with'").fetchone()[0]
            work.refuse_difference(json.loads(then), started_with)
        database.commit()
    except BaseException:
        database.close()
        raise
    return database


def _encoded(finished: Finished) -> str:
    inline = finished.inline
    return json.dumps([inline.text, [astuple(code) for code in inline.codes], inline.protected, finished.why])


def _decoded(value: str) -> Finished:
    text, codes, protected, why = json.loads(value)
    inline = InlineText(text, tuple(Code(*code) for code in codes), tuple((begin, end) for begin, end in protected))
    return Finished(inline, tuple((kind, reason) for kind, reason in why))


def _explained(work: ResumableWork, error: sqlite3.Error) -> DragomanError:
    if "locked" in str(error):
        return work.locked_error()
    return DragomanError(f"{work.partial}: cannot be written: {error}; check the disk, or start again with --force")


def _remove(work: ResumableWork) -> None:
    remove_files(work.partial, work.partial.with_name(f"{work.partial.name}-journal"))  # SQLite's own, of a kill
