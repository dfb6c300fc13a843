"""Lines of a pipe: read as they come, and known to have come or not."""

import os
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from dragoman.system import pipe as pipe_module
from dragoman.system.pipe import PipeLines, pipe_lines


@pytest.fixture
def ends():
    reading, writing = os.pipe()
    yield reading, writing
    for end in (reading, writing):
        with suppress(OSError):
            os.close(end)


def test_lines_come_one_by_one_with_their_ends(ends):
    reading, writing = ends
    lines = PipeLines(reading)
    os.write(writing, b"a\nb\r\n\xed\x95\x9c\nhal")
    assert [next(lines) for _ in range(3)] == [b"a\n", b"b\r\n", "한\n".encode()]
    assert lines.waits()  # half a line is none
    os.write(writing, b"f\nlast")
    assert not lines.waits()
    assert next(lines) == b"half\n"
    os.close(writing)
    assert not lines.waits()  # the end has come
    assert list(lines) == [b"last"]
    assert list(lines) == []


def test_a_large_text_is_whole(ends):
    reading, writing = ends
    text = b"".join(b"%d %s\n" % (number, b"x" * (number % 700)) for number in range(3000))

    def write() -> None:
        for begin in range(0, len(text), 999):
            os.write(writing, text[begin : begin + 999])
        os.close(writing)

    thread = threading.Thread(target=write)
    thread.start()
    assert b"".join(PipeLines(reading)) == text
    thread.join()


def test_who_writes_without_a_pause_is_not_waited_for(ends, monkeypatch):
    monkeypatch.setattr(pipe_module, "PAUSE", 30.0)
    reading, writing = ends
    lines = PipeLines(reading)
    os.write(writing, b"a\n")
    next(lines)
    timer = threading.Timer(0.05, lambda: os.write(writing, b"b\n"))
    timer.start()
    assert not lines.waits()
    timer.join()


def test_a_file_is_no_pipe(tmp_path: Path, ends):
    with (tmp_path / "a").open("w+b") as file:
        assert pipe_lines(file) is None
    with os.fdopen(os.dup(ends[0]), "rb") as file:
        assert pipe_lines(file) is not None
    assert pipe_lines(object()) is None


def test_a_line_in_many_pieces_is_copied_once_and_one_without_end_is_cut(ends, monkeypatch):
    """Each piece is searched for a line end, and not all that has come before it."""
    reading, writing = ends
    pieces = [b"a" * 60_000] * 20

    def write() -> None:
        for piece in pieces:
            os.write(writing, piece)
        os.write(writing, b"\nb\nc")
        os.close(writing)

    monkeypatch.setattr("dragoman.system.pipe.LONGEST_LINE", 2_000_000)
    thread = threading.Thread(target=write)
    thread.start()
    assert list(PipeLines(reading)) == [b"".join(pieces) + b"\n", b"b\n", b"c"]
    thread.join()
