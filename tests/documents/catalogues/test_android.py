"""Android strings: escapes, tags and placeholders come back, everything else stays byte for byte."""

from io import BytesIO
from pathlib import Path

import pytest

from documents.real import needs_data, real
from dragoman.documents.catalogues import android
from dragoman.documents.core.document import Document, DocumentOptions
from dragoman.errors import DataError
from dragoman.text.words.inline import InlineText

SAMPLE = r"""<?xml version="1.0" encoding="utf-8"?>
<resources xmlns:xliff="urn:oasis:names:tc:xliff:document:1.2">
  <string name="app" translatable="false">Dragoman</string>
  <string name="ref">@string/app</string>
  <string name="count">%1$d</string>
  <!-- Max length: 12 -->
  <string name="dont">"Don\'t \"stop\" <b>now</b>"</string>
  <string name="left"><xliff:g id="n" example="3">%1$d</xliff:g> left, it&#8217;s &lt;i>late&lt;/i></string>
  <string name="page"><![CDATA[<p>Read <a href="x">this &amp; that</a></p>]]></string>
  <string name="two">One line\nand the next</string>
  <skip />
  <string-array name="days"><item>Monday</item><item>5</item><item>Tuesday</item></string-array>
  <plurals name="files"><item quantity="one">a file</item><item quantity="other">%d files</item></plurals>
</resources>
"""
EN_KO = DocumentOptions("en", "ko")


def opened(tmp_path: Path, content: str) -> Document:
    path = tmp_path / "strings.xml"
    path.write_bytes(content.encode())
    return android.read(path, EN_KO)


def written(document: Document, texts: list[InlineText | None]) -> str:
    file = BytesIO()
    android.write(document, texts, EN_KO, file)
    return file.getvalue().decode()


def test_units(tmp_path: Path) -> None:
    units = list(opened(tmp_path, SAMPLE).units)
    assert [(unit.location, unit.source.text) for unit in units] == [
        ("dont", 'Don\'t "stop" now'),
        ("left", "%1$d left, it’s late"),
        ("page", "Read this & that"),
        ("two", "One line\nand the next"),
        ("days 0", "Monday"),
        ("days 2", "Tuesday"),
        ("files one", "a file"),
        ("files other", "%d files"),
    ]
    assert units[0].max_length == 12
    assert [[code.kind for code in unit.source.codes] for unit in units[:3]] == [["open", "close"]] * 3
    assert units[1].source.protected == ((0, 4),)


def test_nothing_changes_without_translations_or_with_the_sources(tmp_path: Path) -> None:
    document = opened(tmp_path, SAMPLE)
    units = list(document.units)
    assert written(document, [None] * len(units)) == SAMPLE
    assert written(document, [unit.source for unit in units]) == SAMPLE


def test_translations_are_escaped_for_xml_and_for_android(tmp_path: Path) -> None:
    document = opened(tmp_path, SAMPLE)
    texts: list[InlineText | None] = [None] * len(list(document.units))
    texts[3:6] = [InlineText("@한 줄\n'<b>' & \"C:\\\""), InlineText("?월요일"), None]
    result = written(document, texts)
    assert r"""<string name="two">\@한 줄\n\'&lt; b&gt;\' &amp; \"C:\\\"</string>""" in result
    assert r"<item>\?월요일</item>" in result
    again = list(opened(tmp_path, result).units)
    assert again[4].source.text == "?월요일"


def test_what_people_read_survives_another_language(tmp_path: Path) -> None:
    document = opened(tmp_path, SAMPLE)
    units = list(document.units)
    source = units[2].source
    text = "이것과 저것을 읽기"
    codes = tuple(
        type(code)(position, code.kind, code.name) for position, code in zip((0, 7), source.codes, strict=True)
    )
    result = written(document, [InlineText(text, codes) if unit is units[2] else None for unit in units])
    assert '<![CDATA[<p><a href="x">이것과 저것을</a> 읽기</p>]]>' in result


def test_a_section_may_end_with_text_and_what_cannot_be_read_again_is_not_the_fault_of_the_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = opened(tmp_path, "<resources><string name='a'><![CDATA[Read [1] this]]></string></resources>")
    assert [unit.source.text for unit in document.units] == ["Read [1] this"]
    assert "<![CDATA[읽기 ]]></string>" in written(document, [InlineText("읽기 ")])
    monkeypatch.setattr(android, "escape", lambda text, encoding: "<")
    document = opened(tmp_path, SAMPLE)
    with pytest.raises(DataError, match=r"its translation could not be read again .*; nothing was written, please"):
        written(document, [*[None] * 4, InlineText("하나"), *[None] * 3])


def test_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="not Android resources, but <r>"):
        opened(tmp_path, "<r/>")
    with pytest.raises(DataError, match="declares the entity 'a'"):
        opened(tmp_path, '<!DOCTYPE r [<!ENTITY a "b"><!ENTITY c "&a;&a;">]><resources/>')


@needs_data
@pytest.mark.parametrize("path", real("android"), ids=lambda path: path.name)
def test_real_files(path: Path, tmp_path: Path) -> None:
    document = android.read(path, EN_KO)
    units = list(document.units)
    content = path.read_bytes().decode()
    assert written(document, [None] * len(units)) == content
    assert written(document, [unit.source for unit in units]) == content
    texts = [InlineText(f"'{unit.source.text}", unit.source.codes) for unit in units]
    moved = [
        InlineText(each.text, tuple(type(code)(code.position + 1, code.kind, code.name) for code in each.codes))
        for each in texts
    ]
    again = list(opened(tmp_path, written(document, moved)).units)
    assert [unit.source.text for unit in again] == [each.text for each in moved]


def test_a_tag_around_the_whole_translation_is_no_damage(tmp_path: Path) -> None:
    document = opened(tmp_path, SAMPLE)
    units = list(document.units)
    codes = tuple(type(code)(at, code.kind, code.name) for at, code in zip((0, 3), units[0].source.codes, strict=True))
    texts = [InlineText("멈추", codes), *[None] * (len(units) - 1)]
    assert '<string name="dont">"<b>멈추</b>"</string>' in written(document, texts)


def test_a_tag_with_an_escape_before_it_is_a_tag(tmp_path: Path) -> None:
    content = r'<resources><string name="a"><![CDATA[<b>Hello %s\</b>, open \<i>it\</i>.]]></string></resources>'
    document = opened(tmp_path, content)
    (unit,) = document.units
    result = written(document, [InlineText(unit.source.text.upper(), unit.source.codes, unit.source.protected)])
    assert r"<![CDATA[<b>HELLO %S\</b>, OPEN \<i>IT\</i>.]]>" in result


@pytest.mark.parametrize(
    ("string", "text", "expected"),
    [
        (r"Welcome \uD83D\uDE00 back", "Welcome 😀 back", "WELCOME 😀 BACK"),
        (r"\ud83c\uddf0\ud83c\uddf7 \u00e9 it", "🇰🇷 é it", "🇰🇷 É IT"),
        ("<![CDATA[Terms & Conditions < 5]]>", "Terms & Conditions < 5", "<![CDATA[TERMS & CONDITIONS < 5]]>"),
        ("<![CDATA[<b>Terms</b> & so]]>", "Terms & so", "<![CDATA[<b>TERMS</b> &amp; SO]]>"),
        ("<![CDATA[Terms &#38; so]]>", "Terms & so", "<![CDATA[TERMS &amp; SO]]>"),
        ("<![CDATA[See &#abc; & so]]>", "See &#abc; & so", "<![CDATA[SEE &#ABC; & SO]]>"),
        (
            "<![CDATA[See &#xffffff; &#55357;]]>",
            "See &#xffffff; &#55357;",
            "<![CDATA[SEE &amp;#XFFFFFF; &amp;#55357;]]>",
        ),
    ],
)
def test_characters_are_those_that_an_app_shows(string: str, text: str, expected: str, tmp_path: Path) -> None:
    document = opened(tmp_path, f'<resources><string name="a">{string}</string></resources>')
    [unit] = document.units
    assert unit.source.text == text
    new = InlineText(text.upper(), unit.source.codes, unit.source.protected)
    assert f'<string name="a">{expected}</string>' in written(document, [new])


def test_the_end_of_a_section_in_a_translation_is_divided(tmp_path: Path) -> None:
    document = opened(tmp_path, "<resources><string name='a'><![CDATA[Read & this]]></string></resources>")
    result = written(document, [InlineText("a]]>b <i> & c")])
    assert "<![CDATA[a]]]]><![CDATA[>b < i> & c]]></string>" in result
