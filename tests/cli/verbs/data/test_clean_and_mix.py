"""`dragoman data clean`, `data mix` and `data split --drop`: tables, JSON, refusals."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from suites import cases


@pytest.fixture
def text(project: Path) -> list[Path]:
    """The training text of the toy project, with an empty line and a number of its own."""
    files = []
    for name, third in (("train.en", "the dog likes 77 birds"), ("train.de", "der hund mag 78 vogel")):
        lines = (project / "data" / name).read_text(encoding="utf-8").splitlines()
        lines[2] = third
        lines[4] = "" if name.endswith("de") else lines[4]
        path = project / f"all{Path(name).suffix}"
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        files.append(path)
    return files


KEYS = ("data.clean.language=0", "data.clean.leakage=false", "data.clean.duplicate=false", "data.clean.length_ratio=0")


def test_clean_reports_what_it_removed(dragoman: Any, project: Path, text: list[Path]) -> None:
    command = ["data", "clean", project / "run.toml", *text, "-o", project / "clean", *KEYS]
    done = dragoman(*command)
    assert done.code == 0, done.err
    assert done.out == ""
    rows = [line.split() for line in done.err.splitlines()]
    total = len(text[0].read_text(encoding="utf-8").splitlines())
    assert rows[0] == ["read", f"{total:,}"]
    assert sorted(row[:2] for row in rows[1:3]) == [["empty", "1"], ["numbers", "1"]]
    assert rows[3][:2] == ["removed", "2"]
    assert rows[4][:2] == ["kept", f"{total - 2:,}"]
    assert all(len(line) <= 80 for line in done.err.replace(str(project), "legal").splitlines()[:5])
    assert "already exists; give --force" in dragoman(*command).refused(2)
    found = json.loads(dragoman(*command, "--force", "--json").out)
    assert (found["schema"], found["pairs"], found["kept"]) == ("dragoman.data.clean/1", total, total - 2)
    assert found["removed"] == {"empty": 1, "numbers": 1}


def test_a_limit_of_disagreement_needs_models(dragoman: Any, project: Path, text: list[Path]) -> None:
    done = dragoman("data", "clean", project / "run.toml", *text, "-o", project / "out", "--disagreement", "3")
    assert "--disagreement: is about models; give one of each direction with -m" in done.refused(2)


def test_clean_says_when_nothing_is_left(dragoman: Any, project: Path, tmp_path: Path) -> None:
    (tmp_path / "all.tsv").write_text("the dog likes 77 birds\tder hund mag 78 vogel\n" * 3)
    command = ["data", "clean", project / "run.toml", tmp_path / "all.tsv", "-o", tmp_path / "clean", *KEYS]
    for as_json in ([], ["--json", "--force"]):
        done = dragoman(*command, *as_json)
        assert done.code == 3
        last = done.err.splitlines()[-1]
        assert last.startswith(f"dragoman: {tmp_path}/all.tsv: nothing was kept; {tmp_path}/clean/rejects.jsonl has")
        assert last.endswith("the reasons: read some of them; the rule is data.clean.numbers")
        assert "Next:" not in done.err
    assert len((tmp_path / "clean/rejects.jsonl").read_text().splitlines()) == 3


def test_clean_names_what_took_most_pairs(dragoman: Any, project: Path) -> None:
    valid = [project / "data/valid.en", project / "data/valid.de"]
    copies = [path.with_name(f"again{path.suffix}") for path in valid]
    for path, copy in zip(valid, copies, strict=True):
        copy.write_bytes(path.read_bytes())
    done = dragoman("data", "clean", project / "run.toml", *copies, "-o", project / "clean", "data.clean.language=0")
    assert "data.valid and data.test have their sources; were they split from this corpus?" in done.refused(3)

    korean = project / "swapped.tsv"
    korean.write_text("das ist ein hund, der hier lebt\t이것은 여기에 사는 개입니다\n" * 3, encoding="utf-8")
    done = dragoman("data", "clean", project / "run.toml", korean, "-o", project / "other", "data.clean.language=0")
    assert "are the two sides swapped, or of other languages than [project] has?" in done.refused(3)


def test_clean_names_another_encoding_where_lines_in_ascii_stay(dragoman: Any, project: Path) -> None:
    """Of German in Latin-1 the lines with an umlaut go, a third, and the rest looks right."""
    lines = [f"the dog likes bird {'abcdefghi'[number % 9]}\tder hund mag vogel" for number in range(90)]
    lines[1::3] = [f"{line} schön" for line in lines[1::3]]
    (project / "all.tsv").write_bytes("".join(f"{line}\n" for line in lines).encode("latin-1"))
    command = ["data", "clean", project / "run.toml", project / "all.tsv", "-o", project / "clean", *KEYS]
    done = dragoman(*command)
    assert done.code == 0
    problem = f"{project}/all.tsv:2: not UTF-8 (byte 0xf6); convert the file to UTF-8"
    assert f"30 of the removed pairs cannot be read, the first: {problem}" in " ".join(done.err.split())
    (project / "all.tsv").write_bytes("".join(f"{line}\n" for line in lines).encode())
    assert "cannot be read" not in dragoman(*command, "--force").err


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("all.tsv", b"Go.\tGeh.\tCC-BY 2.0\n" * 3, "all.tsv:1: 3 columns; a line is source, one tab, target"),
        ("all.jsonl", b'{"en": "Go.", "de": "Geh."}\n', 'all.jsonl:1: no text under "source"; each line has one'),
        ("all.tsv", b"Go.\tGeh.\rYes.\tJa.\r", "all.tsv:1: a carriage return within the line"),
        ("all.tsv", b"Go.\tGeh.\rYes.\n", "all.tsv:1: a carriage return within the line; end each line with"),
        ("all.tsv", "Go.\tWörter.\n".encode("latin-1"), "all.tsv:1: not UTF-8 (byte 0xf6); convert the file to"),
        ("all.tsv", "Go.\tGeh.\n".encode("utf-16-le"), "all.tsv:1: null characters, as UTF-16 has them; convert"),
    ],
)
def test_clean_says_why_no_line_can_be_read(
    dragoman: Any, project: Path, tmp_path: Path, name: str, content: bytes, problem: str
) -> None:
    (tmp_path / name).write_bytes(content)
    done = dragoman("data", "clean", project / "run.toml", tmp_path / name, "-o", tmp_path / "clean", *KEYS)
    assert done.refused(3).startswith(f"{tmp_path}/{problem}")
    assert done.err.rstrip().endswith(f"(nothing was kept; {tmp_path}/clean/rejects.jsonl has all lines)")


def test_split_drops_what_is_no_pair_on_request(dragoman: Any, project: Path, text: list[Path]) -> None:
    config = (project / "run.toml").read_text(encoding="utf-8").replace('"data/', '"parts/')
    (project / "run.toml").write_text(config, encoding="utf-8")
    command = ["data", "split", project / "run.toml", *text, "--held-out", "5", "--no-near"]
    assert "empty line" in dragoman(*command).refused(3)
    done = dragoman(*command, "--drop", "--json")
    found = json.loads(done.out)
    assert found["dropped"] == 1
    assert [found["parts"][part]["pairs"] for part in ("valid", "test")] == [5, 5]
    assert len((project / "parts/rejects.jsonl").read_text(encoding="utf-8").splitlines()) == 1


def test_mix_reports_how_much_of_each_corpus_there_is(dragoman: Any, project: Path) -> None:
    (project / "one.tsv").write_text("a dog\tein hund\na cat\tein kater\n", encoding="utf-8")
    (project / "two.tsv").write_text("a bird\tein vogel\n", encoding="utf-8")
    config = (project / "run.toml").read_text(encoding="utf-8").replace('"data/train.', '"mixed/train.')
    corpora = '[data.mix]\ncorpora = [{source = "one.tsv", tag = "<zoo>"}, {source = "two.tsv", weight = 2}]\n'
    config = config.replace("[tokenizer]\n", f'{corpora}\n[tokenizer]\nuser_defined_symbols = ["<zoo>"]\n')
    (project / "run.toml").write_text(config, encoding="utf-8")
    done = dragoman("data", "mix", project / "run.toml")
    assert done.code == 0, done.err
    assert [line.split()[0] for line in done.err.splitlines()[:3]] == ["2", "2", "4"]
    found = json.loads(dragoman("data", "mix", project / "run.toml", "--force", "--json").out)
    assert found["pairs"] == 4
    assert [corpus["domain"] for corpus in found["corpora"]] == ["zoo", "two.tsv"]
    lines = (project / "mixed/train.en").read_text(encoding="utf-8").splitlines()
    assert sorted(lines) == ["<zoo> a cat", "<zoo> a dog", "a bird", "a bird"]


def test_split_shows_paths_from_the_current_folder(
    dragoman: Any, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for side in ("de", "en"):
        words = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
        lines = "".join(f"{a} {b} {side}\n" for a in words for b in words)
        (tmp_path / f"all.{side}").write_text(lines, encoding="utf-8")
    assert dragoman("init", "mine", "--pair", "de-en").code == 0
    stderr = dragoman("data", "split", "mine/run.toml", "all.de", "all.en", "--held-out", 5).err
    assert str(tmp_path) not in stderr
    assert "mine/data/train.de" in stderr


@pytest.mark.slow
@pytest.mark.parametrize("signal_number", cases([signal.SIGTERM, signal.SIGINT], quick=[signal.SIGTERM]))
def test_a_cleaning_that_is_stopped_leaves_nothing(tmp_path: Path, signal_number: int) -> None:
    (tmp_path / "run.toml").write_text(
        'project = {name = "a", source = "de", target = "en"}\n[data]\nvalid = "v.tsv"\ntrain = ["t.tsv"]\n'
    )
    (tmp_path / "all.tsv").write_text("".join(f"Satz {n} von vielen\tsentence {n} of many\n" for n in range(300_000)))
    command = [sys.executable, "-m", "dragoman", "data", "clean", "run.toml", "all.tsv", "-o", "out"]
    # Started in the background, this process may ignore Ctrl-C, and a child would too.
    restore_sigint = lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)  # noqa: E731
    with subprocess.Popen(
        command, cwd=tmp_path, stderr=subprocess.PIPE, text=True, preexec_fn=restore_sigint
    ) as process:
        while process.poll() is None and not list(tmp_path.glob("out/.*")):
            time.sleep(0.01)
        process.send_signal(signal_number)
        stderr = process.communicate()[1]
    assert (process.returncode, list(tmp_path.glob("out/*")), list(tmp_path.glob("out/.*"))) == (130, [], [])
    assert stderr.splitlines()[-1] == "dragoman: interrupted"


def test_convert_writes_the_pairs_of_bilingual_documents(dragoman: Any, tmp_path: Path) -> None:
    unit = "<tu><tuv xml:lang='en'><seg>Open</seg></tuv><tuv xml:lang='ko'><seg>열기</seg></tuv></tu>"
    (tmp_path / "a.tmx").write_text(f"<tmx><body>{unit}</body></tmx>", encoding="utf-8")
    command = ["data", "convert", tmp_path / "a.tmx", "-o", tmp_path / "a.tsv", "--from", "en", "--to", "ko"]
    done = dragoman(*command)
    assert (done.code, done.err.split()[:2]) == (0, ["1", "pair"])
    assert (tmp_path / "a.tsv").read_text("utf-8") == "Open\t열기\n"
    assert dragoman(*command).code == 2
    done = dragoman(*command, "--force", "--json")
    assert json.loads(done.out)["pairs"] == 1
