"""Strings with tags: pairs and empty elements are codes, the rest of the string is text, and all comes back."""

import re

import pytest

from dragoman.documents.core.passage import ENTITY, plain, units_of, written
from dragoman.text.words.inline import Code, InlineText
from nesting import is_nested

KEEP = re.compile(ENTITY)


def back(text: str, *translations: InlineText | None) -> str:
    return written((plain(text, KEEP),), iter(translations))


def source(text: str) -> InlineText:
    ((_, inline),) = units_of((plain(text, KEEP),))
    return inline


def test_pairs_and_empty_elements_are_codes_and_other_tags_are_text() -> None:
    inline = source('  Press <b>the <i class="x">red</i></b> key<br>or <Name> and a </u> <1/>now. ')
    assert inline.text == "Press the red keyor <Name> and a </u> now."
    assert [(code.kind, code.text) for code in inline.codes] == [
        ("open", "<b>"),
        ("open", '<i class="x">'),
        ("close", "</i>"),
        ("close", "</b>"),
        ("alone", "<br>"),
        ("alone", "<1/>"),
    ]
    assert is_nested(inline)
    assert [inline.text[begin:end] for begin, end in inline.protected] == ["<Name>", "</u>"]


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("<b>a <i>b</b> c</i>", ["open", "close"]),  # crossing: the inner pair gives way
        ("a < b and c > d", []),
        ("<b>a</b><b>b</b>", ["open", "close", "open", "close"]),
        ("<br>a</br>", ["open", "close"]),
        ("<p>a<p>b", []),
        ("a<BR>b", ["alone"]),
    ],
)
def test_codes_are_nested_whatever_the_tags_are(text: str, kinds: list[str]) -> None:
    inline = source(text)
    assert is_nested(inline)
    assert [code.kind for code in inline.codes] == kinds
    assert back(text, None) == back(text, inline) == text


def test_a_translation_has_the_tags_of_the_source_where_it_says() -> None:
    text = " <b>Red</b> key &amp; <x/>door "
    inline = source(text)
    opened, closed, alone = inline.codes
    target = InlineText(
        "문 &amp; 빨간 키",
        (Code(0, "alone", alone.name), Code(8, "open", opened.name), Code(10, "close", closed.name)),
        ((2, 7),),
    )
    assert back(text, target) == " <x/>문 &amp; <b>빨간</b> 키 "


def test_what_is_blank_is_no_unit() -> None:
    for text in ("", "  ", "<b></b>", " <br> "):
        message = (plain(text, KEEP),)
        assert list(units_of(message)) == []
        assert written(message, iter(())) == text


@pytest.mark.parametrize("part", ["<", "<a ", "</", "&", "<a", "<b>", "</b>", "&#"])
def test_long_strings_of_one_kind_are_read(part: str) -> None:
    text = part * (20_000 // len(part)) + " a"
    assert back(text, None) == text
