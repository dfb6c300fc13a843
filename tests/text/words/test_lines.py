"""Lists of lines to be translated together: how many lines, how many characters, and how long they are awaited."""

from collections.abc import Iterable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from dragoman.engine.resources import GPU_WINDOW
from dragoman.text.words import lines as text_lines
from dragoman.text.words.lines import WindowSize, chunks_of


def sizes(lines: Iterable[str], size: WindowSize, **options: Any) -> list[int]:
    return [len(chunk) for chunk in chunks_of(lines, size, **options)]


def test_lists_become_twice_as_long_up_to_their_size() -> None:
    assert sizes(["a"] * 3000, WindowSize()) == [1024, 1024, 952]
    assert sizes(["a"] * 3000, WindowSize(first=16)) == [16, 32, 64, 128, 256, 512, 1024, 968]
    assert sizes(["a"] * 12, WindowSize(5, first=100)) == [5, 5, 2]
    doubled = [1024, 2048, 4096, 8192, 16_384, 32_768, 32_768, 2720]
    assert sizes(["a"] * 100_000, GPU_WINDOW) == doubled


def test_long_lines_are_fewer() -> None:
    assert sizes(["aaaa"] * 5, WindowSize(characters=10)) == [3, 2]
    long = ["a" * (1 << 16)] * 150
    assert sizes(long, WindowSize()) == [16] * 9 + [6]
    assert sizes(long, GPU_WINDOW) == [128, 22]


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Lines each of which takes 0.4 seconds."""
    now = 0.0
    monkeypatch.setattr(text_lines, "time", SimpleNamespace(monotonic=lambda: now))

    def lines() -> Iterator[str]:
        nonlocal now
        for _ in range(7):
            now += 0.4
            yield "a"

    return lines()


def test_lines_that_come_one_after_the_other_are_gathered_for_a_second(slow: Iterator[str]) -> None:
    assert sizes(slow, GPU_WINDOW, waits=lambda: False) == [4, 3]


def test_the_lines_of_a_file_are_never_divided_by_time(slow: Iterator[str]) -> None:
    """Otherwise an interrupted translation would not be resumed in the windows in which it began."""
    assert sizes(slow, GPU_WINDOW) == [7]


def test_on_a_processor_lines_are_gathered_as_long_as_they_come(slow: Iterator[str]) -> None:
    assert sizes(slow, WindowSize(), waits=lambda: False) == [7]
