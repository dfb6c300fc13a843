"""The lines of what a caller gives as text, and lists of them to be translated together."""

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeVar

from dragoman.errors import DataError, describe_type
from dragoman.text.words.normalise import is_text

# Lines translated together: enough to fill batches of equal length, few enough to appear soon; fewer if they are longer
# than WINDOW_CHARACTERS.
WINDOW, WINDOW_CHARACTERS = 1024, 1 << 20

Line = TypeVar("Line")


@dataclass(frozen=True, slots=True)
class WindowSize:
    """How much is translated together."""

    lines: int = WINDOW
    """Lines at most."""
    characters: int = WINDOW_CHARACTERS
    """Characters, but for the last line."""
    first: int = WINDOW
    """Lines of the first window; each next one has up to twice as many, so that results soon appear."""
    seconds: float = math.inf
    """Of reading lines that come one after the other."""


def lines_of(text: str | Iterable[str]) -> Iterable[str]:
    """The lines of a text: a str is one line, any other iterable holds one line per str. Raises DataError."""
    if isinstance(text, str):
        return [_valid(text)]
    if isinstance(text, bytes | bytearray | Mapping) or not isinstance(text, Iterable):
        raise DataError(f"text: {describe_type(text)} given; give a str, one line, or an iterable of str, several")
    return _checked(text)


def _checked(lines: Iterable[object]) -> Iterator[str]:
    for number, line in enumerate(lines, 1):
        if not isinstance(line, str):
            raise DataError(f"text: line {number} is {describe_type(line)}; give a str for each line")
        yield _valid(line)


def one_line(text: object) -> str:
    """The text if it is a str. Raises DataError."""
    if not isinstance(text, str):
        raise DataError(f"text: {describe_type(text)} given; give a str, one line")
    return _valid(text)


def _valid(text: str) -> str:
    if not text.isascii() and not is_text(text):
        raise DataError(f"{text!r:.60}: contains an unpaired surrogate (invalid Unicode); give the text in UTF-8")
    return text


def checked_pairs(pairs: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """The pairs as a list. Raises DataError that says which is no pair of str."""
    if isinstance(pairs, str | bytes | Mapping) or not isinstance(pairs, Iterable):
        raise DataError(f"pairs: {describe_type(pairs)} given; give an iterable of (source, target), two str")
    listed = list(pairs)
    for number, pair in enumerate(listed, 1):
        if not isinstance(pair, tuple | list) or len(pair) != 2 or not all(isinstance(side, str) for side in pair):
            raise DataError(f"pairs: pair {number} is {pair!r:.80}; give (source, target), two str")
    return listed


def chunks_of(
    lines: Iterable[Line],
    size: WindowSize,
    *,
    text: Callable[[Line], str] = str,
    waits: Callable[[], bool] | None = None,
) -> Iterator[list[Line]]:
    """The lines in lists of this size.

    Lines with `waits` come one after the other: a list ends where `waits()`, because the next has not come, and after
    the seconds of its size. `text` returns the text of a line that is more than a str.
    """
    chunk: list[Line] = []
    characters, most, began = 0, min(size.first, size.lines), 0.0
    for line in lines:
        if waits and not chunk:
            began = time.monotonic()
        chunk.append(line)
        characters += len(text(line))
        if len(chunk) >= most or characters >= size.characters:
            yield chunk
            chunk, characters, most = [], 0, min(2 * most, size.lines)
        elif waits and (waits() or time.monotonic() - began >= size.seconds):
            yield chunk
            chunk, characters = [], 0
    if chunk:
        yield chunk
