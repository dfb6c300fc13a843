"""AsciiDoc: texts of blocks change; code, attributes, macros and comments stay byte for byte."""

from dataclasses import replace
from pathlib import Path

import pytest

from documents.laws import hold_identity, opened, texts, translated, written
from documents.real import SAMPLES
from documents.splicing import check_changed, check_laws, replaced
from documents.splicing import texts as spliced_texts
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


@pytest.mark.parametrize(
    "unit",
    [
        "a:: ",
        "*a",
        "|",
        "`",
        "[",
        "_ ",
        "<<a,",
        "a::\n",
        "((",
        "link:",
        "....\n",
        '"`',
        "{a}[",
        "{a}/",
        "link:a[b,c=",
        "`a ",
        "+a ",
        "aaaa\n====\n\n",
        "|===\n|",
    ],
)
def test_the_time_is_that_of_the_length(tmp_path: Path, unit: str) -> None:
    path = tmp_path / "a.adoc"
    path.write_text(unit * 5000, encoding="utf-8")
    texts(path)


@pytest.mark.parametrize("attributes", ["[%header,format=csv]", '[format="dsv"]', '[cols="1,1", format = tsv]'])
def test_a_table_of_another_format_stays(tmp_path: Path, attributes: str) -> None:
    path = tmp_path / "a.adoc"
    path.write_text(f"Text.\n\n{attributes}\n|===\nName,Role\nAnn,Lead\n|===\n\nMore.\n", encoding="utf-8")
    assert texts(path) == ["Text.", "More."]


UNDERLINED = """\
The *guide*
===========
An Author <a@example.org>

NAME
----
dog-run - Run with it

1. Introduction
---------------
This runs.

====
Note
====

* item
+
Run:
----
code
----

term::
-----
code
-----

Deeper
~~~~~~
The end.
"""


def test_a_line_under_a_title_is_as_long_as_this(tmp_path: Path) -> None:
    path = tmp_path / "a.adoc"
    path.write_text(UNDERLINED, encoding="utf-8")
    expected = ["The guide", "NAME", "dog-run - Run with it", "1. Introduction", "This runs.", "Note", "item", "Run:"]
    document = check_laws(path)
    assert spliced_texts(document) == [*expected, "term", "Deeper", "The end."]
    check_changed(document, tmp_path)
    new = {"NAME": "이름", "1. Introduction": "1. 소개", "Deeper": "A deeper title", "This runs.": "달린다."}
    result = replaced(document, new).decode()
    changed = UNDERLINED.replace("NAME\n----\n", "이름\n--\n").replace(
        "Deeper\n~~~~~~\n", "A deeper title\n" + 14 * "~" + "\n"
    )
    assert result == changed.replace("1. Introduction\n---------------\n", "1. 소개\n-----\n").replace(
        "This runs.", "달린다."
    )
    assert document.remarks == []


@pytest.mark.parametrize("content", ["Two lines\nof text\n-------\nx\n-------\n", "[source]\n--------\nx\n--------\n",
                                     ".Caption\n--------\nx\n--------\n", "Longer text:\n----\nx\n----\n"])  # fmt: skip
def test_a_border_under_other_lines_is_that_of_code(tmp_path: Path, content: str) -> None:
    path = tmp_path / "a.adoc"
    path.write_text(f"{content}\nLast.\n", encoding="utf-8")
    assert "x" not in texts(path)
    assert texts(path)[-1] == "Last."
    hold_identity(path)


@pytest.mark.parametrize(
    ("content", "expected", "shown"),
    [
        ("Use Ctrl+C and Ctrl+V.", "Use Ctrl+C and Ctrl+V.", []),
        ("C++ and Java or C++.", "C++ and Java or C++.", []),
        ("It`s here and it`s there.", "It`s here and it`s there.", []),
        ("Not +a _b_+ or ++c++ or `d` or ``e``f.", "Not +a _b_+ or ++c++ or `d` or ``e``f.",
         ["+a _b_+", "++c++", "`d`", "``e``"]),
        ("She said \"`hello `x` there`\" and '`one *two*`'.", "She said “hello `x` there” and ‘one two’.", ["`x`"]),
        ("An '`opened `x` only.", "An '`opened `x` only.", ["`x`"]),
        ("See link:a.html[the page,window=_blank] or https://a.example[it^].", "See the page or it.", []),
        ('See {url-x}[the docs] or {url}/a#b["Two, three",role=x] of {name}.', "See the docs or Two, three of {name}.",
         ["{name}"]),
    ],
)  # fmt: skip
def test_what_is_text_of_a_line(tmp_path: Path, content: str, expected: str, shown: list[str]) -> None:
    path = tmp_path / "a.adoc"
    path.write_text(f"{content}\n", encoding="utf-8")
    document = check_laws(path)
    (unit,) = document.units
    assert unit.source.text == expected
    assert [expected[begin:end] for begin, end in unit.source.protected] == shown
    check_changed(document, tmp_path)


def test_a_note_behind_an_attribute_is_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "a.adoc"
    path.write_text("The {name}.footnote:[A note.] stays.\n", encoding="utf-8")
    assert texts(path) == ["The {name}.", "A note.", "stays."]


def test_code_next_to_a_letter_has_its_signs_twice(tmp_path: Path) -> None:
    path = tmp_path / "a.adoc"
    path.write_text("Call `foo` and +bar+ now.\n", encoding="utf-8")
    assert translated(path, [InlineText("`foo`를 +bar+ 다", (), ((0, 5), (7, 12)))]) == "``foo``를 +bar+ 다\n"


TABLE = """\
|===
|A one|B two
|Name |A long
text goes on.

Second paragraph.
// a remark
|c \\| d |* no item
a|* first
* second
|* first
* second
2+^.>s|Two wide | last
ifdef::x[]
|Of a condition
endif::[]
|===

After it.
"""


def test_cells_end_at_the_next_sign(tmp_path: Path) -> None:
    path = tmp_path / "a.adoc"
    path.write_text(TABLE, encoding="utf-8")
    document = check_laws(path)
    cells = ["A one", "B two", "Name", "A long text goes on.", "Second paragraph.", "* no item"]
    assert spliced_texts(document) == [*cells, "Two wide", "last", "Of a condition", "After it."]
    check_changed(document, tmp_path)
    result = replaced(document, {"A long text goes on.": "긴 글이 이어진다."}).decode()
    assert result == TABLE.replace("A long\ntext goes on.", "긴 글이 이어진다.")
