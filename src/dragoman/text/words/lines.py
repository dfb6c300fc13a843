"""Windows: lists of lines that are translated together."""

import math
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

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
