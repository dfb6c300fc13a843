"""Files of keys and values: each value is a message, read into units and spliced back. Common to JSON, YAML, …"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO

from dragoman.documents.core.document import Document, DocumentOptions, Translations, Unit
from dragoman.documents.core.passage import Message, units_of, written
from dragoman.documents.core.splice import Decoded, Splice, spliced
from dragoman.text.words.inline import InlineText


@dataclass(frozen=True, slots=True)
class Value:
    """A value of a file, written from character `begin` to before `end`."""

    begin: int
    end: int
    location: str
    message: Message
    context: str = ""
    existing: InlineText | None = None
    """The translation that is at `target`: what is the same is not written again."""
    target: tuple[int, int] | None = None
    """Where the translation is written, if not in place of the source."""
    read_again: Callable[[str], Message] | None = None
    """Of a message with a syntax of its own: how it is read. What a translation would break stays as it is."""


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


def write_values(document: Document, translations: Translations, options: DocumentOptions, file: IO[bytes]) -> None:
    """The `write` of such a format. Nothing else changes, and nothing at all if every text is the source's."""
    values: Values = document.skeleton
    changed = list(_changed(values, translations, document.remarks))
    file.write(spliced(values.decoded, [*changed, *values.otherwise] if changed else []))


def _changed(values: Values, translations: Translations, remarks: list[str]) -> Iterator[Splice]:
    remaining = iter(translations)
    for value in values.values:
        count = sum(1 for _ in units_of(value.message))
        texts = list(islice(remaining, count))
        assert len(texts) == count, "one translation for each unit"
        text = written(value.message, iter(texts))
        if value.target is not None and any(new not in (None, value.existing) for new in texts):
            yield Splice(*value.target, values.encode(value, text))
        elif value.target is None and text != written(value.message, iter([None] * count)):
            if not _is_readable(value, text, texts):
                remarks.append(f"{value.location}: not translated, because the message would no longer be valid")
                continue
            yield Splice(value.begin, value.end, values.encode(value, text))
    assert next(remaining, remaining) is remaining, "one translation for each unit"


def _is_readable(value: Value, text: str, translations: Sequence[InlineText | None]) -> bool:
    """Whether a message is read again with its translations, and has no argument that its source has not."""
    if value.read_again is None:
        return True
    sources = [inline for _, inline in units_of(value.message)]
    try:
        read_back = [inline for _, inline in units_of(value.read_again(text))]
    except ValueError:
        return False
    wanted = [new or source for new, source in zip(translations, sources, strict=True)]
    texts = ["".join("".join(inline.text for inline in inlines).split()) for inlines in (wanted, read_back)]
    known = {inline.text[begin:end] for inline in sources for begin, end in inline.protected}
    return texts[0] == texts[1] and all(
        inline.text[begin:end] in known for inline in read_back for begin, end in inline.protected
    )
