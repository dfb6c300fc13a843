"""Markdown: what is written reads as the same blocks with the same markup, or the unit stays as it was."""

from collections import Counter
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from documents.real import needs_data, real
from documents.splicing import check_changed, check_laws, opened, replaced, texts, written
from dragoman.text.words.inline import Code, InlineText

PAGE = """\
---
title: "A: b"
weight: 3
description: Plain words here
---

# Title with `code` {#anchor}

Setext *heading*
two lines
================

> A quote  \r
> broken by hand, then a
> soft one.
>
> - item [link
>   text](http://x.y "T") end
> - [ ] task

!!! note "Read this"
    Body of the **note**.

[^1]: A note
    of two lines.

Text[^1] with $x^2$ for $5 and $6, [ref][id], [shortcut], <https://a.b>, :smile: and ==mark==.

[id]: http://e.f "Title"
[shortcut]: http://g.h

$$
a = b
$$
<details>
<summary>More <b>info</b></summary>

Inside <kbd>Ctrl</kbd> &copy; \\* ~~gone~~ ***both***.

</details>

| a | b |
|:--|--:|
| one `x \\| y` | two<br>three |
| [l](u) \\| z | |

```sh
echo "code"
```

    more code

![An image](i.png "t") <img src=x alt="Other">
Term
: definition
"""


def page(tmp_path: Path) -> Path:
    path = tmp_path / "a.md"
    path.write_bytes(PAGE.encode())
    return path


def html(text: str) -> Counter[str]:
    """The tags of the rendered page, by a parser without our rules."""
    tokens = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(text)
    inline = [child for token in tokens for child in token.children or []]
    return Counter(
        f"{token.type} {token.attrs.get('href', '')}" for token in [*tokens, *inline] if token.type != "text"
    )


def test_what_is_text_and_what_is_not(tmp_path: Path) -> None:
    document = check_laws(page(tmp_path))
    assert texts(document) == [
        "A: b",
        "Plain words here",
        "Title with `code`",
        "Setext heading two lines",
        "A quote\nbroken by hand, then a soft one.",
        "item link text end",
        "task",
        "Read this",
        "Body of the note.",
        "A note of two lines.",
        "Text with $x^2$ for $5 and $6, ref, shortcut, <https://a.b>, and mark.",
        "More info",
        "Inside Ctrl © * gone both.",
        "a",
        "b",
        "one `x \\| y`",
        "two\nthree",
        "l | z",
        "An image",
        "Other",
        "Term",
        "definition",
    ]
    assert document.notices == ()
    check_changed(document, tmp_path)


def test_a_translation_is_inside_the_same_markup(tmp_path: Path) -> None:
    document = opened(page(tmp_path))
    new = {
        "A: b": '"갑": 을',
        "Plain words here": "- 평범한: 말",
        "Read this": 'Say "yes"',
        "A quote\nbroken by hand, then a soft one.": "인용\n손으로 나눔",
        "two\nthree": "둘 | 이\n셋",
        "An image": "[그림]",
    }
    result = replaced(document, new).decode()
    assert 'title: "\\"갑\\": 을"\nweight: 3\ndescription: "- 평범한: 말"\n' in result
    assert "!!! note \"Say 'yes'\"\n" in result
    assert "> 인용  \r\n> 손으로 나눔\n>\n" in result
    assert "| 둘 \\| 이<br>셋 |" in result
    assert "![\\[그림\\]](i.png" in result
    assert document.remarks == []


def test_a_link_by_its_own_text_still_points_to_its_label(tmp_path: Path) -> None:
    document = opened(tmp_path / "a.md", "See [home] or [that][].\n\n[home]: /h\n[that]: /t\n")
    result = replaced(document, {"See home or that.": "집이나 저것을 봐요"}).decode()
    assert "][home]" in result
    assert "][that]" in result
    assert html(result) == html("See [home] or [that][].\n\n[home]: /h\n[that]: /t\n")


@pytest.mark.parametrize(
    "text",
    [
        "# no heading",
        "- no list",
        "1. no list",
        "> no quote",
        "a *b* _c_ `d` **e**",
        "<b>x</b> &amp; <script>",
        "[a](b) [c]",
        "===",
        "---",
        "    code",
        "| a | b |",
        "::: x",
        "!!! x",
        "$$",
        "\\* x \\",
        "a ~~b~~ ==c==",
        "[^1]: x",
        "+ a",
        "~~~",
        "snake_case_name 2 * 3 * 4",
        "a\\",
        "![x](y)",
        "<https://x.y>",
        "{{x}} :smile:",
        "1) a",
        "```",
        "`",
        "***",
        "C:\\dir",
    ],
)
@pytest.mark.parametrize(
    "source", ["Some text.\n", "> - Some text.\n\n  after\n", "# Some text.\n", "|a|b|\n|-|-|\n|Some text.|c|\n"]
)
def test_text_that_looks_like_markup_stays_text(tmp_path: Path, source: str, text: str) -> None:
    document = opened(tmp_path / "a.md", source)
    text = text if any(map(str.isalpha, text)) else text + " words"
    result = written(document, lambda each: InlineText(text) if each.text == "Some text." else None).decode()
    if document.remarks:
        assert result == source
    else:
        assert html(result) == html(source)
        assert " ".join(text.split()) in texts(opened(tmp_path / "b.md", result))


def test_styles_next_to_letters_are_written_so_that_they_are_read(tmp_path: Path) -> None:
    document = opened(tmp_path / "a.md", "The _file_ is **(new)** here.\n")
    (unit,) = document.units
    names = [code.name for code in unit.source.codes]
    # Korean particles follow without a space, brackets and spaces are inside of the spans.
    text = "그파일은 (새 것)입니다 여기."
    codes = [
        Code(1, "open", names[0]),
        Code(3, "close", names[0]),
        Code(4, "open", names[2]),
        Code(10, "close", names[2]),
    ]
    result = written(document, lambda _: InlineText(text, tuple(codes))).decode()
    assert result == "그*파일*은 <strong>(새 것)</strong>입니다 여기.\n" or document.remarks == []
    assert "<em>파일</em>" in MarkdownIt("commonmark").render(result)
    assert "<strong>(새 것)</strong>" in MarkdownIt("commonmark").render(result)


def test_a_line_for_each_sentence_stays_so(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_text("> One sentence.\n> Another one.\n\nOne line\nof two.\n")
    document = check_laws(path)
    assert texts(document) == ["One sentence.\nAnother one.", "One line of two."]
    new = {"One sentence.\nAnother one.": "한 문장.\n다른 문장.", "One line of two.": "두 줄의 하나."}
    assert replaced(document, new).decode() == "> 한 문장.\n> 다른 문장.\n\n두 줄의 하나.\n"


def test_a_table_that_is_none_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_text("| a \\| b | `c | d` |\n|---|---|\n| x | y |\n")
    document = check_laws(path)
    assert texts(document) == []
    assert document.notices == ("line 1: a broken table stays untranslated",)


@pytest.mark.slow
@pytest.mark.parametrize(
    "mark", ["{{", "$", "$$", "[", "![", "*a ", "_", "`", "<", "&", "> ", "- ", "\\(", "[^", ":a", "{%", "=="]
)
def test_one_mark_again_and_again_is_no_trouble(tmp_path: Path, mark: str) -> None:
    opened(tmp_path / "a.md", mark * 2000 + "\n")


@needs_data
@pytest.mark.parametrize("path", real("md") + [p for p in real("hostile") if p.suffix == ".md"], ids=lambda p: p.name)
def test_pages_of_other_people(tmp_path: Path, path: Path) -> None:
    document = check_laws(path)
    check_changed(document, tmp_path)
    assert document.remarks == []


def test_abbreviations_and_lines_of_mdx_stay(tmp_path: Path) -> None:
    page = (
        'import Tabs from "./tabs"\nimport {\n  A,\n  B\n} from \'./b\';\nimport "./c.css";\n\n# Settings\n\n'
        "export const size = 3\n\nexport default function F() {\n  return <b>No text</b>\n}\n\n"
        "import the file now.\n\nHTML is open.\n\n*[HTML]: Hyper Text Markup Language\n*[CSS]: Some styles\n\n"
        "![x_{i}^2](a.svg) and ![A map](b.svg)\n"
    )
    document = opened(tmp_path / "a.md", page)
    assert texts(document) == ["Settings", "import the file now.", "HTML is open.", "and", "A map"]
    check_changed(check_laws(document.path), tmp_path)


def test_a_backslash_before_a_letter_is_text(tmp_path: Path) -> None:
    document = opened(tmp_path / "a.md", "Open C:\\Windows\\drivers, 5\\% off, `x\\y`.\n")
    assert texts(document) == ["Open C:\\Windows\\drivers, 5% off, `x\\y`."]
    assert "C:\\Windows\\drivers" in check_laws(document.path).path.read_text()


def test_a_value_over_two_lines_of_the_front_matter_is_one_text(tmp_path: Path) -> None:
    page = "---\ntitle: One\ndescription: What is new and\n  how to upgrade\nweight: 3\n---\n\nText.\n"
    document = opened(tmp_path / "a.md", page)
    assert texts(document) == ["One", "What is new and how to upgrade", "Text."]
    result = replaced(document, {"What is new and how to upgrade": "새 것: 이렇게"}).decode()
    assert '\ndescription: "새 것: 이렇게"\nweight: 3\n' in result
    assert replaced(document, {}).decode() == page
