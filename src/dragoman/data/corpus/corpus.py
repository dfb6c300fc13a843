"""Parallel text on disk → pairs of lines, read one by one.

Input: two text files, or one `.tsv` (two columns) or `.jsonl` file; each may be compressed (`.gz`, `.zst`).
Output: `Pair`s. Lines end only at `\\n`, as `wc -l` counts them. Every error names file and line.
"""

import gzip
import random
import sys
import zlib
from array import array
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from functools import partial
from importlib.resources import files
from itertools import accumulate, zip_longest
from math import log, sqrt
from pathlib import Path
from statistics import mean, pstdev
from typing import IO, cast

from dragoman.config import CorpusConfig
from dragoman.errors import DataError, counted
from dragoman.system.parsing import parse_json
from dragoman.system.pipe import LONGEST_LINE
from dragoman.text.words.normalise import is_text, normalise

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd


# Standard errors from which a line is named where two files diverge, and the fewest lines that may show it.
SURE, FEWEST_SURE = 4.0, 5


@dataclass(frozen=True, slots=True)
class Pair:
    """A sentence and its translation as in the files, and the number of their line, counted from 1."""

    source: str
    target: str
    line: int


def read_pairs(corpus: CorpusConfig) -> Iterator[Pair]:
    """The pairs of `corpus` in order.

    Raises DataError if a file is missing, is not UTF-8 or has fewer lines than the other, or if a side is empty.
    """
    for pair in _read_single(corpus) if corpus.single_file else _read_two(corpus):
        _refuse_empty(pair, corpus)
        yield pair


def embedded_pairs(part: str) -> Iterator[Pair]:
    """The pairs of the embedded text, English and Korean: those of its part `train`, `valid` or `test`."""
    return read_pairs(CorpusConfig(source=Path(str(files("dragoman.data") / "embedded" / f"{part}.tsv.gz"))))


def sample_pairs(corpora: Iterable[CorpusConfig], size: int, seed: int) -> list[tuple[str, str]]:
    """Up to `size` pairs of normalised text, drawn evenly from all corpora."""
    return sample_evenly((pair for corpus in corpora for pair in read_pairs(corpus)), size, seed)


def sample_evenly(pairs: Iterable[Pair], size: int, seed: int) -> list[tuple[str, str]]:
    """Up to `size` of the pairs, each as likely as any other (Vitter 1985, algorithm R), as normalised text."""
    rng = random.Random(f"{seed}/sample")
    sample: list[tuple[str, str]] = []
    for seen, pair in enumerate(pairs):
        index = seen if seen < size else rng.randrange(seen + 1)
        if index < size:
            text = (normalise(pair.source), normalise(pair.target))
            if index == len(sample):
                sample.append(text)
            else:
                sample[index] = text
    return sample


def read_lines(path: Path) -> Generator[str]:
    """The lines of a text file without line ends. Raises DataError."""
    with file_errors(path), path.open("rb") as raw, decompressed(path, raw) as file:
        yield from decode_lines(file, str(path))


@contextmanager
def file_errors(path: Path) -> Generator[None]:
    """Within the block an error of opening, reading or unpacking a file is a DataError that names it."""
    try:
        yield
    except FileNotFoundError:
        raise DataError(f"{path}: no such file; check the path") from None
    except (OSError, EOFError, zlib.error, zstd.ZstdError) as error:
        cause = getattr(error, "strerror", None) or str(error)
        raise DataError(f"{path}: cannot be read: {cause}") from None


def decode_lines(file: Iterable[bytes], name: str) -> Iterator[str]:
    """The lines of an open file called `name`, without line ends. Raises DataError that names the first bad byte."""
    offset = 0
    readline = getattr(file, "readline", None)
    lines = iter(partial(readline, LONGEST_LINE + 3), b"") if readline else file
    for number, line in enumerate(lines, 1):
        if len(line) > LONGEST_LINE and len(line.rstrip(b"\r\n")) > LONGEST_LINE:
            cause = f"the line has more than {LONGEST_LINE >> 20} MiB"
            raise DataError(f"{name}:{number}: {cause}; is it text? Divide it into lines of a sentence or a paragraph")
        try:
            text = line.decode("utf-8")
        except UnicodeDecodeError as error:
            raise DataError(
                f"{name}:{number}: not UTF-8 at byte {offset + error.start} of the text "
                f"(0x{line[error.start]:02x}); convert the file to UTF-8, with iconv for example"
            ) from None
        offset += len(line)
        if number == 1:
            text = text.removeprefix("\ufeff")
        yield text.removesuffix("\n").removesuffix("\r")


def compressed_writer(file: IO[bytes], name: str, stack: ExitStack) -> IO[bytes]:
    """`file`, or a writer that compresses into it as the ending of `name` asks; `stack` closes the writer."""
    if name.endswith(".gz"):  # without date and name in it, so that the same text gives the same bytes
        return cast("IO[bytes]", stack.enter_context(gzip.GzipFile("", "wb", fileobj=file, mtime=0)))
    return cast("IO[bytes]", stack.enter_context(zstd.ZstdFile(file, "w"))) if name.endswith(".zst") else file


def decompressed(path: Path, file: IO[bytes]) -> IO[bytes]:
    """The content of the open `file`, decompressed as the ending of `path` asks."""
    if path.suffix == ".gz":
        return cast("IO[bytes]", gzip.GzipFile("", "rb", fileobj=file))
    return cast("IO[bytes]", zstd.ZstdFile(file)) if path.suffix == ".zst" else file


def _read_two(corpus: CorpusConfig) -> Iterator[Pair]:
    assert corpus.target is not None
    with closing(read_lines(corpus.source)) as sources, closing(read_lines(corpus.target)) as targets:
        for line, (source, target) in enumerate(zip_longest(sources, targets), 1):
            if source is None or target is None:
                raise DataError(describe_unequal(corpus))
            yield Pair(source, target, line)


def _read_single(corpus: CorpusConfig) -> Iterator[Pair]:
    for number, line in enumerate(read_lines(corpus.source), 1):
        try:
            source, target = sides_of(line, corpus)
        except ValueError as error:
            raise DataError(f"{corpus.source}:{number}: {error}") from None
        yield Pair(source, target, number)


def sides_of(line: str, corpus: CorpusConfig) -> tuple[str, str]:
    """Source and target of a line of a `.tsv` or `.jsonl` file. Raises ValueError: what is wrong, and what to do."""
    if corpus.single_file == "tsv":
        columns = line.split("\t")
        if len(columns) != 2:
            raise ValueError(f"{counted(len(columns), 'column')}; a line is source, one tab, target")
        return columns[0], columns[1]
    try:
        record = parse_json(line, finite=False)  # other fields may hold anything
    except ValueError as error:
        raise ValueError(f"{error}; write one object per line") from None
    source, target = (_side_of(record, field, corpus.fields) for field in corpus.fields)
    return source, target


def _side_of(record: object, field: str, fields: tuple[str, str]) -> str:
    side = record.get(field) if isinstance(record, dict) else None
    if not isinstance(side, str):
        both = f'"{fields[0]}" and "{fields[1]}", the `fields` of a corpus'
        raise ValueError(f'no text under "{field}"; each line has one under {both}')
    if not is_text(side):
        raise ValueError(f'an unpaired surrogate (invalid Unicode) under "{field}"; fix the encoding')
    if "\n" in side or "\r" in side:  # it would become two lines in a text file, as `data split` writes
        raise ValueError(f'a line break under "{field}"; put a space there, or make two pairs')
    return side


def _refuse_empty(pair: Pair, corpus: CorpusConfig) -> None:
    for side, path, other in (
        (pair.source, corpus.source, corpus.target),
        (pair.target, corpus.target or corpus.source, corpus.source),
    ):
        if not normalise(side):
            partner = f"the same line of {other.name}" if other and other != path else "the other side"
            raise DataError(
                f"{path}:{pair.line}: empty line; each line must translate {partner}: fill it or remove the pair"
            )


def describe_unequal(corpus: CorpusConfig) -> str:
    """What is known about two files of unequal numbers of lines: the line from which they diverge only if it shows.

    Raises DataError for a file whose first line is not text.
    """
    for path in corpus.files:
        _check_first_line(path)
    source_path, target_path = corpus.files
    source, target = (_line_lengths(path) for path in corpus.files)
    counts = f"{source_path}: {counted(len(source), 'line')}, but {target_path}: {len(target):,}; "
    shorter, longer = sorted((source, target), key=len)
    if not len(shorter):
        return counts + "one file is empty"
    if not any(longer[len(shorter) :]):
        name = (source_path if len(source) > len(target) else target_path).name
        return f"{counts}the last lines of {name}, from {len(shorter) + 1:,} on, are empty: remove them"
    line = first_suspicious_line(source, target)
    # How surely the files correspond line by line before this line, and how surely they do not from there on.
    gains = [moved - straight for straight, moved in zip(*_misfits(shorter, longer), strict=True)]
    before, after = _t(gains[: line - 1]), _t([-gain for gain in gains[line - 1 :]])
    if after > SURE:
        return counts + f"the files appear to diverge near line {line:,}: look there for a line that one side lacks"
    if before > SURE:
        name = (source_path if len(source) < len(target) else target_path).name
        known = f"they correspond up to about line {line - 1:,}"
        return f"{counts}{known}: the end of {name} is missing, or a line near it"
    return counts + "where they diverge cannot be seen from the lengths of the lines"


def _check_first_line(path: Path) -> None:
    """Raise DataError if a file begins with another encoding, or with a compression that its name does not tell."""
    with path.open("rb") as raw:
        if path.suffix != ".gz" and raw.read(2) == b"\x1f\x8b":
            raise DataError(f"{path}: compressed by gzip; let its name end with .gz")
        raw.seek(0)
        with decompressed(path, raw) as file:
            next(decode_lines(file, str(path)), None)


def _line_lengths(path: Path) -> "array[int]":
    """Characters of each line; bytes that are not UTF-8 count as one each."""
    with path.open("rb") as raw, decompressed(path, raw) as file:
        return array("I", (len(line.decode("utf-8", "replace").rstrip("\r\n")) for line in file))


def _t(values: Sequence[float]) -> float:
    """The mean of an advantage in its standard errors; 0 for too few values."""
    return mean(values) / (pstdev(values) / sqrt(len(values)) + 1e-9) if len(values) >= FEWEST_SURE else 0.0


def first_suspicious_line(source: Sequence[int], target: Sequence[int]) -> int:
    """The line, counted from 1, from which two files of unequal length no longer correspond, by the line lengths.

    Assumes that all missing lines are missing at one point: before it line i pairs with line i, after it with line
    i + (the difference). Returns the point at which the lengths agree best.
    """
    costs = (accumulate(cost, initial=0.0) for cost in _misfits(*sorted((source, target), key=len)))
    gain = [aligned - shifted for aligned, shifted in zip(*costs, strict=True)]  # up to each line
    return 1 + gain.index(min(gain))


def _misfits(shorter: Sequence[int], longer: Sequence[int]) -> tuple[list[float], list[float]]:
    """How badly the length of each line fits that of the same line, and of the one moved by the surplus."""
    shift = len(longer) - len(shorter)
    scale = log((sum(shorter) + 1) / len(shorter)) - log((sum(longer) + 1) / len(longer)) if shorter else 0.0

    def misfit(short: int, long: int) -> float:
        return min(abs(log(short + 1) - log(long + 1) - scale), 2.0)

    return (
        [misfit(*pair) for pair in zip(shorter, longer, strict=False)],
        [misfit(*pair) for pair in zip(shorter, longer[shift:], strict=True)],
    )
