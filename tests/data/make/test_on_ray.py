"""Byte ranges of files, which are read under Ray; `test_clean.py` cleans on a local cluster."""

from pathlib import Path

import pytest

from dragoman.data.corpus.corpus import read_lines
from dragoman.data.corpus.pair_block import BLOCK_LINES
from dragoman.data.make import on_ray


@pytest.mark.parametrize("end", ["\n", ""])
@pytest.mark.parametrize("lines", [0, 1, BLOCK_LINES, BLOCK_LINES + 1, 3 * BLOCK_LINES])
def test_byte_ranges_are_the_blocks_of_lines(
    tmp_path: Path, lines: int, end: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(on_ray, "CHUNK", 1000)
    path = tmp_path / "text"
    path.write_bytes(("\n".join(f"줄 {number}" for number in range(lines)) + (end if lines else "")).encode())
    ranges = list(on_ray._ranges_of(path))
    read = [on_ray._read(path, *ends, first=not number) for number, ends in enumerate(ranges)]
    assert [line for block in read for line in block] == list(read_lines(path))
    assert all(len(block) == BLOCK_LINES for block in read[:-1])
