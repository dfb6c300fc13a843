"""Markdown: what is written reads as the same blocks with the same markup, or the unit stays as it was."""

import tomllib
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


def upper(source: InlineText) -> InlineText:
    """The text in capitals, outside of its protected spans."""
    text = "".join(letter.upper() if len(letter.upper()) == 1 else letter for letter in source.text)
    for begin, end in source.protected:
        text = text[:begin] + source.text[begin:end] + text[end:]
    return InlineText(text, source.codes, source.protected)


@pytest.mark.parametrize(
    ("page", "result"),
    [
        ('See [the page]({{< ref "/a b" >}}) now.', 'SEE [THE PAGE]({{< ref "/a b" >}}) NOW.'),
        ('A [page]({% link a.md %} "A title").', 'A [PAGE]({% link a.md %} "A title").'),
        ("Here ![a {{ n | f: 1 }} cat]({{ site.url }}/p.png).", "HERE ![A {{ n | f: 1 }} CAT]({{ site.url }}/p.png)."),
        ('An <a href="{{ "x" | url }}">end</a>.', 'AN <a href="{{ "x" | url }}">END</a>.'),
        ('The [text][a] or [post].\n\n[a]: {{< ref "/a" >}}\n[post]: {% post_url b %} "T"',
         'THE [TEXT][a] OR [POST][post].\n\n[a]: {{< ref "/a" >}}\n[post]: {% post_url b %} "T"'),
        ('[Out](u){:target="_blank"} ![a](p){width="5_0%"}.', '[OUT](u){:target="_blank"} ![A](p){width="5_0%"}.'),
        ('# A title {data_x="y"}', '# A TITLE {data_x="y"}'),
        ("A set {x=1} here.", "A SET {X=1} HERE."),
        ("Code `{{` and `}}` here.", "CODE `{{` AND `}}` HERE."),
        ('The <%= erb "x" %> end.', 'THE <%= erb "x" %> END.'),
        ("At https://a.b/F_(b), *https://a.b/x_y* or a\\*b.", "AT HTTPS://A.B/F_(B), *HTTPS://A.B/X_Y* OR A\\*B."),
        (":+1: is good :100:", ":+1: IS GOOD :100:"),
    ],
)  # fmt: skip
def test_what_other_tools_read_in_a_text_stays(tmp_path: Path, page: str, result: str) -> None:
    """Liquid, Hugo and Kramdown: addresses that are templates, attributes, symbols."""
    document = check_laws(opened(tmp_path / "a.md", f"{page}\n").path)
    assert written(document, upper).decode() == f"{result}\n"
    assert document.remarks == []


BLOCKS = """\
{% highlight ruby %}
puts 'hello' / highlight

other
{% endhighlight %}
{{< highlight go >}}
func main() {}

{{< /highlight >}}
{% comment %} hidden {% endcomment %}

{% highlight js %}
Is text, since it never ends.

{% raw %}
Some {{ x }} words
{% endraw %}

(a-label)=
# A heading

:::{figure} a.png
:name: fig
:alt: Stays

A caption
:::

:::tip My title
Inside
:::

::: warning[A label]{#id}
:::

:::{admonition} An aside
:class: tip
:::

:::image type="content" source="x y":::

--8<-- "file.md"

--8<--
a_file.md
--8<--

:::{toctree}
:maxdepth: 2

intro
usage
:::

:::{code-block} python
print("hello")
:::

:::tabs key:foo bar
Of a tab
:::

::: slot footer
:::

:name: is text
"""


def test_blocks_of_other_tools(tmp_path: Path) -> None:
    document = check_laws(opened(tmp_path / "a.md", BLOCKS).path)
    assert texts(document) == [
        "Is text, since it never ends.",
        "Some {{ x }} words",
        "A heading",
        "A caption",
        "My title",
        "Inside",
        "A label",
        "An aside",
        "Of a tab",
        "is text",
    ]
    check_changed(document, tmp_path)
    result = replaced(opened(tmp_path / "a.md", BLOCKS), {"My title": '새 "제목"', "A label": "이름"}).decode()
    assert result == BLOCKS.replace("My title", "새 '제목'").replace("A label", "이름")


@pytest.mark.parametrize(
    ("callout", "text", "result"),
    [
        ("> [!TIP] Title\n> Body words.\n", "Title\nBody words.", "> [!TIP] 제목\n> 본문.\n"),
        ("> [!faq]- Title\n> Body\n> words.\n", "Title\nBody words.", "> [!faq]- 제목\n> 본문.\n"),
        ("> [!my-note|left]+ Title\n> Body words.\n", "Title\nBody words.", "> [!my-note|left]+ 제목\n> 본문.\n"),
    ],
)
def test_the_title_of_a_callout_ends_with_its_line(tmp_path: Path, callout: str, text: str, result: str) -> None:
    document = check_laws(opened(tmp_path / "a.md", callout).path)
    assert texts(document) == [text]
    assert replaced(document, {text: "제목\n본문."}).decode() == result


def test_a_callout_without_a_title_is_its_body(tmp_path: Path) -> None:
    document = check_laws(opened(tmp_path / "a.md", "> [!NOTE]\n> Body\n> words.\n").path)
    assert replaced(document, {"Body words.": "본문."}).decode() == "> [!NOTE]\n> 본문.\n"


def test_a_translation_may_end_its_lines_without_a_full_stop(tmp_path: Path) -> None:
    document = opened(tmp_path / "a.md", "One sentence.\nAnother one.\n\nThe end.\n</b>\n")
    new = {"One sentence.\nAnother one.": "한 문장\n다른 문장", "The end.": "끝"}
    assert replaced(document, new).decode() == "한 문장\n다른 문장\n\n끝\n</b>\n"
    assert document.remarks == []


FRONT = """\
title: 2024 in review # a remark
date: 2024-01-01
description: >-
  A folded text
  of two lines.

  The second.
summary: |+

    One sentence.
    Another one.

excerpt: |
  One text
  in two lines.
tagline: 'It''s: so'
short_title: true
sidebar_label: {{ x }}
"""


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_blocks_of_the_front_matter_are_texts(tmp_path: Path, line_end: str) -> None:
    page = f"---\n{FRONT}---\nText.\n".replace("\n", line_end)
    document = check_laws(opened(tmp_path / "a.md", page).path)
    assert texts(document) == [
        "2024 in review",
        "A folded text of two lines.\nThe second.",
        "One sentence.\nAnother one.",
        "One text in two lines.",
        "It's: so",
        "Text.",
    ]
    assert document.notices == ()
    new = ["2024년", "- 하나:\n# 둘", "한 문장.\n둘째.", "'글'", "그'것: 임", None]
    translations = iter(InlineText(text) if text else None for text in new)
    result = written(document, lambda _: next(translations)).decode()
    expected = {
        "2024 in review #": '"2024년" #',
        "A folded text\n  of two lines.\n\n  The second.": "- 하나:\n\n  # 둘",
        "One sentence.\n    Another one.": "한 문장.\n    둘째.",
        "One text\n  in two lines.": "'글'",
        "'It''s: so'": "'그''것: 임'",
    }
    for text, translation in expected.items():
        page = page.replace(text.replace("\n", line_end), translation.replace("\n", line_end))
    assert result == page


@pytest.mark.parametrize(
    "value",
    ["|\n  One\n\n  two", ">\n  One\n    two", "[One, two]", '"One \\x"', "One: two", "One #two", "# none\n  x: y"],
)
def test_what_stays_of_the_front_matter_is_named(tmp_path: Path, value: str) -> None:
    document = check_laws(opened(tmp_path / "a.md", f"---\na: b\ndescription: {value}\n---\nText.\n").path)
    is_text = value == "One #two"
    assert texts(document) == ["One", "Text."] if is_text else ["Text."]
    notices = ("line 3: the description in the front matter stays untranslated",)
    assert document.notices == (() if is_text or value.startswith("#") else notices)


def test_front_matter_in_toml(tmp_path: Path) -> None:
    page = '+++\ntitle = \'Hello\'\nsummary = \'World\'\ndescription = """\nMore\n"""\n'
    page += "subtitle = '''Stays'''\n+++\nText.\n"
    document = check_laws(opened(tmp_path / "a.md", page).path)
    stays = "in the front matter stays untranslated"
    assert document.notices == (f"line 4: the description {stays}", f"line 7: the subtitle {stays}")
    result = replaced(document, {"Hello": 'It\'s "it"', "World": "세계"}).decode()
    front = tomllib.loads(result.split("+++")[1])
    assert front == {"title": 'It\'s "it"', "summary": "세계", "description": "More\n", "subtitle": "Stays"}
    assert "summary = '세계'" in result
