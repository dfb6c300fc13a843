"""The command line's control over a translation: glossaries, keys of [decode], several models, forced scoring."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from dragoman import Translator
from dragoman.text.terms.glossary import Glossary


@pytest.fixture
def own(model: Path, tmp_path: Path) -> Path:
    """A copy of the model, to be changed."""
    return Path(shutil.copytree(model, tmp_path / "own"))


@pytest.fixture
def terms(tmp_path: Path) -> Path:
    path = tmp_path / "terms.tsv"
    path.write_text("dog\tkater\n", encoding="utf-8")
    return path


def test_a_glossary_of_the_request(dragoman: Any, model: Path, terms: Path) -> None:
    result = dragoman("translate", "-m", model, "--glossary", terms, "the red dog", "the tree", "--json")
    first, second = map(json.loads, result.out.splitlines())
    [term] = first["terms"]
    assert (term["source"], term["target"]) == ("dog", "kater")
    assert term["satisfied"] == ("kater" in first["translations"][0]["text"])
    assert "terms" not in second


def test_a_term_that_cannot_be_generated_is_reported_by_its_line(dragoman: Any, model: Path, tmp_path: Path) -> None:
    terms = tmp_path / "terms.tsv"
    terms.write_text("dog\tÆØÅ漢字\n", encoding="utf-8")  # characters that this model has no pieces for
    result = dragoman("translate", "-m", model, "--glossary", terms, "the tree", "the dog")
    assert result.code == 0
    assert len(result.out.splitlines()) == 2
    assert "dragoman: line 2: 'dog' is not translated as 'ÆØÅ漢字'; check it by hand" in result.err


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("dog kater\n", "terms.tsv:1: "),
        ("dog\tkater\nDog\thund\n", "terms.tsv:2: "),
        ("\tkater\n", "terms.tsv:1: "),
    ],
    ids=["no tab", "contradiction", "no term"],
)
def test_a_glossary_that_is_none(dragoman: Any, model: Path, tmp_path: Path, text: str, complaint: str) -> None:
    terms = tmp_path / "terms.tsv"
    terms.write_text(text, encoding="utf-8")
    for arguments in (["translate", "-m", model, "--glossary", terms, "a"], ["model", "glossary", model, terms]):
        assert complaint in dragoman(*arguments).refused(3)


def test_a_model_carries_a_glossary_of_its_own(dragoman: Any, own: Path, terms: Path) -> None:
    assert dragoman("model", "glossary", own, terms).code == 0
    assert Translator.load(own).translate("the dog").terms[0].target == "kater"
    (own / "glossary.tsv").write_text("dog\thunde\n", encoding="utf-8")
    assert "its sha256 differs" in dragoman("translate", "-m", own, "a").refused(4)


def test_a_model_carries_the_entries_as_the_file_has_them(dragoman: Any, own: Path, tmp_path: Path) -> None:
    rows = 'Source\tTarget\nEnglish\tGerman\n\\#dog\thund\n"""a, b"""\tkater\n'
    (tmp_path / "terms.tsv").write_text(rows, encoding="utf-8")
    assert dragoman("model", "glossary", own, tmp_path / "terms.tsv").code == 0
    assert Glossary.read(own / "glossary.tsv") == Glossary.read(tmp_path / "terms.tsv")
    assert [entry.term for entry in Glossary.read(own / "glossary.tsv").entries] == ["English", "#dog", '"a, b"']


def test_keys_of_decode(dragoman: Any, model: Path) -> None:
    drawn = dragoman("translate", "-m", model, "-O", "method=sample", "-O", "decode.seed=3", "--n-best", 4, "the dog")
    assert len(drawn.out.splitlines()) == 4
    again = dragoman("translate", "-m", model, "-O", "method=sample", "-O", "seed=3", "--n-best", 4, "the dog")
    assert again.out == drawn.out
    assert dragoman("translate", "-m", model, "-O", "method=mbr", "-O", "samples=4", "the dog").code == 0


@pytest.mark.parametrize(
    ("option", "complaint"),
    [
        ("temperatur=2", "decode.temperatur: unknown key; did you mean decode.temperature?"),
        ("beam", "-O beam: not an option of the search; write KEY=VALUE, e.g. -O beam=8"),
        ("beam=0", "decode.beam: input should be greater than 0, not 0"),
        ("beam=100000", "decode.beam: input should be less than or equal to 4096, not 100000"),
        ("method=best", "decode.method: input should be 'beam', 'sample' or 'mbr', not 'best'"),
        ("min_length=9", None),
    ],
)
def test_a_key_that_is_none(dragoman: Any, model: Path, option: str, complaint: str | None) -> None:
    if complaint is None:
        assert dragoman("translate", "-m", model, "-O", option, "a dog").code == 0
    else:
        assert dragoman("translate", "-m", model, "-O", option, "a dog").refused(2) == complaint


def test_a_model_averaged_with_itself_says_the_same(dragoman: Any, model: Path) -> None:
    alone = dragoman("translate", "-m", model, "the red dog", "a tree")
    assert dragoman("translate", "-m", model, "-m", model, "the red dog", "a tree").out == alone.out
    complaint = dragoman("translate", "-m", model, "-m", model, "--engine", "ctranslate2", "a").refused(2)
    assert complaint.startswith("engine ctranslate2: an ensemble needs the torch engine; leave --engine out")


def test_log_p_of_given_pairs(dragoman: Any, model: Path, trained: Path) -> None:
    text = [trained / "data/test.en", trained / "data/test.de"]
    result = dragoman("evaluate", "-m", model, *text, "--score")
    totals = [float(line) for line in result.out.splitlines()]
    assert len(totals) == 10
    assert "nats per token over" in result.err
    rows = [json.loads(line) for line in dragoman("evaluate", "-m", model, *text, "--score", "--json").out.splitlines()]
    assert [row["log_prob"] for row in rows] == pytest.approx(totals, abs=1e-3)
    assert all(sum(row["log_probs"]) == pytest.approx(row["log_prob"]) for row in rows)
