"""Fluent: messages, attributes and variants change; placeables, terms and keys of the keyboard stay."""

from pathlib import Path

import pytest

pytest.importorskip("fluent.syntax")

from fluent.syntax import FluentParser, ast

from documents.laws import hold_identity, hold_reading_again, opened, texts, translated, written
from documents.real import SAMPLES
from dragoman.errors import DataError
from dragoman.text.words.inline import InlineText

SAMPLE = SAMPLES / "app.ftl"


def test_messages_are_text_and_the_rest_stays(tmp_path: Path) -> None:
    _, units = opened(SAMPLE)
    assert [(unit.location, unit.source.text, unit.context) for unit in units] == [
        ("hello", "Hello, { $name }, the dog!", "A greeting"),
        ("long", "The first line goes over two lines, for { -brand }.", ""),
        ("count", "{ $n } are here", ""),
        ("count: $n one", "{ $n } file", ""),
        ("count: $n other", "{ $n } files", ""),
        ("open-button", "Open", ""),
        ("open-button.title", 'The { "{" }button', ""),
    ]
    assert [code.kind for code in units[0].source.codes] == ["open", "close"]
    assert hold_identity(SAMPLE) == 7
    hold_reading_again(SAMPLE, tmp_path)
    new = translated(SAMPLE, [None, "[{ -brand }] 줄", "여기에 { $n }", None, "파일 { $n }", "열기", None])
    expected = SAMPLE.read_text().replace(
        "The first line goes over\n    two lines, for { -brand }.", '{ "[" }{ -brand }] 줄'
    )
    expected = expected.replace("count = {", "count = 여기에 {").replace("{ $n } files", "파일 { $n }")
    assert new == expected.replace("  } are here", "  }").replace("= Open", "= 열기")
    assert not [entry for entry in FluentParser().parse(new).body if isinstance(entry, ast.Junk)]


def test_line_ends_of_windows_and_blank_lines(tmp_path: Path) -> None:
    path = tmp_path / "a.ftl"
    path.write_bytes(b"a =\r\n    One\r\n    two\r\n\r\n    three\r\nb = Four\r\n")
    assert texts(path) == ["One two\n\nthree", "Four"]
    assert hold_identity(path) == 2
    assert translated(path, ["하나", None]) == "a =\r\n    하나\r\nb = Four\r\n"


def test_a_translation_with_another_variable_is_not_written() -> None:
    document, units = opened(SAMPLE)
    new = [InlineText("{ $nome }", protected=((0, 9),)), *[None] * (len(units) - 1)]
    assert written(document, new) == SAMPLE.read_bytes()
    assert document.remarks[0].startswith("hello: not translated")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "no message of Fluent"),
        (b"<#if x>${y}</#if>", "no message of Fluent"),
        (b"a = \xb0\xa1", "is not UTF-8"),
        (b"a = " + b"{" * 3000, "nested too deeply|no message"),
    ],
)
def test_refused(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "a.ftl"
    path.write_bytes(content)
    with pytest.raises(DataError, match=message):
        opened(path)


def test_what_is_not_fluent_is_named_and_stays(tmp_path: Path) -> None:
    path = tmp_path / "a.ftl"
    path.write_text("a = One\nno fluent\nb = { $x\n", encoding="utf-8")
    document, units = opened(path)
    assert [unit.location for unit in units] == ["a"]
    assert [notice.partition(":")[0] for notice in document.notices] == ["line 2", "line 3"]
    assert translated(path, ["하나"]) == "a = 하나\nno fluent\nb = { $x\n"
