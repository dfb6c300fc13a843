"""`dragoman translate FILE…`: a file is a document; exit codes, messages, what is refused."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from dragoman.documents.formats import KINDS

SENTENCES = ["the red dog sees a cat", "the big bird", "a small blue tree and two dog"]


@pytest.fixture
def document(tmp_path: Path) -> Path:
    path = tmp_path / "a.txt"
    path.write_bytes("\r\n\r\n".join(f"  {text}" for text in SENTENCES).encode())
    return path


def names(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_a_file_is_a_document_and_anything_else_is_text(
    dragoman: Any, model: Path, document: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(document.parent)
    lines = dragoman("translate", "-m", model, *SENTENCES).out.splitlines()
    result = dragoman("translate", "-m", model, "a.txt", "-o", "out.txt")
    assert result.code == 0, result.err
    assert result.out == ""
    assert "a.txt → out.txt: 3 texts" in result.err
    written = document.with_name("out.txt").read_bytes().decode()
    assert written == "\r\n\r\n".join(f"  {line}" for line in lines)
    assert dragoman("translate", "-m", model, "the dog.txt").out  # no file of that name
    named = dragoman("translate", "-m", model, "--text", "a.txt")
    assert (named.code, len(named.out.splitlines())) == (0, 1)
    assert "a.de.txt" in dragoman("translate", "-m", model, "a.txt").err
    assert (document.parent / "a.de.txt").read_bytes().decode() == written


def test_documents_and_text_are_not_mixed(dragoman: Any, model: Path, document: Path) -> None:
    result = dragoman("translate", "-m", model, document, "the dog", "-o", document.with_name("out.txt"))
    assert "the dog: no such file" in result.refused(2)


def test_the_name_of_a_document_that_is_not_there_is_no_sentence(dragoman: Any, model: Path, tmp_path: Path) -> None:
    missing = tmp_path / "report.docx"
    for more in ([], ["-o", tmp_path / "out.docx"]):
        assert "report.docx: no such file; " in dragoman("translate", "-m", model, missing, *more).refused(2)
    assert names(tmp_path) == []
    assert dragoman("translate", "-m", model, "--text", missing).code == 0


@pytest.mark.parametrize(
    ("word", "is_path", "may_be_file"),
    [
        ("./letters", True, False),
        ("in/letters", True, False),
        ("in/letters.de", True, True),
        ("out/letters.de", False, True),
        ("letters.de", False, True),
        ("Node.js", False, True),
        ("and/or", False, False),
        ("/help", False, False),
        ("e.g.", False, False),
        ("3.14", False, False),
        ("안녕.하세요", False, False),
        ("a@example.com", False, False),
        ("https://example.com/a.php", False, False),
    ],
)
def test_a_path_is_no_sentence_and_what_may_be_a_file_is_warned_of(
    word: str, is_path: bool, may_be_file: bool, dragoman: Any, model: Path, tmp_path: Path, monkeypatch: Any
) -> None:
    (tmp_path / "in").mkdir()
    monkeypatch.chdir(tmp_path)
    result = dragoman("translate", "-m", model, word)
    if is_path:
        assert f"{word}: no such file; check its name, or give --text" in result.refused(2)
    else:
        assert result.code == 0
        assert (f"dragoman: {word}: no such file, so it is translated as text" in result.err) is may_be_file
    as_text = dragoman("translate", "-m", model, "--text", word)
    assert (as_text.code, "no such file" in as_text.err) == (0, False)


def test_lines_of_json_that_are_not_there_are_no_sentence(dragoman: Any, model: Path, tmp_path: Path) -> None:
    assert "in.jsonl: no such file; " in dragoman("translate", "-m", model, tmp_path / "in.jsonl").refused(2)


def test_a_model_that_is_not_there_is_named(dragoman: Any, document: Path) -> None:
    refused = dragoman("translate", "-m", document.with_name("nowhere"), document).refused(4)
    assert "nowhere: no such model" in refused


def test_a_folder_is_not_written_into_a_file(dragoman: Any, model: Path, document: Path) -> None:
    other = document.with_name("other.txt")
    other.write_text("the dog")
    result = dragoman("translate", "-m", model, document.parent, "-o", other, "--force")
    assert "is a file, and several documents go into a folder" in result.refused(2)
    assert (names(document.parent), other.read_text()) == (["a.txt", "other.txt"], "the dog")


@pytest.mark.parametrize(
    "option", [["--n-best", 2], ["--alignment"], ["--confidence"], ["--jsonl"], ["--target-prefix", "der"]]
)
def test_options_of_lines_are_refused_for_documents(
    dragoman: Any, model: Path, document: Path, option: list[object]
) -> None:
    assert f"{option[0]}: has no effect on documents" in dragoman("translate", "-m", model, document, *option).refused(
        2
    )


@pytest.mark.parametrize("option", [["--update"], ["--mark"], ["--columns", "a"], ["--max-chars", 3]])
def test_options_of_documents_are_refused_for_lines(dragoman: Any, model: Path, option: list[object]) -> None:
    assert f"{option[0]}: has no effect on lines" in dragoman("translate", "-m", model, "the dog", *option).refused(2)


def test_stdout_is_no_file_for_a_document(dragoman: Any, model: Path, document: Path) -> None:
    assert "is written to a file" in dragoman("translate", "-m", model, document, "-o", "-").refused(2)


def test_an_output_that_exists_and_the_source_are_refused(dragoman: Any, model: Path, document: Path) -> None:
    before, out = document.read_bytes(), document.with_name("out.txt")
    assert "is read too" in dragoman("translate", "-m", model, document, "-o", document, "--force").refused(2)
    out.write_bytes(b"mine")
    assert "already exists; --force replaces it" in dragoman("translate", "-m", model, document, "-o", out).refused(2)
    assert (document.read_bytes(), out.read_bytes()) == (before, b"mine")
    assert dragoman("translate", "-m", model, document, "-o", out, "--force").code == 0


def test_nothing_to_translate_is_bad_data(dragoman: Any, model: Path, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("12\n\n--\n", encoding="utf-8")
    result = dragoman("translate", "-m", model, tmp_path / "a.txt", "-o", tmp_path / "b.txt")
    assert result.refused(3) == f"{tmp_path}/a.txt: there is nothing to translate in it"
    assert names(tmp_path) == ["a.txt"]


def test_a_folder_with_files_that_cannot_be_translated(dragoman: Any, model: Path, tmp_path: Path) -> None:
    home = tmp_path / "in"
    (home / "deep").mkdir(parents=True)
    for name in ("a.txt", "deep/b.txt"):
        (home / name).write_text("the dog\n", encoding="utf-8")
    (home / "c.txt").write_bytes("한국어".encode("cp949"))
    (home / "d.dat").write_bytes(b"?")
    result = dragoman("translate", "-m", model, home, "-o", tmp_path / "out")
    assert result.code == 3
    assert result.err.splitlines()[-1] == "dragoman: 1 of 3 files could not be translated; they are named above"
    assert f"not translated: {home}/c.txt:1: byte 0 is not UTF-8; save the file as UTF-8" in result.err
    assert f"left out, not a document: {home}/d.dat" in result.err
    assert [name for name in names(tmp_path / "out") if not name.endswith((".html", ".tsv"))] == ["a.txt", "deep/b.txt"]


def test_json_is_one_object(dragoman: Any, model: Path, document: Path) -> None:
    out = document.with_name("out.txt")
    found = json.loads(dragoman("translate", "-m", model, document, "-o", out, "--json").out)
    assert found["schema"] == "dragoman.translate.documents/1"
    assert [(one["target"], one["units"]) for one in found["files"]] == [(str(out), 3)]
    assert found["failures"] == []


def test_a_bundled_model_is_chosen_by_the_text(dragoman: Any, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("README\n안녕하세요.\n", encoding="utf-8")
    result = dragoman("translate", tmp_path / "a.txt")
    assert result.code == 0, result.err
    assert "Using the bundled model ko-en" in result.err
    first, second = (tmp_path / "a.en.txt").read_text(encoding="utf-8").splitlines()
    assert first == "README"
    assert second.isascii()
    (tmp_path / "b.txt").write_text("Привет\n", encoding="utf-8")
    assert "reads Cyrillic letters; give one with -m MODEL" in dragoman("translate", tmp_path / "b.txt").refused(2)


def test_strict_is_a_quality_gate(dragoman: Any, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("Привет, как дела, товарищ? 안녕\n안녕하세요.\n", encoding="utf-8")
    result = dragoman("translate", "-m", "ko-en", tmp_path / "a.txt", "-o", tmp_path / "b.txt", "--strict")
    assert result.code == 6
    assert "(--strict); see" in result.err.splitlines()[-1]
    assert {"b.txt", "b.txt.review.tsv", "b.txt.review.html"} <= set(names(tmp_path))


def test_the_formats_are_listed(dragoman: Any) -> None:
    result = dragoman("documents")
    assert result.code == 0
    for kind in KINDS:
        assert kind.name in result.out
        assert " ".join(kind.suffixes) in result.out
    found = json.loads(dragoman("documents", "--json").out)
    assert found["schema"] == "dragoman.documents/1"
    assert [one["name"] for one in found["formats"]] == [kind.name for kind in KINDS]


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_killed_translation_is_continued_to_the_same_bytes(
    dragoman: Any, model: Path, tmp_path: Path, number: int
) -> None:
    words = [f"the {colour} {animal}" for colour in ("red", "blue", "big") for animal in ("dog", "cat", "bird")]
    lines = [f"{a} sees {b} and {c}" for a in words for b in words for c in words for _ in range(2)]
    source, out = tmp_path / "in.txt", tmp_path / "out.txt"
    source.write_text("\n".join(lines), encoding="utf-8")
    assert dragoman("translate", "-m", model, source, "-o", tmp_path / "whole.txt").code == 0
    command = ["translate", "-m", str(model), str(source), "-o", str(out)]
    process = subprocess.Popen([sys.executable, "-m", "dragoman", *command], stderr=subprocess.DEVNULL, env=os.environ)
    partial, deadline = tmp_path / "out.txt.partial", time.monotonic() + 120
    # Its tables without rows have 28 kB.
    while time.monotonic() < deadline and process.poll() is None and _size(partial) < 40_000:
        time.sleep(0.001)
    process.send_signal(number)
    process.wait()
    assert not out.exists()
    assert partial.exists()
    assert "continue with --resume" in dragoman(*command).refused(2)
    assert dragoman(*command, "--resume").code == 0
    assert out.read_bytes() == (tmp_path / "whole.txt").read_bytes()
    assert not partial.exists()


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
