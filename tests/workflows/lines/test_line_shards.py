"""Shards of a file: whole windows, the very lines of the file, and a beginning where a translation resumes."""

import gzip
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from dragoman.data.corpus.corpus import read_lines
from dragoman.errors import DataError
from dragoman.text.words.lines import WindowSize
from dragoman.workflows.lines import shards as line_shards
from dragoman.workflows.lines.requests import LineRequest
from dragoman.workflows.lines.shards import FIRST_WINDOW, ShardReader, cut, windows
from suites import covering

# With a byte order mark, one in the middle, an empty line, and what ends no line.
TEXT = "\ufeff" + "".join(f"줄 {n}\r\n\n\ufeffa\rb\u2028c\x0b{'x' * (n % 7)}\n" for n in range(1500)) + "no end"
SIZE = WindowSize(first=FIRST_WINDOW)


def requests(lines: Iterable[str], first: int = 1) -> Iterator[LineRequest]:
    return (LineRequest(line, line=line) for line in lines)


def write(folder: Path, packed: bool) -> Path:
    path = folder / ("text.gz" if packed else "text")
    path.write_bytes(gzip.compress(TEXT.encode()) if packed else TEXT.encode())
    return path


@pytest.mark.parametrize(("size", "packed"), covering([1, 100, 1024, 10**6, None], [False, True]))
def test_shards_have_the_windows_of_the_undivided_file(tmp_path: Path, size: int | None, packed: bool) -> None:
    path = write(tmp_path, packed)
    whole = [[one.text for one in window] for window in windows(requests(read_lines(path)), SIZE)]
    reader, found, first = ShardReader(path), [], 1
    for shard in cut(path, requests, SIZE, size):
        lines, _ = reader.read(shard)
        assert (shard.first, shard.lines) == (first, len(lines))
        first += shard.lines
        of_shard = windows(requests(lines), replace(SIZE, first=shard.window))
        found += [[one.text for one in window] for window in of_shard]
    assert found == whole
    reader.close()


@pytest.mark.parametrize("packed", [False, True])
def test_a_shard_is_the_same_whatever_was_read_before(tmp_path: Path, packed: bool) -> None:
    path = write(tmp_path, packed)
    shards, reader = cut(path, requests, SIZE, 500), ShardReader(path)
    inorder = [reader.read(shard) for shard in shards]
    assert [reader.read(shard) for shard in reversed(shards)] == inorder[::-1]
    reader.close()


def test_a_shard_ends_where_an_interrupted_translation_did(tmp_path: Path) -> None:
    path = write(tmp_path, packed=False)
    ends = [0]
    for window in windows(requests(read_lines(path)), SIZE):
        ends.append(ends[-1] + len(window))
    for done in [*ends, 175, ends[-1] - 1]:  # the last two within a window
        shards = cut(path, requests, SIZE, 2000, done)
        assert done in (0, *(shard.first + shard.lines - 1 for shard in shards))
        assert sum(shard.lines for shard in shards) == ends[-1]


def test_many_lines_make_few_shards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line_shards, "SHARD_LINES", 64)
    monkeypatch.setattr(line_shards, "MOST_SHARDS", 3)
    path = write(tmp_path, packed=False)
    shards = cut(path, requests, replace(SIZE, lines=64), None, done=16 + 32 + 64)
    assert len(shards) <= 5
    assert 16 + 32 + 64 in [shard.first + shard.lines - 1 for shard in shards]
    assert shards[-1].first + shards[-1].lines - 1 == sum(1 for _ in read_lines(path))
    assert [shard.end for shard in shards][:-1] == [shard.start for shard in shards][1:]


def test_damage_is_named(tmp_path: Path) -> None:
    path = write(tmp_path, packed=True)
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(DataError, match=r"text\.gz: cannot be read"):
        cut(path, requests, SIZE)
