"""What the tests of spliced formats share: writing in memory, and the identity law."""

import io
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from dragoman.documents import Document, DocumentOptions, load, read_document
from dragoman.documents.formats import kind_of
from dragoman.text.words.inline import InlineText
from nesting import is_nested

REQUEST = DocumentOptions("en", "ko")


def opened(path: Path, content: bytes | str | None = None, request: DocumentOptions = REQUEST) -> Document:
    """The document of a file, with this content if it is given."""
    if content is not None:
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return read_document(path, kind_of(path), request)


def texts(document: Document) -> list[str]:
    return [unit.source.text for unit in document.units]


def written(
    document: Document, change: Callable[[InlineText], InlineText | None], request: DocumentOptions = REQUEST
) -> bytes:
    """The bytes of the document in which each unit is changed."""
    file = io.BytesIO()
    load(kind_of(document.path)).write(document, [change(unit.source) for unit in document.units], request, file)
    return file.getvalue()


def replaced(document: Document, new: dict[str, str]) -> bytes:
    """The bytes of the document with the texts of these units replaced; codes keep their share of the text."""
    return written(document, lambda text: moved(text, new[text.text]) if text.text in new else None)


def moved(source: InlineText, text: str) -> InlineText:
    """Another text with the codes of the source, at positions in proportion, and its protected spans found again."""
    share = len(text) / max(len(source.text), 1)
    protected: list[tuple[int, int]] = []
    places: dict[int, int] = {}
    for begin, end in source.protected:
        at = text.index(source.text[begin:end], protected[-1][1] if protected else 0)
        protected.append((at, at + end - begin))
        places |= {begin: at, end: at + end - begin}
    codes = [replace(code, position=places.get(code.position, round(code.position * share))) for code in source.codes]
    return InlineText(text, tuple(codes), tuple(protected))


def louder(source: InlineText) -> InlineText:
    """The text with each vowel changed, outside of its protected spans: every position stays."""
    text = source.text.translate(str.maketrans("aeio아이", "äëïö앙잉"))
    for begin, end in source.protected:
        text = text[:begin] + source.text[begin:end] + text[end:]
    return replace(source, text=text)


def check_laws(path: Path, request: DocumentOptions = REQUEST) -> Document:
    """Identity in bytes, and that what is written is read again; returns the document."""
    document = opened(path, request=request)
    content = path.read_bytes()
    assert written(document, lambda text: None, request) == content
    assert written(document, lambda text: text, request) == content
    assert all(is_nested(unit.source) for unit in document.units)
    return document


def check_changed(document: Document, folder: Path) -> None:
    """Every unit changed, written and read again is the changed unit, with the same codes."""
    new = [louder(unit.source) for unit in document.units]
    path = folder / document.path.name
    again = list(opened(path, written(document, louder)).units)
    assert [unit.source.text for unit in again] == [text.text for text in new]
    assert [unit.source.counted_codes for unit in again] == [text.counted_codes for text in new]
