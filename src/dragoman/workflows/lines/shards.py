"""A file of lines cut into shards, each to be translated by itself to the very bytes that the whole would give.

The lines are translated in windows (`chunks_of`), and in int8 a near tie may fall differently with other sentences in
a window. So a shard is several whole windows. It is named by where its bytes are in the text, which for a compressed
file is the text that was unpacked: that file is read from its beginning, by every reader once.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from io import BytesIO
from itertools import chain, islice
from pathlib import Path
from typing import IO

from dragoman.data.corpus.corpus import decode_lines, decompressed, file_errors
from dragoman.text.words.lines import WINDOW, WindowSize, chunks_of
from dragoman.workflows.lines.requests import LineRequest

# Lines translated together at first, on a CPU.
FIRST_WINDOW = 16
# The shards of a file, unless their size is given; and their lines at least.
MOST_SHARDS, SHARD_LINES = 10_000, 8192

Parse = Callable[[Iterable[str], int], Iterator[LineRequest]]
"""The requests of lines, of which the first has this number."""


@dataclass(frozen=True, slots=True)
class Shard:
    """Lines that follow each other: the number of the first, where their bytes are, and how large their window is."""

    first: int
    lines: int
    start: int
    end: int
    window: int


def windows(
    requests: Iterable[LineRequest], size: WindowSize, waits: Callable[[], bool] | None = None
) -> Iterator[list[LineRequest]]:
    """The requests as they are translated together; where `waits()`, the next has not come."""
    return chunks_of(requests, size, text=lambda request: request.text, waits=waits)


def cut(
    path: Path,
    parse: Parse,
    size: WindowSize,
    lines: int | None = None,
    done: int = 0,
    look: Callable[[list[LineRequest]], None] = lambda window: None,
) -> list[Shard]:
    """The shards of a file, of at least this number of lines; one of them ends behind the lines that are `done`.

    Their windows are of this `size`, but no larger than a shard; they start small again behind what is `done`. `look`
    receives every window. Reads all of the file. Raises DataError.
    """
    shards, least = list[Shard](), lines or SHARD_LINES
    size = replace(size, lines=min(size.lines, max(WINDOW, least)))
    with file_errors(path), path.open("rb") as raw, decompressed(path, raw) as text:
        shard = Shard(1, 0, 0, 0, size.first)
        all_requests = iter(parse(decode_lines(text, str(path)), 1))
        for part in (islice(all_requests, done), all_requests):
            window = size.first
            shard = replace(shard, window=window)
            for requests in windows(part, size):
                look(requests)
                window = min(2 * window, size.lines)
                shard = replace(shard, lines=shard.lines + len(requests), end=text.tell())
                following = shard.first + shard.lines
                if shard.lines >= least or following == done + 1:
                    shards.append(shard)
                    shard = Shard(following, 0, shard.end, shard.end, window)
        if shard.lines:
            shards.append(shard)
    return shards if lines else _fewer(shards, done)


def _fewer(shards: list[Shard], done: int) -> list[Shard]:
    """At most MOST_SHARDS of about the same size, by joining what follows each other."""
    joined = -(-len(shards) // MOST_SHARDS)
    if joined <= 1:
        return shards
    merged = list[Shard]()
    for shard in shards:
        last = merged[-1] if merged else None
        if last and last.lines < joined * SHARD_LINES and shard.first != done + 1:
            merged[-1] = replace(last, lines=last.lines + shard.lines, end=shard.end)
        else:
            merged.append(shard)
    return merged


class ShardReader:
    """The text of shards of a file, which stays open: shards in order read a compressed file once."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._stack = ExitStack()
        self._file: IO[bytes] | None = None

    def read(self, shard: Shard) -> tuple[list[str], str]:
        """The lines of a shard, and the SHA-256 of its bytes. Raises DataError."""
        with file_errors(self.path):
            if self._file is None:
                self._file = decompressed(self.path, self._stack.enter_context(self.path.open("rb")))
            self._file.seek(shard.start)
            text = self._file.read(shard.end - shard.start)
        # An empty line before it where it is not the beginning of the file, which alone may have a byte order mark.
        before = [b"\n"] if shard.start else []
        lines = list(decode_lines(chain(before, BytesIO(text)), str(self.path)))
        return lines[len(before) :], hashlib.sha256(text).hexdigest()

    def close(self) -> None:
        self._stack.close()
