"""MDX: Markdown changes; modules, expressions and JSX stay byte for byte."""

from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from documents.laws import hold_identity, opened, texts, translated
from documents.real import SAMPLES
from documents.splicing import check_changed, check_laws
from dragoman.documents.core.splice import UnreadableTranslation
from dragoman.documents.markup import markdown
from dragoman.errors import DataError
from dragoman.text.words.inline import InlineText

SAMPLE = SAMPLES / "page.mdx"


def test_markdown_is_text_and_the_rest_stays(tmp_path: Path) -> None:
    _, units = opened(SAMPLE)
    assert [(unit.location, unit.source.text) for unit in units] == [
        ("line 2", "The page"),
        ("line 11", "The dog"),
        ("line 13", "A big cat costs 5 and `{code}` stays."),
        ("line 15", "A note"),
        ("line 16", "The red bird is here."),
        ("line 22", "One item"),
        ("line 34", "The end"),
    ]
    assert hold_identity(SAMPLE) == 7
    check_changed(check_laws(SAMPLE), tmp_path)
    new = translated(SAMPLE, [None, None, None, "쪽지", None, "하나 {x} <y> 1 < 2", None])
    expected = SAMPLE.read_text().replace('"A note"', '"쪽지"')
    assert new == expected.replace("One item", "하나 &#123;x&#125; &lt;y> 1 &lt; 2")


def test_expressions_keep_their_places(tmp_path: Path) -> None:
    path = tmp_path / "a.mdx"
    path.write_text("The {a ? 'x}' : \"y\"} dog, <b className={c}>a cat</b>.\n", encoding="utf-8")
    (unit,) = opened(path)[1]
    assert unit.source.text == "The dog, a cat."
    places = [replace(code, position=at) for code, at in zip(unit.source.codes, (0, 3, 6), strict=True)]
    text = InlineText("개, 고양이.", tuple(places))
    assert translated(path, [text]) == "{a ? 'x}' : \"y\"} 개, <b className={c}>고양이</b>.\n"


def test_nothing_is_masked_in_code_and_formulas(tmp_path: Path) -> None:
    path = tmp_path / "a.mdx"
    path.write_text("See ``a ` {b``, `<T>` and $x_{1}$ where a > b.\n\n~~~\n{ <\n~~~\n", encoding="utf-8")
    assert texts(path) == ["See ``a ` {b``, `<T>` and $x_{1}$ where a > b."]
    assert hold_identity(path) == 1


LONG_TAGS = """\
<Card
  title="A card"
  href='/x'

>
  The body.
</Card>

One <a
  href="/x"
>link
</a> here.

<img
  alt="A photo"
/>

<Tabs
  items={{a: 1}}
>

Inside

</Tabs>

![A {x} dog](a.png) at {y}
"""


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_tags_over_several_lines_stay(tmp_path: Path, line_end: str) -> None:
    """Markdown would read `>` on a line of its own as a quote."""
    path = tmp_path / "a.mdx"
    path.write_bytes(LONG_TAGS.replace("\n", line_end).encode())
    document, units = opened(path)
    assert [(unit.location, unit.source.text) for unit in units] == [
        ("line 1", "A card"),
        ("line 6", "The body."),
        ("line 9", "One link here."),
        ("line 14", "A photo"),
        ("line 22", "Inside"),
        ("line 26", "at"),
    ]
    assert document.notices == ("line 26: has an expression and stays untranslated",)
    assert hold_identity(path) == 6
    result = translated(path, ["카드", "글", None, "사진", "안", None])
    new = {"A card": "카드", "The body.": "글", "A photo": "사진", "Inside": "안"}
    expected = LONG_TAGS.replace("\n", line_end)
    for text, translation in new.items():
        expected = expected.replace(text, translation)
    assert result == expected
    check_changed(check_laws(path), tmp_path)


@pytest.mark.parametrize(
    ("content", "text", "translation", "expected"),
    [
        ("<A size='5\"'>\n\nSome text\n\n</A>\n", "Some text", "글", "<A size='5\"'>\n\n글\n\n</A>\n"),
        ('<A\n  title="One\n  two"\n>\n\nText\n\n</A>\n', "Text", "글", '<A\n  title="One\n  two"\n>\n\n글\n\n</A>\n'),
        ("---\ntitle: The part\n---\n", "The part", "부분 <b> {y}", "---\ntitle: 부분 <b> {y}\n---\n"),
    ],
    ids=["quotation mark in an attribute", "attribute of two lines", "front matter is no MDX"],
)
def test_a_text_next_to_what_stays(tmp_path: Path, content: str, text: str, translation: str, expected: str) -> None:
    path = tmp_path / "a.mdx"
    path.write_text(content, encoding="utf-8")
    assert [unit.source.text for unit in opened(path)[1]] == [text]
    assert translated(path, [translation]) == expected


def test_what_has_lost_an_expression_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.mdx"
    path.write_text("One {x} and <B c={d}>two</B>\n", encoding="utf-8")
    monkeypatch.setattr(markdown, "write", lambda *call: call[-1].write(b'&lt;mdx-0 data-mdx="1"/> <mdx-1>two</mdx-1>'))
    with pytest.raises(UnreadableTranslation, match="other tags or expressions"):
        translated(path, [None])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"One\n\nThe {x dog\n", r"a\.mdx:3: this expression in braces does not end"),
        (b"The <Tag x={1} dog\n", r"a\.mdx:1: this tag does not end"),
        (b"\xb0\xa1", "is not UTF-8"),
        (b"<mdx-1/>", "begin with mdx"),
    ],
)
def test_refused(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "a.mdx"
    path.write_bytes(content)
    with pytest.raises(DataError, match=message):
        opened(path)


@pytest.mark.parametrize("unit", ["{", "`", "<a ", "$x", "import a\n\n", "{'", "<>", "~~~\n", "`{", '<a b="'])
def test_the_time_is_that_of_the_length(tmp_path: Path, unit: str) -> None:
    path = tmp_path / "a.mdx"
    path.write_text(unit * 5000, encoding="utf-8")
    with suppress(DataError):
        opened(path)
