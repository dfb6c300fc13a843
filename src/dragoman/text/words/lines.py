"""The lines of what a caller gives as text, and lists of them to be translated together."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeVar

from dragoman.errors import DataError, describe_type

# Lines translated together: enough to fill batches of equal length, few enough to appear soon; fewer if they are longer
# than WINDOW_CHARACTERS.
WINDOW, WINDOW_CHARACTERS = 1024, 1 << 20

Line = TypeVar("Line")


def lines_of(text: str | Iterable[str]) -> Iterable[str]:
    """The lines of a text: a str is one line, any other iterable holds one line per str. Raises DataError."""
    if isinstance(text, str):
        return [text]
    if isinstance(text, bytes | bytearray | Mapping) or not isinstance(text, Iterable):
        raise DataError(f"text: {describe_type(text)} given; give a str, one line, or an iterable of str, several")
    return _checked(text)


def _checked(lines: Iterable[object]) -> Iterator[str]:
    for number, line in enumerate(lines, 1):
        if not isinstance(line, str):
            raise DataError(f"text: line {number} is {describe_type(line)}; give a str for each line")
        yield line


def one_line(text: object) -> str:
    """The text if it is a str. Raises DataError."""
    if not isinstance(text, str):
        raise DataError(f"text: {describe_type(text)} given; give a str, one line")
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
    window: int,
    *,
    first: int | None = None,
    text: Callable[[Line], str] = str,
    waits: Callable[[], bool] = lambda: False,
) -> Iterator[list[Line]]:
    """The lines in lists of up to `window` lines and about WINDOW_CHARACTERS characters.

    With `first` the first list has only that number, and each next one up to twice as many: results soon appear. A list
    ends where `waits()`: the next line has not come. `text` returns the text of a line that is more than a str.
    """
    chunk: list[Line] = []
    characters, size = 0, min(first or window, window)
    for line in lines:
        chunk.append(line)
        characters += len(text(line))
        if len(chunk) >= size or characters >= WINDOW_CHARACTERS:
            yield chunk
            chunk, characters, size = [], 0, min(2 * size, window)
        elif waits():
            yield chunk
            chunk, characters = [], 0
    if chunk:
        yield chunk
