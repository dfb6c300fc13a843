"""A translation memory on disk: a database of SQLite with a unit in each row, and an index of its trigrams.

    units        source, target, languages, the two keys, origin, and when it was added
    trigrams     FTS5 over the keys of the sources, from which candidates for similarity come

A unit is there once: the same source and target added again are newer. Several translations of one source may be there;
the newest counts. Writers take turns (a transaction for each call of `add`), and an interrupted one changes nothing.
"""

import sqlite3
import threading
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain
from os import PathLike
from pathlib import Path

from dragoman.errors import ConfigError, DataError, DragomanError, checked_path
from dragoman.memory.keys import NUMBER, key_of, similarity, tokens_of, with_numbers_of, without_numbers
from dragoman.text.words.language import primary_language

SCHEMA = "dragoman.memory/1"
TABLES = """
create table facts (name text primary key, value text) without rowid;
create table units (
    id integer primary key, source_language text not null, target_language text not null,
    source text not null, target text not null, key text not null, numberless text not null,
    origin text not null, added text not null
);
create unique index one on units (source_language, target_language, key, target);
create index by_numberless on units (source_language, target_language, numberless, added);
create virtual table trigrams using fts5(key, content='', tokenize='trigram', detail='none');
"""
# How often each trigram occurs; it is made when the database is opened.
FREQUENCY = "create virtual table temp.frequency using fts5vocab('main', 'trigrams', 'row')"
# Trigrams of a text whose frequency is looked up; the rarest of them, by which candidates are found, at most and at
# least; the units that these may have in common before it is enough; and the candidates whose similarity is counted.
LOOKED_UP, MOST_TRIGRAMS, LEAST_TRIGRAMS, POSTINGS, CANDIDATES = 64, 16, 4, 10_000, 200
# Units with other numbers that are tried, the newest ones: a memory may have "Page 1" to "Page 100000".
ADAPTED = 50
# Units that are read at once.
PAGE = 500
# New units after which the index is put in order.
MANY = 1000
BUSY_SECONDS = 10.0
# Words of SQLite's errors, and what they mean.
CAUSES: dict[str, tuple[type[DragomanError], str]] = {
    "locked": (ConfigError, "another process is writing it; wait for it"),
    "trigram": (DragomanError, f"needs SQLite 3.34 or newer, this is {sqlite3.sqlite_version}"),
    "no such table": (DataError, "a database, but no translation memory; give one of `dragoman memory add`"),
    "readonly": (DragomanError, "may not be written; check the rights of the file and its folder"),
    "full": (DragomanError, "no space is left on the disk, nothing was added; free some"),
}


@dataclass(frozen=True, slots=True)
class MemoryUnit:
    """A source and its translation, and where the two are from."""

    source: str
    target: str
    origin: str = ""


@dataclass(frozen=True, slots=True)
class MemoryMatch:
    """A unit that was found for a text, and how equal its source is, in percent."""

    score: int
    """100: equal; 99: its numbers were adapted; otherwise the similarity."""
    source: str
    target: str
    origin: str = ""


class Memory:
    """The units of one pair of languages in a database. It may be used by several threads."""

    def __init__(
        self, path: Path, source: str, target: str, database: sqlite3.Connection, temporary: bool = False
    ) -> None:
        self.path, self.source, self.target, self._temporary = path, source, target, temporary
        self.pair = primary_language(source), primary_language(target)
        """The primary subtags of its two languages."""
        self._database, self._lock, self._adds = database, threading.RLock(), False

    @classmethod
    def open(cls, path: Path, source: str, target: str, *, create: bool = False) -> "Memory":
        """The memory in the file `path`, for text from `source` into `target`.

        Raises ConfigError if there is none and it is not to be created, DataError if the file is no memory.
        """
        if not create:
            refuse_missing(path)
        with explained(path):
            database = _connected(path, new=create and (not path.exists() or not path.stat().st_size))
        return cls(path, source, target, database)

    @classmethod
    def temporary(cls, name: Path, source: str, target: str) -> "Memory":
        """An empty one, on the disk until it is closed; `name` is that of the file that its units come from."""
        with explained(name):
            return cls(name, source, target, _connected("", new=True), temporary=True)

    def __reduce__(self) -> tuple[Callable[[Path, str, str], "Memory"], tuple[Path, str, str]]:
        """Pickled as its file, which another process opens again. Raises ConfigError for a temporary one."""
        if self._temporary:
            raise ConfigError(
                f"{self.path}: its memory is in this process alone; make a .db of it with `dragoman memory add`"
            )
        return type(self).open, (self.path.absolute(), self.source, self.target)

    def close(self) -> None:
        self._database.close()

    def __len__(self) -> int:
        where = "source_language = ? and target_language = ?"
        with explained(self.path), self._lock:
            row = self._database.execute(f"select count(*) from units where {where}", self.pair).fetchone()
        return int(row[0])

    def add(self, units: Iterable[MemoryUnit]) -> int:
        """Add units, all of them or after an error none; the number of those that are new.

        Raises ConfigError if they are read from this memory meanwhile, which would never end.
        """
        now, new = datetime.now(UTC).isoformat(timespec="microseconds"), 0
        with explained(self.path), self._lock, self._database:
            self._database.execute("begin immediate")
            self._adds = True
            try:
                for unit in units:
                    new += self._add(unit, now)
            finally:
                self._adds = False
            if new >= MANY:
                self._database.execute("insert into trigrams (trigrams) values ('optimize')")
        return new

    def _add(self, unit: MemoryUnit, now: str) -> bool:
        key, target = key_of(unit.source), unit.target.strip()
        if not key or not target:
            return False
        database, languages = self._database, self.pair
        renewed = database.execute(
            "update units set added = ?, origin = ? where source_language = ? and target_language = ? and key = ? "
            "and target = ?",
            (now, unit.origin, *languages, key, target),
        )
        if renewed.rowcount:
            return False
        row = (*languages, unit.source.strip(), target, key, without_numbers(key), unit.origin, now)
        columns = "source_language, target_language, source, target, key, numberless, origin, added"
        added = database.execute(f"insert into units ({columns}) values ({', '.join('?' * len(row))})", row)
        database.execute("insert into trigrams (rowid, key) values (?, ?)", (added.lastrowid, key.casefold()))
        return True

    def find(self, text: str) -> MemoryMatch | None:
        """The translation of an equal source, or of one whose numbers alone differ; the newest of several."""
        key = key_of(text)
        for _, source, target, origin, _ in self._rows("key = ? order by added desc, id desc limit 1", key):
            return MemoryMatch(100, source, target, origin)
        newest = "numberless = ? order by added desc, id desc limit ?"
        rows = self._rows(newest, without_numbers(key), ADAPTED) if NUMBER.search(key) else []
        for _, source, target, origin, known in rows:
            if (adapted := with_numbers_of(key, known, target, self.pair)) is not None:
                return MemoryMatch(99, source, adapted, origin)
        return None

    def similar(self, text: str, threshold: int = 75, count: int = 3) -> list[MemoryMatch]:
        """Up to `count` units whose sources are similar by `threshold` percent or more, but not equal; best first."""
        key = key_of(text)
        tokens, scored = tokens_of(key), []
        for _, source, target, origin, known in self._candidates(key):
            if known != key and (score := similarity(tokens, tokens_of(known), threshold / 100)):
                scored.append(MemoryMatch(min(99, int(100 * score)), source, target, origin))
        return sorted(scored, key=lambda match: -match.score)[:count]

    def _candidates(self, key: str) -> list[tuple[int, str, str, str, str]]:
        """The units that share most of the rarest trigrams of a text."""
        folded = key.casefold()
        trigrams = list(dict.fromkeys(folded[at : at + 3] for at in range(len(folded) - 2)))
        looked_up = trigrams[:: 1 + len(trigrams) // LOOKED_UP]
        if not looked_up:
            return []
        shared: Counter[int] = Counter()
        with explained(self.path), self._lock:
            query = "select doc, term from frequency where term = ?"
            counts = sorted(row for trigram in looked_up for row in self._database.execute(query, (trigram,)))
            for number, (count, trigram) in enumerate(counts[:MOST_TRIGRAMS]):
                if number >= LEAST_TRIGRAMS and shared.total() + count > POSTINGS:
                    break
                quoted = '"' + trigram.replace('"', '""') + '"'
                rows = self._database.execute("select rowid from trigrams where trigrams match ?", (quoted,))
                shared.update(chain.from_iterable(rows))
        best = [number for number, _ in shared.most_common(CANDIDATES)]
        return self._rows(f"id in ({', '.join('?' * len(best))}) order by id desc", *best)

    def _rows(self, where: str, *values: object) -> list[tuple[int, str, str, str, str]]:
        of = "source_language = ? and target_language = ?"
        query = f"select id, source, target, origin, key from units where {of} and {where}"
        with explained(self.path), self._lock:
            if self._adds:
                raise ConfigError(f"{self.path}: units are added to it, so it cannot be read; give `add` a list")
            return self._database.execute(query, (*self.pair, *values)).fetchall()

    def units(self) -> Iterator[MemoryUnit]:
        """All units, those that were added last, or again, at the end: of several for a source the last one counts."""
        query = "select id from units where source_language = ? and target_language = ? order by added, id"
        with explained(self.path), self._lock:
            numbers = array("q", (number for (number,) in self._database.execute(query, self.pair)))
        for begin in range(0, len(numbers), PAGE):
            page = numbers[begin : begin + PAGE]
            rows = {row[0]: row for row in self._rows(f"id in ({', '.join('?' * len(page))})", *page)}
            yield from (MemoryUnit(*rows[number][1:4]) for number in page if number in rows)


@dataclass(frozen=True, slots=True)
class Contents:
    """The units of one pair of languages in a memory."""

    source: str
    target: str
    units: int
    first: str
    """When the oldest unit was added (ISO 8601, UTC)."""
    last: str


def existing_memory(path: str | PathLike[str]) -> Path:
    """The path of a memory, whatever its format. Raises ConfigError for a missing file."""
    path = checked_path("memory", path)
    if not path.exists():
        raise ConfigError(f"{path}: no such file; give a memory: .db, .tmx, .tsv, .po or .xliff")
    return path


def contents(path: Path) -> list[Contents]:
    """What a memory holds, by pairs of languages, the largest first. Raises ConfigError and DataError."""
    refuse_missing(path)
    query = (
        "select source_language, target_language, count(*), min(added), max(added) from units "
        "group by 1, 2 order by 3 desc, 1, 2"
    )
    with explained(path), closing(_connected(path, new=False)) as database:
        return [Contents(*row) for row in database.execute(query)]


def refuse_missing(path: Path) -> None:
    """Raise ConfigError if there is no such file."""
    if not path.exists():
        raise ConfigError(f"{path}: no such file; `dragoman memory add {path} FILE` makes a memory")


def _connected(path: Path | str, *, new: bool) -> sqlite3.Connection:
    database = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    try:
        if new:
            database.execute("begin immediate")
            if not database.execute("select count(*) from sqlite_master").fetchone()[0]:  # no other process was first
                for statement in TABLES.split(";"):
                    database.execute(statement)
                database.execute("insert into facts values ('schema', ?)", (SCHEMA,))
            database.execute("commit")
        [schema] = database.execute("select value from facts where name = 'schema'").fetchone() or [None]
        if schema != SCHEMA:
            remedy = "update dragoman" if str(schema) > SCHEMA else "export it as .tmx with the version that made it"
            raise DataError(f"{path}: a memory of schema {schema}, this version reads {SCHEMA}; {remedy}")
        database.execute(FREQUENCY)
        database.execute("pragma cache_size = -32768")  # 32 MiB: postings are read again and again
    except BaseException:
        database.close()
        raise
    return database


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Errors of SQLite in the block as a DragomanError that names the file."""
    try:
        yield
    except sqlite3.OperationalError as error:
        for part, (kind, cause) in CAUSES.items():
            if part in str(error):
                raise kind(f"{path}: {cause}") from None
        raise DragomanError(f"{path}: {error}; check the disk and the rights of the file") from None
    except sqlite3.ProgrammingError:
        raise ConfigError(f"{path}: the memory was closed; open it again") from None
    except sqlite3.DatabaseError:
        raise DataError(f"{path}: not a translation memory, or damaged; give one of `dragoman memory add`") from None
