"""AsciiDoc: texts of blocks change; code, attributes, macros and comments stay byte for byte."""

from dataclasses import replace
from pathlib import Path

import pytest

from documents.laws import hold_identity, opened, texts, translated, written
from documents.real import SAMPLES
from documents.splicing import check_changed, check_laws
from dragoman.errors import DataError
from dragoman.text.words.inline import InlineText

SAMPLE = SAMPLES / "guide.adoc"


def test_blocks_are_text_and_the_rest_stays(tmp_path: Path) -> None:
    _, units = opened(SAMPLE)
    assert [unit.source.text for unit in units] == [
        "The guide",
        "The dog sees `code`, {name} and the the _red_ cat.",
        "Second part",
        "The caption",
        "One item over two lines",
        "Two the page",
        "A step",
        "A note with a link.",
        "The term",
        "Its meaning",
        "Another",
        "A meaning below",
        "Name",
        "Value",
        "The cat",
        "5 cats",
        "Inside of a block",
        "A note",
    ]
    assert units[1].location == "line 8"
    assert hold_identity(SAMPLE) == 18
    check_changed(check_laws(SAMPLE), tmp_path)
    new = [None] * 18
    new[4], new[15] = "한 항목", "고양이 5마리"
    expected = SAMPLE.read_text().replace("One item\n  over two lines", "한 항목").replace("5 cats", "고양이 5마리")
    assert translated(SAMPLE, new) == expected


def test_bold_text_next_to_a_letter_has_its_sign_twice(tmp_path: Path) -> None:
    path = tmp_path / "a.adoc"
    path.write_text("The *dog* sees.\n", encoding="utf-8")
    (unit,) = opened(path)[1]
    codes = [replace(code, position=at) for code, at in zip(unit.source.codes, (0, 1), strict=True)]
    assert translated(path, [InlineText("개가 본다.", tuple(codes))]) == "**개**가 본다.\n"


def test_a_translation_that_would_change_the_blocks_is_not_written(tmp_path: Path) -> None:
    path = tmp_path / "a.adoc"
    path.write_text("One text.\n\nTwo.\n", encoding="utf-8")
    document, _ = opened(path)
    assert written(document, [InlineText("* one"), InlineText("둘")]).decode() == "One text.\n\n둘\n"
    assert document.remarks == ["line 1: not translated, because the markup around it would change"]


@pytest.mark.parametrize(
    ("content", "count"), [("", 0), ("----\nnot ended", 0), ("|===\n|A |B", 2), ("[source]\nx\ny", 0)]
)
def test_what_does_not_end(tmp_path: Path, content: str, count: int) -> None:
    path = tmp_path / "a.adoc"
    path.write_text(content, encoding="utf-8")
    assert hold_identity(path) == count


def test_another_encoding_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.adoc"
    path.write_bytes(b"\xb0\xa1")
    with pytest.raises(DataError, match="is not UTF-8"):
        opened(path)


@pytest.mark.parametrize("unit", ["a:: ", "*a", "|", "`", "[", "_ ", "<<a,", "a::\n", "((", "link:", "....\n"])
def test_the_time_is_that_of_the_length(tmp_path: Path, unit: str) -> None:
    path = tmp_path / "a.adoc"
    path.write_text(unit * 5000, encoding="utf-8")
    texts(path)


@pytest.mark.parametrize("attributes", ["[%header,format=csv]", '[format="dsv"]', '[cols="1,1", format = tsv]'])
def test_a_table_of_another_format_stays(tmp_path: Path, attributes: str) -> None:
    path = tmp_path / "a.adoc"
    path.write_text(f"Text.\n\n{attributes}\n|===\nName,Role\nAnn,Lead\n|===\n\nMore.\n", encoding="utf-8")
    assert texts(path) == ["Text.", "More."]
