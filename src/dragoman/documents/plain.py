"""Plain text: each line is a unit. Line ends, indents and blank lines stay as they are."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from dragoman.documents.document import Document, Request, Translations, Unit
from dragoman.documents.splice import Splice, decode, spliced
from dragoman.text.inline import InlineText

# The text of a line, without the white space around it.
_LINE = re.compile(r"[^\s](?:[^\r\n]*[^\s])?")


def read(path: Path, request: Request) -> Document:
    """The lines of a text file that are not blank."""
    decoded = decode(path, path.read_bytes())
    spans = [match.span() for match in _LINE.finditer(decoded.text)]
    lines = [decoded.text.count("\n", 0, begin) + 1 for begin, _ in spans]
    units = [
        Unit(InlineText(decoded.text[begin:end]), f"line {line}")
        for (begin, end), line in zip(spans, lines, strict=True)
    ]
    return Document(path, units, (decoded, spans))


def write(document: Document, translations: Translations, request: Request, file: IO[bytes]) -> None:
    """The same lines with the translations in place."""
    decoded, spans = document.skeleton

    def splices() -> Iterator[Splice]:
        for (begin, end), translation in zip(spans, translations, strict=True):
            if translation is not None:
                yield Splice(begin, end, translation.text)

    file.writelines(spliced(decoded, splices()))
