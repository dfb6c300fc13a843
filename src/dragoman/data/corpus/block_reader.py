"""Corpora → blocks of pairs, as they are: nothing is refused, so that all faults can be counted in one pass.

Input: a `CorpusConfig`. Output: `PairBlock`s in order. Bytes that are not UTF-8 become unpaired surrogates (PEP 383);
lines of a `.tsv` or `.jsonl` file that hold no pair are named in `PairBlock.malformed`. Only a file that cannot be read
raises a DataError. The files are hashed while they are read.
"""

import hashlib
import io
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any, cast

from dragoman.config import CorpusConfig
from dragoman.data.corpus.corpus import decompressed, file_errors, sides_of
from dragoman.data.corpus.pair_block import BLOCK_LINES, MalformedLine, PairBlock

CHUNK = 1 << 20
# A block ends early if its lines are long, so that its arrays stay small.
BLOCK_BYTES = 4 << 20
_CONVERT = "convert the file to UTF-8, with iconv for example"


class Reading:
    """How many of the bytes of several corpora have been read, how many lines they had, and how many were taken."""

    def __init__(self, corpora: Iterable[CorpusConfig]) -> None:
        self.read = self.lines = self.taken = 0
        try:
            self.size = sum(path.stat().st_size for corpus in corpora for path in corpus.files)
        except OSError:  # the reader will name the file
            self.size = 0

    def expected(self, pairs: int) -> int | None:
        """About how many pairs there are, when `pairs` have been read; None if the files do not say."""
        if not (0 < self.read <= self.size and self.taken):
            return None
        read_ahead = self.lines / self.taken  # a small file is read at once, and its lines taken block by block
        return max(round(pairs * read_ahead * self.size / self.read), pairs)


class BlockReader:
    """Iterates over the blocks of a corpus; afterwards it knows how many lines each file had, and its hash."""

    def __init__(self, corpus: CorpusConfig, reading: Reading | None = None) -> None:
        self.corpus, self.reading = corpus, reading or Reading([])
        self.lines = [0] * len(corpus.files)
        self.sha256: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[PairBlock]:
        with ExitStack() as stack:
            sides = [_FileLines(path, self.reading, stack) for path in self.corpus.files]
            yield from self._blocks(sides)
            self.lines = [side.count for side in sides]
        self.sha256 = tuple(side.digest.hexdigest() for side in sides)

    @property
    def surplus(self) -> bool:
        """Whether one file had more lines than the other."""
        return len(set(self.lines)) > 1

    def _blocks(self, sides: list["_FileLines"]) -> Iterator[PairBlock]:
        first = 1
        while True:
            for side in sides:
                side.fill()
            size = min(BLOCK_LINES, *(len(side.waiting) for side in sides))
            if not size:
                break
            taken = [side.take(size) for side in sides]
            yield block_of(self.corpus, taken, first)
            first += size
        for side in sides:  # what has no partner is counted
            while side.waiting:
                side.take(len(side.waiting))
                side.fill()


def block_of(corpus: CorpusConfig, taken: list[list[str]], first: int) -> PairBlock:
    """The block of these lines of each file of `corpus`, of which the first is line `first`."""
    if len(taken) == 2:
        return PairBlock(taken[0], taken[1], first)
    source, target, malformed = [], [], {}
    for index, line in enumerate(taken[0]):
        try:
            pair = sides_of(line, corpus)
        except ValueError as error:
            pair, malformed[index] = ("", ""), MalformedLine(line, str(error))
        source.append(pair[0])
        target.append(pair[1])
    return PairBlock(source, target, first, malformed)


def unreadable_at(block: PairBlock, row: int, corpus: CorpusConfig) -> str:
    """Where and why a pair cannot be read as two lines of text, and what to do; "" if it can."""
    if line := block.malformed.get(row):
        return f"{corpus.source}:{block.first + row}: {_bad_line_end(line.text) or line.problem}"
    for path, side in ((corpus.files[0], block.source), (corpus.files[-1], block.target)):
        if problem := bad_byte(text := side.lines[row]) or _bad_line_end(text):
            return f"{path}:{block.first + row}: {problem}"
    return ""


def bad_byte(text: str) -> str:
    """The first byte of a text that is not UTF-8 (PEP 383), and what to do; "" if there is none."""
    if bad := next((character for character in text if "\udc80" <= character <= "\udcff"), None):
        return f"not UTF-8 (byte 0x{ord(bad) & 0xFF:02x}); {_CONVERT}"
    return ""


def _bad_line_end(text: str) -> str:
    if "\0" in text:
        return f"null characters, as UTF-16 has them; {_CONVERT}"
    return "a carriage return within the line; end each line with a newline" if "\r" in text else ""


class _FileLines:
    """The lines of one file, `BLOCK_LINES` or about `BLOCK_BYTES` of them at a time."""

    def __init__(self, path: Path, reading: Reading, stack: ExitStack) -> None:
        self.path, self.digest, self.count, self.reading = path, hashlib.sha256(), 0, reading
        self.waiting: list[str] = []
        self._chunks = self._read(reading, stack)

    def fill(self) -> None:
        """Have the lines of a block waiting, or all that are left."""
        while len(self.waiting) < BLOCK_LINES and (lines := next(self._chunks, None)) is not None:
            self.waiting += lines
            self.reading.lines += len(lines)
            if sum(map(len, lines)) > BLOCK_BYTES:
                break

    def take(self, size: int) -> list[str]:
        taken, self.waiting = self.waiting[:size], self.waiting[size:]
        self.count += len(taken)
        self.reading.taken += len(taken)
        return taken

    def _read(self, reading: Reading, stack: ExitStack) -> Iterator[list[str]]:
        started = False
        with file_errors(self.path):
            raw = stack.enter_context(io.BufferedReader(_Hashed(self.path, self.digest, reading), CHUNK))
            file = stack.enter_context(decompressed(self.path, cast("IO[bytes]", raw)))
            parts: list[bytes] = []
            while chunk := file.read(CHUNK):
                head, newline, tail = chunk.rpartition(b"\n")
                if newline:
                    yield decode(b"".join([*parts, head, newline]), not started)[:-1]
                    parts, started = [], True
                if tail:
                    parts.append(tail)
            if parts:
                yield decode(b"".join([*parts, b"\n"]), not started)[:-1]
            while raw.read(CHUNK):  # what a decompressor left
                pass


class _Hashed(io.FileIO):
    """A file whose bytes go into a digest and are counted, as they are read from beginning to end."""

    def __init__(self, path: Path, digest: Any, reading: Reading) -> None:
        super().__init__(path, "rb")
        self._digest, self._reading = digest, reading

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer).cast("B")
        size = super().readinto(view) or 0
        self._digest.update(view[:size])
        self._reading.read += size
        return size

    def seekable(self) -> bool:
        """Not: what is read twice would be hashed twice."""
        return False


def decode(text: bytes, beginning: bool) -> list[str]:
    """Lines without line ends, and an empty string after the last newline."""
    if beginning:
        text = text.removeprefix(b"\xef\xbb\xbf")
    if b"\r" in text:
        text = text.replace(b"\r\n", b"\n")
    return text.decode("utf-8", "surrogateescape").split("\n")
