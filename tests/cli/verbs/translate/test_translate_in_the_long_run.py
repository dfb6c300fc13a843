"""`translate` with the input that comes one day: binary, endless, cut off; warned of, never lost."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from dragoman.config import DecodeConfig
from dragoman.decode.hypothesis import Hypothesis
from dragoman.engine import Query
from dragoman.engine.torch import TorchEngine


@pytest.fixture
def parrot(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model that copies its source, and repeats a short one without end."""

    def translate(_: TorchEngine, queries: Sequence[Query], options: DecodeConfig) -> list[list[Hypothesis]]:
        sources = [tuple(query.source) for query in queries]
        return [[Hypothesis(source * (20 if len(source) < 4 else 1), -1.0, -1.0)] for source in sources]

    monkeypatch.setattr(TorchEngine, "translate", translate)


# --- warnings ----------------------------------------------------------------------------------------------------

LINES = ["the red dog sees a small bird", "", "one", "the red dog. " * 40]


@pytest.mark.usefixtures("parrot")
def test_faults_are_reported_by_line_on_stderr_and_no_line_is_lost(dragoman: Any, model: Path) -> None:
    result = dragoman("translate", "-m", model, *LINES)
    assert (result.code, result.out.count("\n")) == (0, 4)
    copied, looping = result.err.splitlines()[:2]
    assert copied.startswith("dragoman: line 1: the source was copied, not translated; ")
    assert looping.startswith("dragoman: line 3: the translation repeats itself; ")
    assert all(line.startswith("dragoman: line ") for line in result.err.splitlines())
    assert "parts" not in result.err


@pytest.mark.usefixtures("parrot")
def test_json_holds_the_warnings_of_each_line(dragoman: Any, model: Path) -> None:
    records = [json.loads(line) for line in dragoman("translate", "-m", model, "--json", *LINES).out.splitlines()]
    kinds = [[warning["kind"] for warning in record["warnings"]] for record in records]
    assert kinds[:3] == [["copy"], [], ["loop"]]
    assert kinds[3][-1] == "segmented"
    assert records[3]["warnings"][-1]["text"] == "translated in 40 parts"


def test_every_few_lines_it_reports_its_progress(dragoman: Any, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dragoman.cli.shared.progress.REPORT_EVERY", 5)
    result = dragoman("translate", "-m", model, stdin="\n" * 12)
    reports = result.err.splitlines()
    assert [report.split(",")[0] for report in reports] == ["5 lines", "10 lines"]
    assert reports[0].endswith(" MB")


# --- bad input ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("binary", [b"\x7fELF\x02\x01\x01\x00\xff\xfe", bytes(range(256)), b"\xff\xfeh\x00i\x00\n\x00"])
def test_what_is_no_text_is_refused_in_a_line(dragoman: Any, model: Path, binary: bytes) -> None:
    assert dragoman("translate", "-m", model, stdin=binary).refused(3).startswith("stdin:")


@pytest.mark.parametrize("text", [b"dog \xed\xb3\xa9\n", b"\xed\xa0\x80"], ids=ascii)
def test_an_unpaired_surrogate_on_stdin_is_refused_in_a_line(dragoman: Any, model: Path, text: bytes) -> None:
    assert dragoman("translate", "-m", model, stdin=text).refused(3).startswith("stdin:1: not UTF-8 at byte")


def test_an_unpaired_surrogate_in_a_long_argument_is_refused_in_a_line(dragoman: Any, model: Path) -> None:
    assert "UTF-8" in dragoman("translate", "-m", model, "the dog. " * 99 + "\udce9").refused(3)


def test_nul_bytes_are_left_out(dragoman: Any, model: Path) -> None:
    clean = dragoman("translate", "-m", model, stdin="the dog\n\n").out
    assert dragoman("translate", "-m", model, stdin="the \0dog\0\n\0\0\n").out == clean


@pytest.mark.slow
@pytest.mark.parametrize("unit", ["x", "the red dog. ", "\u0301", "👩\u200d👧"], ids=ascii)
@pytest.mark.usefixtures("parrot")
def test_a_megabyte_on_a_line_is_a_line(dragoman: Any, model: Path, unit: str) -> None:
    text = unit * (2**20 // len(unit.encode()))
    result = dragoman("translate", "-m", model, stdin=f"one\n{text}\none\n")
    assert (result.code, result.out.count("\n")) == (0, 3)


def test_ten_thousand_empty_lines_are_ten_thousand_empty_lines(dragoman: Any, model: Path) -> None:
    result = dragoman("translate", "-m", model, stdin="\n" * 10_000)
    assert (result.code, result.out, result.err) == (0, "\n" * 10_000, "")


def test_emoji_and_marks_are_a_line_each(dragoman: Any, model: Path) -> None:
    result = dragoman("translate", "-m", model, stdin="👩\u200d👩\u200d👧\ne\u0301\u0323\n\u0301\n🇰🇷\n\u202edog\n")
    assert (result.code, result.out.count("\n")) == (0, 5)


@pytest.mark.parametrize("flag", ["--beam", "--n-best"])
def test_a_beam_of_nothing_is_refused(dragoman: Any, model: Path, flag: str) -> None:
    assert flag in dragoman("translate", "-m", model, "dog", flag, 0).refused(2)


# --- killed ------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_who_is_killed_leaves_whole_lines(dragoman: Any, model: Path, tmp_path: Path) -> None:
    lines = [f"the {colour} {animal}" for colour in ("red", "blue") for animal in ("dog", "cat", "bird")] * 20_000
    (tmp_path / "in").write_text("".join(line + "\n" for line in lines))
    once = dragoman("translate", "-m", model, *lines[:6]).out
    command = [sys.executable, "-m", "dragoman", "translate", "-m", str(model), "-i", str(tmp_path / "in")]
    with (tmp_path / "out").open("wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.DEVNULL, env=os.environ)
        deadline = time.monotonic() + 120
        while (tmp_path / "out").stat().st_size < 2000 and time.monotonic() < deadline:
            time.sleep(0.001)
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
    left = (tmp_path / "out").read_text()
    assert left.endswith("\n")
    assert (once * 20_000).startswith(left)
    assert 2000 <= len(left) < len(once) * 20_000
