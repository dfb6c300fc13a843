"""`data check` on the first day: all faults at once, a table of 80 columns, a page that is safe to open."""

import json
import os
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from dragoman.cli.shared.reports import OF_SIDES, is_swapped
from dragoman.data.corpus.report import ALARMING, UNUSABLE, CorpusReport, wrong_as_a_whole
from dragoman.data.corpus.rules import RULES
from dragoman.workflows.data.check_page import LANGUAGES, texts


@pytest.fixture
def faulty(project: Path) -> Path:
    """A project whose training text has several faults, two of which make training impossible."""
    train = project / "data/train.en"
    lines = train.read_bytes().split(b"\n")
    lines[3], lines[5], lines[7] = b"", b"caf\xe9 with bytes of another encoding", b"<script>alert('&amp;')</script> %s"
    train.write_bytes(b"\n".join(lines))
    return project


def test_all_faults_are_in_one_table_and_the_exit_code_is_that_of_bad_data(dragoman: Any, faulty: Path) -> None:
    result = dragoman("data", "check", faulty / "run.toml")
    assert (result.code, result.out) == (3, "")
    for name in ("empty sides", "not UTF-8, or no pair", "HTML entities", "placeholders that differ"):
        assert re.search(rf"^train\[0\] +1 .* {name} .*:\d+$", result.err, re.MULTILINE), name
    complaint = result.err.splitlines()[-1]
    assert re.search(r"train\.en:6: not UTF-8 \(byte 0xe9\); .*\(and 1 more: listed above\)$", complaint)
    assert "Next:" not in result.err


def test_training_refuses_what_the_check_refuses_before_it_writes_anything(dragoman: Any, faulty: Path) -> None:
    before = sorted(faulty.rglob("*"))
    result = dragoman("train", faulty / "run.toml")
    assert result.code == 3
    assert "(and 1 more: see `dragoman data check`)" in " ".join(result.err.split())
    assert sorted(faulty.rglob("*")) == before


def test_json_has_every_fault_of_an_unusable_corpus(dragoman: Any, faulty: Path) -> None:
    result = dragoman("data", "check", faulty / "run.toml", "--json")
    assert result.code == 3
    report = json.loads(result.out)
    assert report["usable"] is False
    found = report["corpora"][-1]["findings"]
    assert {kind: found[kind]["count"] for kind in ("empty", "bad_bytes", "entities")} == {
        "empty": 1,
        "bad_bytes": 1,
        "entities": 1,
    }


def test_a_held_out_corpus_that_is_the_training_text_is_a_failure(dragoman: Any, project: Path) -> None:
    for side in ("en", "de"):
        (project / f"data/valid.{side}").write_bytes((project / f"data/train.{side}").read_bytes())
    result = dragoman("data", "check", project / "run.toml")
    assert result.code == 3
    assert "Next:" not in result.err
    assert re.search(r"^valid +\d+ +100\.0 % +held-out source in training", result.err, re.MULTILINE)
    assert "Remove these pairs from training" in result.err


def test_text_that_is_wrong_as_a_whole_ends_with_the_exit_code_of_bad_data(dragoman: Any, project: Path) -> None:
    """Each target repeats its source; it can be trained on, and nobody would want to."""
    (project / "data/train.de").write_bytes((project / "data/train.en").read_bytes())
    result = dragoman("data", "check", project / "run.toml")
    assert result.code == 3
    assert re.search(r"^dragoman: train\[0\]: target repeats the source in \d+\.\d % of its", result.err, re.M)
    assert "Next:" not in result.err


def test_swapped_sides_have_one_remedy() -> None:
    """To exchange them; no line has to be removed for its language."""
    report = CorpusReport("train", ("a", "b"), pairs=100)
    for kind, share in (("swapped", 0.93), ("script", 0.99), ("copies", 0.2)):
        report.add(kind, int(100 * share), "a:1")
        report.findings[kind].share = share
    assert is_swapped(report)
    assert [kind for kind in OF_SIDES if kind in report.findings] == ["script"]
    fault = wrong_as_a_whole([report])
    assert fault
    assert fault[1] == "swapped"


def test_text_of_which_a_few_lines_are_wrong_is_not_wrong_as_a_whole() -> None:
    report = CorpusReport("train", ("a", "b"), pairs=100)
    report.add("copies", 20, "a:1")
    report.findings["copies"].share = 0.2
    assert wrong_as_a_whole([report]) is None


def test_paths_are_shown_relative_to_the_current_folder(
    dragoman: Any, faulty: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(faulty)
    result = dragoman("data", "check", "run.toml")
    assert "data/train.en:4" in result.err
    assert str(faulty) not in result.err


def test_a_pipe_is_refused_and_not_waited_for(dragoman: Any, project: Path) -> None:
    (project / "data/train.en").unlink()
    os.mkfifo(project / "data/train.en")
    complaint = dragoman("data", "check", project / "run.toml").refused(2)
    assert complaint.startswith(f"{project}/data/train.en: is read twice, which a pipe does not allow; ")


class Page(HTMLParser):
    """The elements of a page, and what it refers to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.references: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.references += [value or "" for name, value in attrs if name in ("src", "href", "action")]


def test_the_page_escapes_examples_has_no_links_and_speaks_both_languages(
    dragoman: Any, faulty: Path, tmp_path: Path
) -> None:
    dragoman("data", "check", faulty / "run.toml", "--html", tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    page = Page(text)
    assert page.references == []
    assert "http" not in text.replace("http-equiv", "")
    assert page.tags.count("script") == 1  # its own, not that of the example
    assert "&lt;script&gt;alert(&#x27;&amp;amp;&#x27;)&lt;/script&gt;" in text
    assert page.tags.count("svg") == 9  # three histograms for each corpus
    assert "빈 줄" in text
    assert "empty sides" in text


def test_a_page_that_cannot_be_written_is_named(dragoman: Any, project: Path) -> None:
    complaint = dragoman("data", "check", project / "run.toml", "--html", project / "no/such/page.html").refused(1)
    assert "page.html: cannot be written" in complaint


def test_every_kind_has_a_name_and_a_remedy_in_both_languages() -> None:
    english, korean = (texts(language) for language in reversed(LANGUAGES))
    assert english["kinds"].keys() == korean["kinds"].keys() >= {*RULES, *UNUSABLE, *ALARMING}
    assert english["labels"].keys() == korean["labels"].keys()
    assert all(len(one["kinds"][kind]) == 2 for one in (english, korean) for kind in one["kinds"])


@pytest.mark.parametrize("name", ["data/train.en", "run.toml"])
def test_a_page_replaces_no_file_that_is_no_page(dragoman: Any, project: Path, name: str) -> None:
    before = (project / name).read_bytes()
    complaint = dragoman("data", "check", project / "run.toml", "--html", project / name).refused(2)
    assert f"{name}: exists already and is no page that Dragoman wrote" in " ".join(complaint.split())
    assert (project / name).read_bytes() == before
    for _ in range(2):  # a page may be written again
        assert dragoman("data", "check", project / "run.toml", "--html", project / "page.html").code == 0


def test_an_unusable_corpus_is_not_called_free_of_problems(dragoman: Any, project: Path) -> None:
    for side in ("en", "de"):
        (project / f"data/train.{side}").write_text("")
    result = dragoman("data", "check", project / "run.toml")
    assert result.code == 3
    assert "no problems found" not in result.err
