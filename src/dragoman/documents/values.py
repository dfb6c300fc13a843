"""Files of keys and values: each value is a message, read into units and spliced back. Common to JSON, YAML, …"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO

from dragoman.documents.document import Document, Translations, Unit
from dragoman.documents.passage import Message, units_of, written
from dragoman.documents.splice import Decoded, Splice, spliced
from dragoman.text.inline import InlineText


@dataclass(frozen=True, slots=True)
class Value:
    """A value of a file, written from character `begin` to before `end`."""

    begin: int
    end: int
    location: str
    message: Message
    context: str = ""
    existing: InlineText | None = None
    target: tuple[int, int] | None = None
    """Where the translation is written, if not in place of the source."""


@dataclass(frozen=True, slots=True)
class Values:
    """A file of values. `encode` writes the text of one; `otherwise` are splices of a file with any translation."""

    decoded: Decoded
    values: Sequence[Value]
    encode: Callable[[Value, str], str]
    otherwise: Sequence[Splice] = ()


def document_of(path: Path, values: Values, notices: Iterable[str] = ()) -> Document:
    """The document of a file of values: the units of each message are named after its location."""
    units = [
        Unit(inline, f"{value.location}: {place}" if place else value.location, value.context, existing=value.existing)
        for value in values.values
        for place, inline in units_of(value.message)
    ]
    return Document(path, units, values, tuple(notices))


def write_values(document: Document, translations: Translations, file: IO[bytes]) -> None:
    """Write the file with its translations. Nothing else changes, and nothing at all if every text is the source's."""
    values: Values = document.skeleton
    changed = list(_changed(values, translations))
    if changed:
        changed = sorted([*changed, *values.otherwise], key=lambda splice: splice.begin)
    file.writelines(spliced(values.decoded, changed))


def _changed(values: Values, translations: Translations) -> Iterator[Splice]:
    given = iter(translations)
    for value in values.values:
        count = sum(1 for _ in units_of(value.message))
        texts = list(islice(given, count))
        assert len(texts) == count, "one translation for each unit"
        text = written(value.message, iter(texts))
        if value.target is not None and any(each is not None for each in texts):
            yield Splice(*value.target, values.encode(value, text))
        elif value.target is None and text != written(value.message, iter([None] * count)):
            yield Splice(value.begin, value.end, values.encode(value, text))
    assert next(given, given) is given, "one translation for each unit"
