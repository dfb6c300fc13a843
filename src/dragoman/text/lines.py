"""The lines of what a caller gives as text, and lists of them to be translated together."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from types import UnionType
from typing import TypeVar

from dragoman.errors import ConfigError, DataError

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


def describe_type(value: object) -> str:
    """What was given in place of text, for an error message."""
    return "None" if value is None else f"a value of type {type(value).__name__}"


def check_type(name: str, value: object, expected: type | UnionType, remedy: str) -> None:
    """Raises ConfigError that names the argument `name`, unless its value is of the expected type."""
    if not isinstance(value, expected):
        raise ConfigError(f"{name}: give {remedy}, not {describe_type(value)}")


def chunks_of(
    lines: Iterable[Line], window: int, *, first: int | None = None, text: Callable[[Line], str] = str
) -> Iterator[list[Line]]:
    """The lines in lists of up to `window` lines and about WINDOW_CHARACTERS characters.

    With `first` the first list has only that number, and each next one up to twice as many: results soon appear.
    `text` returns the text of a line that is more than a str.
    """
    chunk: list[Line] = []
    characters, size = 0, min(first or window, window)
    for line in lines:
        chunk.append(line)
        characters += len(text(line))
        if len(chunk) >= size or characters >= WINDOW_CHARACTERS:
            yield chunk
            chunk, characters, size = [], 0, min(2 * size, window)
    if chunk:
        yield chunk
