"""`translate -o FILE`: what exists is kept, what was interrupted is continued exactly; JSON lines with options."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from dragoman.cli.main import main
from dragoman.errors import ConfigError, DragomanError
from dragoman.translator import Translator
from dragoman.workflows.lines.partial_output import partial_output
from suites import cases

WORDS = [f"the {colour} {animal}" for colour in ("red", "blue", "big") for animal in ("dog", "cat", "bird")]
LINES = [f"{a} sees {b}" for a in WORDS for b in WORDS] * 40


def write(path: Path, lines: Sequence[str] = LINES) -> Path:
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return path


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def stop(command: list[str], partial: Path, number: int) -> tuple[int, str]:
    """Start the command, send it a signal once it has saved something; its exit code and stderr."""
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    record = partial.with_name(partial.name + ".json")
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and not (record.exists() and record.read_bytes().count(b"\n") > 3):
        time.sleep(0.001)
    process.send_signal(number)
    _, err = process.communicate()
    return process.returncode, err


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_an_interrupted_translation_is_continued_to_the_same_bytes(
    dragoman: Any, model: Path, tmp_path: Path, number: int
) -> None:
    source, out = write(tmp_path / "in"), tmp_path / "out"
    assert dragoman("translate", "-m", model, "-i", source, "-o", tmp_path / "whole").code == 0
    command = ["translate", "-m", str(model), "-i", str(source), "-o", str(out)]
    code, err = stop([sys.executable, "-m", "dragoman", *command], tmp_path / "out.partial", number)
    assert names(tmp_path) == ["in", "out.partial", "out.partial.json", "whole"]
    saved = json.loads((tmp_path / "out.partial.json").read_text().splitlines()[-1])["lines"]
    if number == signal.SIGKILL:
        assert code == -signal.SIGKILL
    else:
        assert code == 130
        assert err.splitlines()[-1] == f"dragoman: stopped at line {saved:,}, saved; continue with --resume"
    assert f"an interrupted translation has {saved:,} lines in out.partial" in dragoman(*command).refused(2)
    resumed = dragoman(*command, "--resume")
    assert resumed.err.splitlines()[0] == f"continuing at line {saved + 1:,}"
    assert resumed.code == 0
    assert out.read_bytes() == (tmp_path / "whole").read_bytes()
    assert names(tmp_path) == ["in", "out", "whole"]


@pytest.fixture
def interrupted(dragoman: Any, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The command of a translation that was interrupted after 112 lines."""
    calls, translate = 0, Translator.translate

    def stops(*arguments: Any, **keys: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls > 3:
            raise KeyboardInterrupt
        return translate(*arguments, **keys)

    command = ["translate", "-m", model, "-i", write(tmp_path / "in"), "-o", tmp_path / "out"]
    with monkeypatch.context() as patch:
        patch.setattr(Translator, "translate", stops)
        assert dragoman(*command).refused(130) == "stopped at line 112, saved; continue with --resume"
    return command


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (["--beam", "1"], "was started with another decode.beam; give"),
        (["--engine", "torch"], "was started with another engine, device or precision; give"),
        (["--target-prefix", "der"], "was started with another target prefix; give"),
        (["--json"], "was started with another format; give"),
    ],
)
def test_nothing_is_mixed_with_other_options(
    dragoman: Any, interrupted: list[object], tmp_path: Path, change: list[str], complaint: str
) -> None:
    before = (tmp_path / "out.partial").read_bytes()
    assert dragoman(*interrupted, "--resume", *change).refused(2).startswith(f"{tmp_path}/out.partial: {complaint}")
    assert (tmp_path / "out.partial").read_bytes() == before


@pytest.mark.parametrize("lines", cases([["the dog", *LINES[1:]], LINES[:100], []], quick=[[]]))
def test_nothing_is_mixed_with_another_input(
    dragoman: Any, interrupted: list[object], tmp_path: Path, lines: list[str]
) -> None:
    write(tmp_path / "in", lines)
    assert "the first 112 lines of the input are not those it was made from" in dragoman(
        *interrupted, "--resume"
    ).refused(2)
    assert names(tmp_path) == ["in", "out.partial", "out.partial.json"]
    assert dragoman(*interrupted, "--force").code == 0
    assert len((tmp_path / "out").read_text().splitlines()) == len(lines)
    assert names(tmp_path) == ["in", "out"]


@pytest.mark.slow
def test_damage_and_torn_writes_of_what_is_kept(dragoman: Any, interrupted: list[object], tmp_path: Path) -> None:
    partial, record = tmp_path / "out.partial", tmp_path / "out.partial.json"
    whole = partial.read_bytes()
    partial.write_bytes(whole + b"der hu")  # killed while it wrote the next part
    with record.open("ab") as file:
        file.write(b'{"lines": 24')
    assert dragoman(*interrupted, "--resume").code == 0
    assert (tmp_path / "out").read_bytes().startswith(whole)
    assert len((tmp_path / "out").read_text().splitlines()) == len(LINES)


@pytest.mark.slow
@pytest.mark.parametrize("damage", [lambda b: b[:-1], lambda b: b"X" + b[1:], lambda b: b""])
def test_a_damaged_partial_file_is_named(dragoman: Any, interrupted: list[object], tmp_path: Path, damage: Any) -> None:
    partial = tmp_path / "out.partial"
    partial.write_bytes(damage(partial.read_bytes()))
    result = dragoman(*interrupted, "--resume")
    if partial.exists():
        assert result.refused(3).startswith(f"{partial}: is damaged (its SHA-256 differs from the record)")
    else:  # nothing was left of it: all lines again
        assert len((tmp_path / "out").read_text().splitlines()) == len(LINES)


def test_two_processes_do_not_write_one_output(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with partial_output(out, {}) as first:
        first.write(["a"], "b\n")
        with pytest.raises(ConfigError, match="another process is writing it"), partial_output(out, {}, force=True):
            pytest.fail("two at once")
        first.write(["c"], "d\n")
    assert out.read_text() == "b\nd\n"
    assert names(tmp_path) == ["out"]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "out")
    with partial_output(tmp_path / "link", {}) as output:
        output.write(["a"], "b\n")
        assert names(tmp_path) == ["link", "out.partial", "out.partial.json"]
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "out").read_text() == "b\n"
    (tmp_path / "x.partial").symlink_to(tmp_path / "out")  # planted by another user
    with pytest.raises(DragomanError), partial_output(tmp_path / "x", {}, force=True):
        pass
    assert (tmp_path / "out").read_text() == "b\n"


def test_an_output_that_exists_is_refused_without_force(dragoman: Any, model: Path, tmp_path: Path) -> None:
    (tmp_path / "out").write_text("mine")
    command = ["translate", "-m", model, "the dog", "-o", tmp_path / "out"]
    for flags in ([], ["--resume"]):
        assert dragoman(*command, *flags).refused(2) == f"{tmp_path}/out: already exists; --force replaces it"
    assert (tmp_path / "out").read_text() == "mine"
    assert dragoman(*command, "--force").code == 0
    assert (tmp_path / "out").read_text() != "mine"


def test_an_input_is_never_replaced(dragoman: Any, model: Path, tmp_path: Path) -> None:
    source = write(tmp_path / "in", ["the dog"])
    (tmp_path / "link").symlink_to(source)
    os.link(source, tmp_path / "hard")
    for name in ("in", "link", "hard"):
        assert "is read too" in dragoman(
            "translate", "-m", model, "-i", source, "-o", tmp_path / name, "--force"
        ).refused(2)
    assert source.read_text() == "the dog\n"
    terms = write(tmp_path / "terms.tsv", ["dog\tHund"])
    command = ("translate", "-m", model, "-i", source, "--glossary", terms, "-o", terms, "--force")
    assert "is read too" in dragoman(*command).refused(2)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/stdin").exists(), reason="no /dev/stdin")
def test_a_file_that_is_stdin_is_never_replaced(model: Path, tmp_path: Path) -> None:
    source = write(tmp_path / "in", ["the dog"])
    command = [sys.executable, "-m", "dragoman", "translate", "-m", str(model), "-o", str(source), "--force"]
    with source.open("rb") as stdin:
        done = subprocess.run(command, stdin=stdin, capture_output=True, text=True, encoding="utf-8", check=False)
    assert done.returncode == 2
    assert "is read too" in done.stderr
    assert source.read_text() == "the dog\n"


@pytest.mark.parametrize("flag", ["--resume", "--force"])
def test_flags_of_a_file_are_refused_where_there_is_none(dragoman: Any, model: Path, flag: str) -> None:
    for output in ([], ["-o", "-"], ["-o", "/dev/null"]):
        assert (
            dragoman("translate", "-m", model, "a", flag, *output).refused(2).startswith(f"{flag}: has no effect on ")
        )


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device of Linux")
def test_a_device_is_named_and_stdout_has_many_names(
    dragoman: Any, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    complaint = dragoman("translate", "-m", model, "dog", "-o", "/dev/full").refused(1)
    assert complaint.startswith("/dev/full: cannot be written: No space left on device")
    ours = os.dup(1)
    for name in ("/dev/stdout", str(tmp_path / "to")):
        with (tmp_path / "to").open("w") as to, monkeypatch.context() as patch:
            os.dup2(to.fileno(), 1)
            patch.setattr(sys, "stdout", open(1, "w", closefd=False))  # noqa: SIM115
            try:
                assert main(["translate", "-m", "en-ko", "dog", "-o", name]) == 0
            finally:
                os.dup2(ours, 1)
        assert (tmp_path / "to").read_text() == dragoman("translate", "-m", "en-ko", "dog").out
        assert names(tmp_path) == ["to"]
    os.close(ours)


def test_speed_is_shown_where_the_number_of_lines_is_unknown(
    dragoman: Any, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dragoman.cli.shared.progress.LINE_EVERY", 0.0)
    result = dragoman("translate", "-m", model, "-o", tmp_path / "out", stdin="the dog\n" * 70)
    *lines, last = result.err.splitlines()
    assert any(re.fullmatch(r"translating: 48 lines  [\d,]+ lines/s", line) for line in lines)
    assert re.fullmatch(r"70 lines in [\d.]+ s, [\d,]+ lines/s", last)


# --- JSON lines --------------------------------------------------------------------------------------------------


def test_json_lines_have_options_of_their_own(dragoman: Any, model: Path, tmp_path: Path) -> None:
    records: list[dict[str, Any]] = [
        {"text": "the red dog", "id": 7},
        {"text": "the red dog", "n_best": 3, "id": {"page": 1}},
        {"text": ""},
        {"text": "the red dog", "target_prefix": "ein"},
        {"text": "the red dog", "glossary": {"dog": ["kater", "vogel"]}, "id": None},
    ]
    source = tmp_path / "in.jsonl"
    source.write_text("".join(json.dumps(record) + "\n" for record in records))
    result = dragoman("translate", "-m", model, "-i", source)
    assert result.code == 0, result.err
    found = [json.loads(line) for line in result.out.splitlines()]
    assert [record["line"] for record in found] == [1, 2, 3, 4, 5]
    assert [record.get("id", "none") for record in found] == [7, {"page": 1}, "none", "none", None]
    assert [len(record["translations"]) for record in found] == [1, 3, 1, 1, 1]
    plain, prefixed = (
        dragoman("translate", "-m", model, "the red dog", *more).out[:-1] for more in ([], ["--target-prefix", "ein"])
    )
    best = [record["translations"][0]["text"] for record in found]
    assert best[:4] == [plain, plain, "", prefixed]
    assert found[4]["terms"][0]["source"] == "dog"
    piped = dragoman("translate", "-m", model, "--jsonl", stdin=source.read_bytes())
    assert piped.out == result.out


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("{", "not JSON: expecting property name enclosed in double quotes; write one object per line"),
        ("", "not JSON: expecting value; write one object per line"),
        ("[" * 100_000, "not JSON: its brackets are nested too deeply; "),
        ('"a"', 'a value of type str; write an object, as in {"text": "…"}'),
        ("{}", '"text": missing; give a string'),
        ('{"text": null}', '"text": None; give a string'),
        ('{"text": 5}', '"text": a value of type int; give a string'),
        ('{"text": "\\ud800"}', '"text": an unpaired surrogate (invalid Unicode); fix the encoding'),
        ('{"text": "a", "id": ["\\ud800"]}', '"id": an unpaired surrogate (invalid Unicode); fix the encoding'),
        ('{"text": "a", "baem": 2}', '"baem": unknown key; did you mean beam?'),
        ('{"text": "a", "beam": 0}', "decode.beam: input should be greater than 0, not 0"),
        ('{"text": "a", "beam": 1, "n_best": 2}', "decode.n_best: 2 is more than beam = 1; widen the beam"),
        ('{"text": "a", "target_prefix": 1}', '"target_prefix": a value of type int; give a string'),
        ('{"text": "a", "glossary": ["a"]}', '"glossary": a value of type list; give an object'),
        ('{"text": "a", "glossary": {"a": ""}}', "glossary:1: empty translation of 'a'"),
        ('{"text": "a", "glossary": {"a": "b"}, "target_prefix": "c"}', "target_prefix and a glossary cannot"),
    ],
)
def test_a_bad_line_of_json_is_named_before_work_begins(
    dragoman: Any, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, complaint: str
) -> None:
    (tmp_path / "in.jsonl").write_text('{"text": "the dog"}\n' * 30 + line + "\n")
    with monkeypatch.context() as patch:
        patch.setattr(Translator, "translate", lambda *_, **__: pytest.fail("work began"))
        refusal = dragoman("translate", "-m", model, "-i", tmp_path / "in.jsonl", "-o", tmp_path / "out").refused(3)
    assert refusal.startswith(f"{tmp_path}/in.jsonl:31: {complaint}")
    assert names(tmp_path) == ["in.jsonl"]
    assert f"give -i {tmp_path}/in.jsonl" in dragoman("translate", "-m", model, tmp_path / "in.jsonl").refused(2)
    piped = dragoman("translate", "-m", model, "--jsonl", stdin=(tmp_path / "in.jsonl").read_bytes())
    assert piped.code == 3
    assert piped.err.startswith(f"dragoman: stdin:31: {complaint}")
    assert [json.loads(record)["line"] for record in piped.out.splitlines()] == list(range(1, 17))  # before it
