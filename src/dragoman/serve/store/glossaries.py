"""Glossaries that clients keep on the service: each belongs to its sender, and has a dictionary per pair of languages.

    glossaries       id, owner, name, when it was made
    dictionaries     of a glossary, a source and a target language: the entries as JSON, their number and size

Languages are primary subtags, as glossaries hold for all regions. A transaction for each call; a limit is checked in
that of the change.
"""

import json
import secrets
import threading
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    ColumnElement,
    Connection,
    Integer,
    MetaData,
    Select,
    String,
    Table,
    Text,
    delete,
    func,
    insert,
    select,
    update,
)

from dragoman.errors import ConfigError, DragomanError
from dragoman.serve.store.database import Database
from dragoman.text.terms.glossary import Entry, Glossary
from dragoman.text.words.language import primary_language
from dragoman.text.words.normalise import is_text

Languages = tuple[str, str]

TABLES = MetaData()
GLOSSARIES = Table(
    "glossaries",
    TABLES,
    Column("id", String(36), primary_key=True),
    Column("owner", Text, nullable=False, index=True),
    Column("name", Text, nullable=False),
    Column("created", BigInteger, nullable=False),
)
DICTIONARIES = Table(
    "dictionaries",
    TABLES,
    Column("glossary", String(36), primary_key=True),
    Column("source", String(20), primary_key=True),
    Column("target", String(20), primary_key=True),
    Column("entries", Text, nullable=False),
    Column("count", Integer, nullable=False),
    Column("bytes", BigInteger, nullable=False),
    Column("version", String(16), nullable=False),
)
_D = DICTIONARIES.c
# Dictionaries that are kept as they are matched, with their index.
CACHED = 64


class UnknownGlossary(ConfigError):
    """A glossary that the sender has not, or a dictionary that it has not."""


class GlossaryLimit(DragomanError):
    """A glossary more, or one larger, than a sender may have."""


@dataclass(frozen=True, slots=True)
class GlossaryLimits:
    """What a sender may keep."""

    glossaries: int = 1000
    entries: int = 20_000
    """Of a dictionary."""
    bytes: int = 10 << 20
    """Of all entries together."""


@dataclass(frozen=True, slots=True)
class StoredGlossary:
    """A glossary without its entries: their number by languages."""

    id: str
    name: str
    created: int
    """Microseconds since 1970, UTC."""
    counts: dict[Languages, int] = field(default_factory=dict)


class Glossaries:
    """The glossaries of all senders in a database. Threads may share it."""

    def __init__(self, database: Database, limits: GlossaryLimits | None = None) -> None:
        self.database, self.limits = database, limits or GlossaryLimits()
        self._lock, self._cache = threading.Lock(), dict[tuple[str, str, str, str], Glossary]()
        database.create(TABLES)

    def create(self, owner: str, name: str, dictionaries: Mapping[Languages, Glossary]) -> StoredGlossary:
        """A new glossary. Raises GlossaryLimit."""
        made = StoredGlossary(str(uuid.uuid4()), name, time.time_ns() // 1000)
        with self.database.begin() as connection:
            query = select(func.count()).select_from(GLOSSARIES).where(GLOSSARIES.c.owner == owner)
            if connection.execute(query).scalar_one() >= self.limits.glossaries:
                raise GlossaryLimit(f"there are {self.limits.glossaries:,} glossaries already; delete one first")
            row = {"id": made.id, "owner": owner, "name": name, "created": made.created}
            connection.execute(insert(GLOSSARIES).values(row))
            for languages, glossary in dictionaries.items():
                self._write(connection, owner, made.id, languages, glossary)
            return self._get(connection, owner, made.id)

    def get(self, owner: str, glossary: str) -> StoredGlossary:
        """A glossary of the sender. Raises UnknownGlossary."""
        with self.database.begin() as connection:
            return self._get(connection, owner, glossary)

    def owned(self, owner: str) -> list[StoredGlossary]:
        """All glossaries of the sender, the oldest first."""
        with self.database.begin() as connection:
            return _described(connection, owner)

    def entries(self, owner: str, glossary: str, languages: Languages) -> Glossary:
        """The dictionary of these languages. Raises UnknownGlossary."""
        source, target = _primary(languages)
        dictionary = self.dictionaries(owner, glossary).get((source, target))
        if dictionary is None:
            raise _without(glossary, languages)
        return dictionary

    def dictionaries(self, owner: str, glossary: str) -> dict[Languages, Glossary]:
        """All dictionaries of a glossary. Raises UnknownGlossary."""
        with self.database.begin() as connection:
            self._get(connection, owner, glossary)
            keys = {(glossary, *row) for row in connection.execute(_of(glossary, _D.version))}
            with self._lock:
                dictionaries = {key: self._cache[key] for key in keys if key in self._cache}
            if len(dictionaries) < len(keys):
                rows = connection.execute(_of(glossary, _D.version, _D.entries))
                dictionaries = {(glossary, *key): _parsed(content) for *key, content in rows}
        with self._lock:
            self._cache |= dictionaries
            while len(self._cache) > CACHED:
                del self._cache[next(iter(self._cache))]
        return {(source, target): terms for (_, source, target, _), terms in dictionaries.items()}

    def rename(self, owner: str, glossary: str, name: str) -> StoredGlossary:
        """Give a glossary another name. Raises UnknownGlossary."""
        with self.database.begin() as connection:
            _change(connection, owner, glossary, name)
            return self._get(connection, owner, glossary)

    def put(
        self, owner: str, glossary: str, dictionaries: Mapping[Languages, Glossary], merge: bool = False
    ) -> StoredGlossary:
        """Write dictionaries in place of those of the same languages; with `merge`, add their entries to those.

        Raises UnknownGlossary and GlossaryLimit.
        """
        with self.database.begin() as connection:
            _change(connection, owner, glossary)
            for languages, terms in dictionaries.items():
                rows = connection.execute(select(_D.entries).where(*_is(glossary, languages))) if merge else ()
                whole = next((terms.over(_parsed(content)) for (content,) in rows), terms)
                self._write(connection, owner, glossary, languages, whole)
            return self._get(connection, owner, glossary)

    def delete(self, owner: str, glossary: str) -> None:
        """Delete a glossary. Raises UnknownGlossary."""
        with self.database.begin() as connection:
            _change(connection, owner, glossary)
            connection.execute(delete(DICTIONARIES).where(_D.glossary == glossary))
            connection.execute(delete(GLOSSARIES).where(GLOSSARIES.c.id == glossary))

    def delete_dictionary(self, owner: str, glossary: str, languages: Languages) -> None:
        """Delete the dictionary of these languages. Raises UnknownGlossary."""
        with self.database.begin() as connection:
            _change(connection, owner, glossary)
            if not connection.execute(delete(DICTIONARIES).where(*_is(glossary, languages))).rowcount:
                raise _without(glossary, languages)

    def _get(self, connection: Connection, owner: str, glossary: str) -> StoredGlossary:
        glossaries = _described(connection, owner, glossary) if is_text(glossary) else []
        if not glossaries:
            raise _unknown(glossary)
        return glossaries[0]

    def _write(self, connection: Connection, owner: str, glossary: str, languages: Languages, terms: Glossary) -> None:
        if len(terms.entries) > self.limits.entries:
            raise GlossaryLimit(f"{len(terms.entries):,} entries; a dictionary has at most {self.limits.entries:,}")
        source, target = _primary(languages)
        content = json.dumps([[entry.term, entry.translations] for entry in terms.entries], ensure_ascii=False)
        connection.execute(delete(DICTIONARIES).where(*_is(glossary, languages)))
        row: dict[str, object] = {"glossary": glossary, "source": source, "target": target, "entries": content}
        row |= {"count": len(terms.entries), "bytes": len(content.encode()), "version": secrets.token_hex(8)}
        connection.execute(insert(DICTIONARIES).values(row))
        owned = select(func.sum(_D.bytes)).join(GLOSSARIES, GLOSSARIES.c.id == _D.glossary)
        total = connection.execute(owned.where(GLOSSARIES.c.owner == owner)).scalar_one()
        if total > self.limits.bytes:
            raise GlossaryLimit(
                f"the glossaries would have {total:,} bytes, of {self.limits.bytes:,}; delete one first"
            )


def _change(connection: Connection, owner: str, glossary: str, name: str | None = None) -> None:
    """Begin to change a glossary: others that would, wait until the end of the transaction. Raises UnknownGlossary."""
    if not is_text(glossary):
        raise _unknown(glossary)
    change = update(GLOSSARIES).where(GLOSSARIES.c.id == glossary, GLOSSARIES.c.owner == owner)
    if not connection.execute(change.values(name=GLOSSARIES.c.name if name is None else name)).rowcount:
        raise _unknown(glossary)


def _of(glossary: str, *columns: Column[str]) -> Select[Any]:
    return select(_D.source, _D.target, *columns).where(_D.glossary == glossary)


def _parsed(content: str) -> Glossary:
    return Glossary(tuple(Entry(term, tuple(translations)) for term, translations in json.loads(content)))


def _described(connection: Connection, owner: str, glossary: str | None = None) -> list[StoredGlossary]:
    columns = (*GLOSSARIES.c["id", "name", "created"], *_D["source", "target", "count"])
    query = select(*columns).select_from(GLOSSARIES.outerjoin(DICTIONARIES, GLOSSARIES.c.id == _D.glossary))
    query = query.where(GLOSSARIES.c.owner == owner, *([GLOSSARIES.c.id == glossary] if glossary is not None else []))
    glossaries: dict[str, StoredGlossary] = {}
    ordered = query.order_by(GLOSSARIES.c.created, GLOSSARIES.c.id, _D.source, _D.target)
    for glossary_id, name, created, source, target, count in connection.execute(ordered):
        described = glossaries.setdefault(glossary_id, StoredGlossary(glossary_id, name, created))
        if source is not None:
            described.counts[source, target] = count
    return list(glossaries.values())


def _is(glossary: str, languages: Languages) -> tuple[ColumnElement[bool], ...]:
    source, target = _primary(languages)
    return _D.glossary == glossary, _D.source == source, _D.target == target


def _primary(languages: Languages) -> Languages:
    return primary_language(languages[0]), primary_language(languages[1])


def _unknown(glossary: str) -> UnknownGlossary:
    return UnknownGlossary(f"there is no glossary {glossary!r:.60}; create one, or list those that there are")


def _without(glossary: str, languages: Languages) -> UnknownGlossary:
    return UnknownGlossary(f"the glossary {glossary} has no dictionary from {languages[0]} into {languages[1]}")
