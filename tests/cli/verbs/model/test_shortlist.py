"""`model shortlist`: what it writes, what it reports, what it refuses."""

import json
import os
import shutil
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from dragoman.bundle import open_bundle
from dragoman.cli.main import main
from dragoman.control.languages import Pairs
from dragoman.data.batches.batch import Example
from dragoman.shortlist.file import Shortlist
from dragoman.text.tokens.tokenizer import EOS
from dragoman.workflows.importing.import_model import import_model
from dragoman.workflows.models.shortlist import learn_model_shortlist

FOREIGN = Path(__file__).parents[3] / "importing/fixtures"


@pytest.fixture
def copy(model: Path, tmp_path: Path) -> Path:
    """A model of one's own."""
    return Path(shutil.copytree(model, tmp_path / "model"))


@pytest.fixture
def text(trained: Path) -> list[Path]:
    """The training text."""
    return [trained / "data/train.en", trained / "data/train.de"]


def test_it_is_written_into_the_model_and_vouched_for(dragoman: Any, copy: Path, text: list[Path]) -> None:
    before = open_bundle(copy)
    assert Shortlist.of_bundle(before) is None
    result = dragoman("model", "shortlist", copy, *text, "--per-piece", 3, "--frequent", 4)
    assert result.code == 0, result.err
    assert result.out.startswith("covers ")
    assert "of the target tokens of 15 held-out pairs" in result.out
    bundle = open_bundle(copy)
    shortlist = Shortlist.of_bundle(bundle)
    assert shortlist is not None
    assert len(shortlist.always) <= 4 + 4
    assert bundle.manifest["shortlist"]["pairs"] == 285
    assert {**bundle.manifest["files"], "shortlist.txt": 0} == {**before.manifest["files"], "shortlist.txt": 0}
    assert dragoman("translate", "-m", copy, "the red dog").code == 0
    assert dragoman("model", "show", copy).code == 0


@pytest.fixture
def of_two_targets(tmp_path: Path) -> Path:
    """A model from English into Korean and Japanese, which share the source's language tokens."""
    return import_model(FOREIGN / "marian-tc", tmp_path / "several", trial=False).model_path


def test_of_several_pairs_it_is_learned_for_one(dragoman: Any, of_two_targets: Path, tmp_path: Path) -> None:
    """Without its language token a model writes another language, or none, and aligns at random."""
    lines = tmp_path / "text.tsv"
    lines.write_text("".join(f"open file {n}\t파일 {n} 열기\n" for n in range(40)), encoding="utf-8")
    refused = dragoman("model", "shortlist", of_two_targets, lines).refused(2)
    assert "target (--to): this model has several pairs" in refused
    result = dragoman("model", "shortlist", of_two_targets, lines, "--to", "ko")
    assert result.code == 0, result.err
    assert "it is for en-ko alone" in result.err
    bundle = open_bundle(of_two_targets)
    assert bundle.manifest["shortlist"]["languages"] == "en-ko"
    shortlist, pair = (
        Shortlist.of_bundle(bundle),
        Pairs.of(bundle.config.project, bundle.tokenizer).choose("ko", None, ()),
    )
    assert shortlist is not None
    assert pair.marks.source
    assert not {*pair.marks.source, EOS} & shortlist.by_source.keys()


def test_the_model_sees_the_language_tokens_of_the_pair(of_two_targets: Path, monkeypatch: Any, tmp_path: Path) -> None:
    lines, read = tmp_path / "text.tsv", list[Example]()
    lines.write_text("".join(f"open file {n}\t파일 {n} 열기\n" for n in range(40)), encoding="utf-8")

    def learn(network: Any, tokenizer: Any, examples: Sequence[Example], *_: Any, **__: Any) -> Shortlist:
        read.extend(examples)
        return Shortlist((0, 1, 2, 3), {})

    monkeypatch.setattr("dragoman.shortlist.learn.learn_shortlist", learn)
    learn_model_shortlist(of_two_targets, lines, to="ko")
    bundle = open_bundle(of_two_targets)
    assert {example.marks for example in read} == {
        Pairs.of(bundle.config.project, bundle.tokenizer).choose("ko", None, ()).marks
    }


def test_confidence_is_learned_for_the_pair_that_is_named(dragoman: Any, of_two_targets: Path, tmp_path: Path) -> None:
    lines = tmp_path / "text.tsv"
    lines.write_text("".join(f"open file {n}\t파일 {n} 열기\n" for n in range(3)), encoding="utf-8")
    command = ("model", "confidence", of_two_targets, lines, "--samples", 0)
    assert "target (--to): this model has several pairs" in dragoman(*command).refused(2)
    assert "several pairs" not in dragoman(*command, "--to", "ko").refused(3)  # too few lines
    judged = tmp_path / "judged.tsv"
    judged.write_text("open\t열기\tusable\n", encoding="utf-8")
    of_people = ("model", "confidence", of_two_targets, "--judged", judged)
    assert "target (--to): this model has several pairs" in dragoman(*of_people).refused(2)
    assert "several pairs" not in dragoman(*of_people, "--to", "ko").refused(3)


def test_once_more_takes_its_place(dragoman: Any, copy: Path, text: list[Path]) -> None:
    (copy / "notes").mkdir()
    (copy / "notes/mine.txt").write_text("mine")
    first = dragoman("model", "shortlist", copy, *text, "--per-piece", 1, "--frequent", 2, "--json")
    second = dragoman("model", "shortlist", copy, *text, "--per-piece", 1, "--frequent", 9, "--json")
    sizes = [json.loads(result.out)["measured"]["size"] for result in (first, second)]
    assert sizes[0] < sizes[1]
    assert json.loads(second.out)["schema"] == "dragoman.model.shortlist/1"
    shortlist = Shortlist.of_bundle(open_bundle(copy))
    assert shortlist is not None
    assert len(shortlist.always) > 4 + 2
    assert (copy / "notes/mine.txt").read_text() == "mine"
    assert [path.name for path in copy.parent.iterdir()] == ["model"]


def test_a_model_that_others_are_linked_to_is_not_written_through(
    dragoman: Any, copy: Path, text: list[Path], tmp_path: Path
) -> None:
    assert dragoman("model", "shortlist", copy, *text, "--frequent", 2).code == 0
    kept = tmp_path / "kept"
    kept.hardlink_to(copy / "shortlist.txt")
    before = kept.read_bytes()
    assert dragoman("model", "shortlist", copy, *text, "--frequent", 9).code == 0
    assert kept.read_bytes() == before
    assert (copy / "shortlist.txt").read_bytes() != before


def test_an_altered_shortlist_is_refused(dragoman: Any, copy: Path, text: list[Path]) -> None:
    assert dragoman("model", "shortlist", copy, *text).code == 0
    content = (copy / "shortlist.txt").read_bytes()
    (copy / "shortlist.txt").write_bytes(content.replace(b"\n", b"\t", 1))
    assert "shortlist.txt: its sha256 differs" in dragoman("translate", "-m", copy, "dog").refused(4)


def test_a_disk_that_is_full_leaves_the_model_as_it_was(
    dragoman: Any, copy: Path, text: list[Path], contents: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, write = contents(copy), Path.write_bytes

    def full(path: Path, data: bytes) -> int:
        if path.name == "shortlist.txt":
            raise OSError(28, "No space left on device", str(path))
        return write(path, data)

    monkeypatch.setattr(Path, "write_bytes", full)
    result = dragoman("model", "shortlist", copy, *text)
    assert "No space left on device; free some space" in result.refused(1)
    assert contents(copy) == before
    assert [path.name for path in copy.parent.iterdir()] == ["model"]


@pytest.mark.parametrize("verb", ["shortlist", "glossary"])
def test_who_is_terminated_leaves_the_model_as_it_was(
    verb: str, dragoman: Any, copy: Path, text: list[Path], contents: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, write, terms = contents(copy), Path.write_bytes, copy.with_name("terms.tsv")
    terms.write_text("dog\tHund\n", encoding="utf-8")

    def terminated(path: Path, data: bytes) -> int:
        os.kill(os.getpid(), signal.SIGTERM)
        return write(path, data)

    monkeypatch.setattr(Path, "write_bytes", terminated)
    assert dragoman("model", verb, "-m", copy, *([terms] if verb == "glossary" else text)).code == 130
    assert contents(copy) == before
    assert sorted(path.name for path in copy.parent.iterdir()) == ["model", "terms.tsv"]


def test_it_works_from_within_the_model(
    dragoman: Any, copy: Path, text: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(copy)
    assert dragoman("model", "shortlist", ".", *text).code == 0
    assert Shortlist.of_bundle(open_bundle(copy)) is not None


def test_of_a_link_the_model_behind_it_is_written(dragoman: Any, copy: Path, text: list[Path]) -> None:
    latest = copy.with_name("latest")
    latest.symlink_to(copy)
    assert dragoman("model", "shortlist", latest, *text).code == 0
    assert latest.is_symlink()
    assert Shortlist.of_bundle(open_bundle(copy)) is not None


def test_too_little_text_is_refused(dragoman: Any, copy: Path, tmp_path: Path, contents: Any) -> None:
    before = contents(copy)
    (tmp_path / "one.tsv").write_text("the dog\tder hund\n")
    complaint = dragoman("model", "shortlist", copy, tmp_path / "one.tsv").refused(3)
    assert complaint == f"{tmp_path}/one.tsv: 1 pair; a shortlist is learned from some pairs and measured on others"
    (tmp_path / "none.tsv").write_text("")
    assert "none.tsv: 0 pairs;" in dragoman("model", "shortlist", copy, tmp_path / "none.tsv").refused(3)
    long = f"{'the dog ' * 300}\t{'der hund ' * 300}\n"
    (tmp_path / "long.tsv").write_text(long * 2)
    complaint = dragoman("model", "shortlist", copy, tmp_path / "long.tsv").refused(3)
    assert complaint == f"{tmp_path}/long.tsv: no pair has at most 200 tokens per side, data.max_length of the model"
    assert contents(copy) == before


def test_missing_model_and_text_are_reported(dragoman: Any, copy: Path, text: list[Path], tmp_path: Path) -> None:
    assert "no such model folder" in dragoman("model", "shortlist", tmp_path / "none", *text).refused(4)
    assert "no such file" in dragoman("model", "shortlist", copy, tmp_path / "none.tsv").refused(3)
    assert "give the file of the other side too" in dragoman("model", "shortlist", copy, text[0]).refused(2)


def test_its_help_says_what_it_is_for() -> None:
    assert main(["model", "shortlist", "--help"]) == 0
