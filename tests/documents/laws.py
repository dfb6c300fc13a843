"""The laws of every format, as functions: what is not translated stays, what is written can be read again."""

import io
from collections.abc import Iterable, Sequence
from pathlib import Path

from dragoman.documents import Document, DocumentOptions, Unit, kind_of, load, read_document
from dragoman.text.words.inline import InlineText

REQUEST = DocumentOptions("en", "ko")
TAIL = """ "끝" it's \\ done"""


def opened(path: Path, request: DocumentOptions = REQUEST) -> tuple[Document, list[Unit]]:
    document = read_document(path, kind_of(path), request)
    return document, list(document.units)


def written(document: Document, translations: Iterable[InlineText | None], request: DocumentOptions = REQUEST) -> bytes:
    file = io.BytesIO()
    load(kind_of(document.path)).write(document, translations, request, file)
    return file.getvalue()


def texts(path: Path, request: DocumentOptions = REQUEST) -> list[str]:
    return [unit.source.text for unit in opened(path, request)[1]]


def translated(path: Path, new: Sequence[str | InlineText | None], request: DocumentOptions = REQUEST) -> str:
    """The file with these translations, as text."""
    inline = [InlineText(text) if isinstance(text, str) else text for text in new]
    return written(opened(path, request)[0], inline, request).decode()


def with_tail(inline: InlineText, tail: str = TAIL) -> InlineText:
    """A translation that differs from its source by characters that many formats must escape."""
    return InlineText(inline.text + tail, inline.codes, inline.protected)


def hold_identity(path: Path, request: DocumentOptions = REQUEST) -> int:
    """Nothing translated, or the sources as translations: the same bytes. Returns how many units there are."""
    document, units = opened(path, request)
    content = path.read_bytes()
    assert written(document, [None] * len(units), request) == content
    if document.path.name != "translation-table.tsv":  # its translations have a column of their own
        assert written(document, [unit.source for unit in units], request) == content
    return len(units)


def hold_reading_again(path: Path, folder: Path, request: DocumentOptions = REQUEST, tail: str = TAIL) -> None:
    """The units of the written file are those of the source with the new texts, at the same locations."""
    document, units = opened(path, request)
    out = folder / "again" / path.name
    out.parent.mkdir(exist_ok=True)
    expected = [with_tail(unit.source, tail) for unit in units]
    out.write_bytes(written(document, expected, request))
    again = opened(out, request)[1]
    assert [(unit.location, unit.source) for unit in again] == [
        (unit.location, inline) for unit, inline in zip(units, expected, strict=True)
    ]
