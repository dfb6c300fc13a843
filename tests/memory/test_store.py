"""A translation memory: what is found, what several writers and damaged files do."""

import pickle
import sqlite3
import threading
from pathlib import Path
from typing import Any

import pytest

from dragoman.errors import ConfigError, DataError, DragomanError
from dragoman.memory import Memory, MemoryUnit, contents
from dragoman.memory.keys import similarity, tokens_of


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    """A memory of a few units."""
    made = Memory.open(tmp_path / "m.db", "en", "ko", create=True)
    units = {"Open the file.": "파일을 엽니다.", "Page 1 of 2": "2쪽 중 1쪽", "Close the large window": "큰 창을 닫기"}
    assert made.add(MemoryUnit(*pair, "test") for pair in units.items()) == 3
    return made


def test_an_equal_source_is_found_and_the_newest_translation_counts(memory: Memory) -> None:
    found = memory.find("Open  the file.")
    assert found
    assert (found.score, found.target, found.origin) == (100, "파일을 엽니다.", "test")
    assert memory.find("open the file.") is None
    assert memory.add([MemoryUnit("Open the file.", "파일 열기")]) == 1
    assert memory.find("Open the file.").target == "파일 열기"  # type: ignore[union-attr]
    assert memory.add([MemoryUnit("Open the file.", "파일을 엽니다.")]) == 0  # known, and newer now
    assert memory.find("Open the file.").target == "파일을 엽니다."  # type: ignore[union-attr]
    assert len(memory) == 4


def test_a_source_with_other_numbers_is_adapted(memory: Memory) -> None:
    found = memory.find("Page 3 of 40")
    assert found
    assert (found.score, found.target, found.source) == (99, "40쪽 중 3쪽", "Page 1 of 2")


def test_similar_sources_are_those_that_a_scan_of_all_finds(memory: Memory) -> None:
    sentences = [
        f"{verb} the {size} {noun}" for verb in ("Open", "Shut") for size in ("big", "tiny") for noun in "ABCDEF"
    ]
    memory.add(MemoryUnit(sentence, sentence.upper()) for sentence in sentences)
    for text in ("Close the large windows", "Open the big X", "Shut the tiny, tiny A"):
        every = {unit.source: similarity(tokens_of(text), tokens_of(unit.source)) for unit in memory.units()}
        expected = sorted((int(100 * value) for value in every.values() if value >= 0.6), reverse=True)[:3]
        assert [match.score for match in memory.similar(text, 60)] == expected
        assert all(int(100 * every[match.source]) == match.score for match in memory.similar(text, 60))
    assert memory.similar("ab") == memory.similar("") == memory.similar('"-" OR *') == []


def test_an_equal_source_is_not_similar(memory: Memory) -> None:
    assert [match.source for match in memory.similar("Open the file.", 1)] != ["Open the file."]


def test_languages_are_kept_apart(tmp_path: Path, memory: Memory) -> None:
    other = Memory.open(tmp_path / "m.db", "en-US", "de", create=True)
    assert other.find("Open the file.") is None
    assert other.add([MemoryUnit("Open the file.", "Datei öffnen")]) == 1
    assert [(one.source, one.target, one.units) for one in contents(tmp_path / "m.db")] == [
        ("en", "ko", 3),
        ("en", "de", 1),
    ]
    assert [unit.target for unit in other.units()] == ["Datei öffnen"]


def test_an_error_within_a_call_adds_nothing(memory: Memory) -> None:
    def units() -> object:
        yield MemoryUnit("one", "하나")
        raise DataError("a.tsv:2: bad")

    with pytest.raises(DataError):
        memory.add(units())  # type: ignore[arg-type]
    assert memory.find("one") is None
    assert memory.add([MemoryUnit("one", "하나"), MemoryUnit(" ", "x"), MemoryUnit("x", "\n")]) == 1


def test_writers_take_turns(tmp_path: Path, memory: Memory) -> None:
    def write(number: int) -> None:
        own = Memory.open(tmp_path / "m.db", "en", "ko")
        for each in range(20):
            own.add([MemoryUnit(f"text {'abcd'[number]} {'x' * each}", "글")])

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(memory) == 3 + 80


@pytest.mark.parametrize("content", [b"not a database, " * 99, b""])
def test_what_is_no_memory_is_named(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.db"
    path.write_bytes(content)
    with pytest.raises(DataError, match=f"^{path}: .*give one of `dragoman memory add`"):
        Memory.open(path, "en", "ko")
    assert path.read_bytes() == content


def test_a_foreign_database_and_a_later_schema_are_refused(tmp_path: Path, memory: Memory) -> None:
    with sqlite3.connect(tmp_path / "foreign.db") as database:
        database.execute("create table t (a)")
    with pytest.raises(DataError, match="a database, but no translation memory"):
        Memory.open(tmp_path / "foreign.db", "en", "ko")
    with sqlite3.connect(tmp_path / "m.db") as database:
        database.execute("update facts set value = 'dragoman.memory/2'")
    with pytest.raises(DataError, match=r"schema dragoman\.memory/2, this version reads dragoman\.memory/1; update"):
        Memory.open(tmp_path / "m.db", "en", "ko")


def test_a_missing_file_and_a_missing_folder_are_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"m\.db: no such file; `dragoman memory add"):
        Memory.open(tmp_path / "m.db", "en", "ko")
    with pytest.raises(DragomanError, match=r"none/m\.db: unable to open database file; check the disk"):
        Memory.open(tmp_path / "none/m.db", "en", "ko", create=True)
    assert not list(tmp_path.iterdir())


def test_a_temporary_memory_leaves_no_file(tmp_path: Path) -> None:
    made = Memory.temporary(tmp_path / "a.tmx", "en", "ko")
    made.add([MemoryUnit("one", "하나")])
    assert made.find("one").target == "하나"  # type: ignore[union-attr]
    made.close()
    assert not list(tmp_path.iterdir())


def test_an_equal_source_comes_before_one_with_other_numbers(memory: Memory) -> None:
    memory.add([MemoryUnit("Page 5 of 6", "다섯 쪽")])
    memory.add([MemoryUnit("Page 7 of 8", "8쪽 중 7쪽")])
    assert memory.find("Page 5 of 6").target == "다섯 쪽"  # type: ignore[union-attr]
    assert memory.find("Page 3 of 4").target == "4쪽 중 3쪽"  # type: ignore[union-attr]
    assert memory.find("Page three") is None


def test_an_earlier_schema_is_refused(tmp_path: Path, memory: Memory) -> None:
    with sqlite3.connect(tmp_path / "m.db") as database:
        database.execute("update facts set value = 'dragoman.memory/0'")
    with pytest.raises(
        DataError, match=r"schema dragoman\.memory/0, .*; export it as \.tmx with the version that made"
    ):
        Memory.open(tmp_path / "m.db", "en", "ko")


def test_a_locked_memory_is_named_and_still_read(
    tmp_path: Path, memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dragoman.memory.store.BUSY_SECONDS", 0.05)
    waiting = Memory.open(tmp_path / "m.db", "en", "ko")
    with sqlite3.connect(tmp_path / "m.db", isolation_level=None) as writer:
        writer.execute("begin immediate")
        with pytest.raises(ConfigError, match=r"m\.db: another process is writing it; wait for it"):
            waiting.add([MemoryUnit("one", "하나")])
        assert waiting.find("Open the file.")
        writer.execute("rollback")
    assert waiting.add([MemoryUnit("one", "하나")]) == 1


def test_a_full_disk_adds_nothing(memory: Memory) -> None:
    pages = memory._database.execute("pragma page_count").fetchone()[0]
    memory._database.execute(f"pragma max_page_count = {pages}")
    with pytest.raises(DragomanError, match=r"m\.db: no space is left on the disk, nothing was added"):
        memory.add(MemoryUnit(f"text {number} {'x' * 500}", "글") for number in range(200))
    assert [unit.source for unit in memory.units()] == ["Open the file.", "Page 1 of 2", "Close the large window"]
    assert memory.similar("Close the large windows", 60)


def test_a_memory_that_may_not_be_written_is_read(memory: Memory) -> None:
    memory._database.execute("pragma query_only = on")
    with pytest.raises(DragomanError, match=r"m\.db: may not be written; check the rights"):
        memory.add([MemoryUnit("one", "하나")])
    assert memory.find("Open the file.")


def test_a_file_is_opened_again_in_another_process_and_a_temporary_memory_is_not(tmp_path: Path) -> None:
    with_file = Memory.open(tmp_path / "m.db", "en", "ko", create=True)
    with_file.add([MemoryUnit("The server is down.", "서버가 멈췄습니다.")])
    again = pickle.loads(pickle.dumps(with_file))
    assert again.find("The server is down.") == with_file.find("The server is down.")
    with pytest.raises(ConfigError, match="memory is in this process alone"):
        pickle.dumps(Memory.temporary(tmp_path / "m.tsv", "en", "ko"))
    with_file.close()
    with pytest.raises(ConfigError, match="the memory was closed"):
        with_file.find("a")


@pytest.mark.parametrize("text", ["\ud800", None, b"a"])
def test_what_is_no_text_is_named(memory: Memory, text: Any) -> None:
    with pytest.raises(DataError, match="not text, or with an unpaired surrogate"):
        memory.find(text)


def test_units_cannot_be_read_from_a_memory_while_it_takes_them(memory: Memory) -> None:
    with pytest.raises(ConfigError, match="units are added to it, so it cannot be read; give `add` a list"):
        memory.add(MemoryUnit(unit.source, f"{unit.target}!") for unit in memory.units())
    assert len(memory) == 3
    assert memory.add([MemoryUnit(unit.source, f"{unit.target}!") for unit in memory.units()]) == 3


def test_units_come_in_an_order_in_which_the_newest_translation_counts_again(tmp_path: Path, memory: Memory) -> None:
    memory.add([MemoryUnit("Open the file.", "파일 열기")])
    memory.add([MemoryUnit("Open the file.", "파일을 엽니다.")])  # the first one again
    memory.add(MemoryUnit(f"Word {number} x", f"낱말 {number}") for number in range(1100))
    units = list(memory.units())
    assert len(units) == len(memory)
    copy = Memory.open(tmp_path / "copy.db", "en", "ko", create=True)
    copy.add(units)
    assert copy.find("Open the file.") == memory.find("Open the file.")
