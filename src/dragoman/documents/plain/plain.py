"""Plain text: each line is a unit. Line ends, indents and blank lines stay as they are.

A file is read line by line whenever its units are iterated over, so that its size does not matter.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from io import TextIOWrapper
from pathlib import Path
from typing import IO

from dragoman.documents.core.document import Document, DocumentOptions, Translations, Unit
from dragoman.documents.core.splice import BYTE_ORDER_MARKS
from dragoman.errors import DataError
from dragoman.text.words.inline import InlineText

# Characters of the longest line: more are no text that a person wrote.
LONGEST = 1 << 22

# The text of a line, without the white space around it.
_TEXT = re.compile(r"\S(?:.*\S)?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class _TextFile:
    """The lines of a file, each with its end, as often as they are asked for."""

    path: Path
    encoding: str
    mark: bytes

    def __iter__(self) -> Iterator[str]:
        with self.path.open("rb") as file:
            file.seek(len(self.mark))
            text, number = TextIOWrapper(file, self.encoding, newline=""), 0
            try:
                while line := text.readline(LONGEST):
                    number += 1
                    self._check(line, number)
                    yield line
            except UnicodeDecodeError as error:
                number += 1 + error.object.count(b"\n", 0, error.start)
                at = file.tell() - len(error.object) + error.start
                raise DataError(
                    f"{self.path}:{number}: byte {at} is not {self.encoding.upper()}; save the file as UTF-8"
                ) from None

    def _check(self, line: str, number: int) -> None:
        if "\0" in line:
            raise DataError(f"{self.path}:{number}: contains NUL characters; save it as UTF-8 text")
        if len(line) == LONGEST:
            raise DataError(f"{self.path}:{number}: has more than {LONGEST:,} characters; divide the line")


@dataclass(frozen=True, slots=True)
class _Units:
    """The units of the lines that are not blank."""

    lines: _TextFile

    def __iter__(self) -> Iterator[Unit]:
        for number, line in enumerate(self.lines, 1):
            if match := _TEXT.search(line):
                yield Unit(InlineText(match[0]), f"line {number}")


def read(path: Path, options: DocumentOptions) -> Document:
    """The lines of a text file that are not blank."""
    with path.open("rb") as file:
        first = file.read(4)
    marks = [(mark, encoding) for mark, encoding in BYTE_ORDER_MARKS.items() if first.startswith(mark)]
    mark, encoding = marks[0] if marks else (b"", "utf-8")
    lines = _TextFile(path, encoding, mark)
    return Document(path, _Units(lines), lines)


def write(document: Document, translations: Translations, options: DocumentOptions, file: IO[bytes]) -> None:
    """The lines of the text file, each translated one in place of its source."""
    lines, remaining = document.skeleton, iter(translations)
    file.write(lines.mark)
    for line in lines:
        if match := _TEXT.search(line):
            translation = next(remaining)
            if translation is not None:
                line = line[: match.start()] + translation.text + line[match.end() :]
        file.write(line.encode(lines.encoding))
