"""HTML: every byte outside of translated text stays, tags are those of the source, and text never becomes a tag."""

import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from documents.real import needs_data, real
from documents.splicing import check_changed, check_laws, louder, opened, replaced, texts, written
from dragoman.documents import DocumentOptions
from dragoman.errors import DataError
from dragoman.text.words.inline import Code, InlineText

PAGE = """<!DOCTYPE html>\r
<html lang='en' class="no-js">\r
<head><meta charset="utf-8"><title>A &amp; B</title>
<meta name=description content="What it is"><meta name="viewport" content="width=device-width">
<style>p { content: "text" }</style></head>
<body><!-- a <b>remark</b> -->
  <h1 class=x>First\t<em>big</em>
     heading</h1>
<p>Press <kbd>Ctrl</kbd> &mdash; or <a href="/a?b=1&amp;c" title="Go there">click
 here</a><img src=i.png alt=Picture> now.<br>
  Second line <code>x &lt; 1</code>.</p>
<ul><li>One<li translate=no>Two<li><p class="y notranslate">Three</p> <a href="#">Four</a></ul>
<pre>for x in y</pre><script>if (a < b) { "<p>no</p>" }</script>
<input type=submit value='Send it'><input value="typed" placeholder="Your name"> 42 %
"""


def test_what_is_text_and_what_is_not(tmp_path: Path) -> None:
    path = tmp_path / "a.html"
    path.write_bytes(PAGE.encode())
    document = check_laws(path)
    assert texts(document) == [
        "A & B",
        "What it is",
        "First big heading",
        "Press Ctrl — or click here now.\nSecond line x < 1.",
        "Go there",
        "Picture",
        "One",
        "Four",
        "Send it",
        "Your name",
    ]
    units = list(document.units)
    assert [units[3].source.text[begin:end] for begin, end in units[3].source.protected] == ["Ctrl", "x < 1"]
    assert (units[0].location, units[4].location, units[4].context) == ("line 3", "line 9", "title of a")
    check_changed(document, tmp_path)


def test_a_translation_is_between_the_same_tags(tmp_path: Path) -> None:
    document = opened(tmp_path / "a.html", PAGE)
    new = {
        "A & B": "갑 & 을",
        "Picture": 'A "big" <i>',
        "Go there": 'say "go"',
        "First big heading": "첫 <큰>&amp; 제목",
        "Press Ctrl — or click here now.\nSecond line x < 1.": "누르세요 Ctrl, 아니면 여기요 지금.\n둘째 x < 1 줄.",
        "Send it": "It's",
    }
    result = replaced(document, new).decode()
    assert '<html lang="ko" class="no-js">' in result
    assert "<title>갑 &amp; 을</title>" in result
    assert 'title="say &quot;go&quot;"' in result
    assert 'alt="A &quot;big&quot; &lt;i&gt;"' in result
    assert "value='It&#39;s'" in result
    assert "<kbd>Ctrl</kbd>" in result
    assert "<br>둘째" in result
    assert "<code>x &lt; 1</code>" in result
    assert "&amp;amp; 제목" in result.replace("<em>", "").replace("</em>", "")
    tag = re.compile(r"</?([a-z0-9]+)[^>]*>")
    assert Counter(match[1] for match in tag.finditer(result)) == Counter(match[1] for match in tag.finditer(PAGE))


def test_quotes_of_a_value_and_numbers_above_the_line_stay(tmp_path: Path) -> None:
    page = """<p title='"Yes" is right'>A fact<sup>1</sup> and H<sub>2</sub>O, x<sup>th</sup></p>"""
    page += """<track label="It&#39;s &quot;it&quot;">"""
    document = opened(tmp_path / "a.html", page)
    assert texts(document) == ['"Yes" is right', "A fact and HO, xth", 'It\'s "it"']
    assert [code.kind for code in list(document.units)[1].source.codes] == ["alone", "alone", "open", "close"]
    result = replaced(document, {'"Yes" is right': '"네"', 'It\'s "it"': "그것"}).decode()
    assert "title='\"네\"'" in result
    assert 'label="그것"' in result


def test_without_a_translation_the_language_stays(tmp_path: Path) -> None:
    document = opened(tmp_path / "a.html", PAGE)
    assert written(document, lambda text: None) == PAGE.encode()


def test_misnested_and_unclosed_tags_are_borders(tmp_path: Path) -> None:
    path = tmp_path / "a.html"
    path.write_text(
        "<p>One <b>bold <i>both</b> italic</i> end<p>Two <a href=x>link<p>&copy &unknown; a<br>b</a> <b><p>c</b>"
    )
    document = check_laws(path)
    assert texts(document) == ["One", "bold", "both", "italic", "end", "Two", "link", "© &unknown; a\nb", "c"]
    check_changed(document, tmp_path)


def test_elements_that_never_end_are_text(tmp_path: Path) -> None:
    """Kept whole is only what ends, before the next border: its end is known without a search from each."""
    path = tmp_path / "a.html"
    path.write_text(
        f"<p>{'<code>a ' * 3}<sup>b<p translate=no>c<p>d <code>e</code> <ruby>f<p>g</ruby> <code>h</p></code>"
    )
    assert texts(check_laws(path)) == ["a", "a", "a", "b", "d e", "h"]


def test_moved_codes_keep_their_tags(tmp_path: Path) -> None:
    document = opened(tmp_path / "a.html", '<p>a <b id="1">red</b> <i>car</i></p>')
    (unit,) = document.units
    bold, _, italic, _ = unit.source.codes
    codes = (
        Code(0, "open", italic.name),
        Code(3, "close", italic.name),
        Code(4, "open", bold.name),
        Code(7, "close", bold.name),
    )
    assert written(document, lambda text: InlineText("car red", codes)) == b'<p><i>car</i> <b id="1">red</b></p>'


def test_a_page_in_an_older_encoding_stays_in_it(tmp_path: Path) -> None:
    path = tmp_path / "a.html"
    path.write_bytes(
        '<meta http-equiv="Content-Type" content="text/html; charset=euc-kr"><p>똠방각하</p>'.encode("cp949")
    )
    document = check_laws(path)
    assert texts(document) == ["똠방각하"]
    assert replaced(document, {"똠방각하": "漢 😀 é"}).decode("cp949").endswith("<p>漢 &#128512; &#233;</p>")
    path.write_bytes(b"<meta charset=klingon><p>x")
    with pytest.raises(DataError, match="klingon"):
        opened(path)


@pytest.mark.slow
def test_deep_nesting_needs_no_recursion(tmp_path: Path) -> None:
    path = tmp_path / "a.html"
    path.write_text(
        "<title>Deep</title>" + "<div>" * 5_000 + "text" + "<b>" * 3000 + "x" + "</b>" * 3000 + "</div>" * 5_000
    )
    assert texts(check_laws(path)) == ["Deep", "textx"]


@pytest.mark.parametrize(
    "tag", ["<code>", "<sup>", "<svg>", "<", "<a", "&", "<!--", "<p translate=no>", "</b>", "<b>a", "{{", "{%", "<%"]
)
def test_one_tag_again_and_again_is_no_trouble(tmp_path: Path, tag: str) -> None:
    path = tmp_path / "a.html"
    path.write_text(tag * 3_000)
    opened(path)


@needs_data
@pytest.mark.parametrize(
    "path", real("html") + [p for p in real("hostile") if p.suffix == ".html"], ids=lambda p: p.name
)
def test_pages_of_other_people(tmp_path: Path, path: Path) -> None:
    check_changed(check_laws(path), tmp_path)


@pytest.mark.parametrize("part", ["<", "<a ", "<a b='", "</", "<!--", "<!--x>"])
def test_very_many_tags_without_an_end_are_refused(tmp_path: Path, part: str) -> None:
    with pytest.raises(DataError, match="do not end"):
        opened(tmp_path / "a.html", f"<p>Hello</p>{part * 30_000}")
    opened(tmp_path / "a.html", f"<p>Hello</p>{part * 20}")


@pytest.mark.parametrize(
    "rest",
    [
        "<!-- Hello secret",
        "<!-- a <b>secret</b> b",
        '<a href="x" title="Hello',
        "<a href='x",
        "</div",
        "<!DOCTYPE",
        "<?x",
    ],
)
def test_what_never_ends_is_no_text(tmp_path: Path, rest: str) -> None:
    document = opened(tmp_path / "a.html", f"<p>Good morning.</p>{rest}")
    assert texts(document) == ["Good morning."]
    assert replaced(document, {"Good morning.": "안녕."}).decode() == f"<p>안녕.</p>{rest}"


@pytest.mark.parametrize("raw", ["<script><!-- hide\n a <b </script>", "<style><!-- p {} </style>", "a < b, c <3 d "])
def test_a_sign_in_a_script_or_before_a_space_begins_nothing(tmp_path: Path, raw: str) -> None:
    document = opened(tmp_path / "a.html", f"{raw}<p>Good morning.</p>")
    assert "Good morning." in texts(document)


def test_what_is_in_another_language_and_formulas_stay(tmp_path: Path) -> None:
    page = (
        '<html lang="en"><body><li lang="ar">one</li>'
        '<p lang="en-GB">two <i lang="fr">trois</i> <b xml:lang="en">four</b>'
        r'<img alt="{\displaystyle b={\frac {a}{c}}}"><img alt="x^2 + y"><img alt="A map"></p><p title="t" lang="de">x'
    )
    document = opened(tmp_path / "a.html", page)
    assert texts(document) == ["two trois four", "A map"]
    unit = next(iter(document.units))
    assert [unit.source.text[slice(*span)] for span in unit.source.protected] == ["trois"]
    assert len(texts(opened(tmp_path / "b.html", page, DocumentOptions("und", "ko")))) > 2
    result = written(check_laws(document.path), louder).decode()
    assert texts(opened(tmp_path / "c.html", result, DocumentOptions("ko", "en"))) == ["twö trois föur", "A mäp"]
    assert re.findall("lang=(.....)", result) == ['"ko">', '"ar">', '"ko">', '"fr">', '"ko">', '"de">']


def test_elements_in_the_source_language_are_in_that_of_the_translation(tmp_path: Path) -> None:
    page = (
        '<html lang="{{ page.lang }}"><body lang="en"><p lang=\'en-GB\'>One <i lang=en>two</i> '
        'and <code lang="en">x</code><div lang="en" translate="no">a</div><p lang="fr">un</p></body></html>'
    )
    document = check_laws(opened(tmp_path / "a.html", page).path)
    assert replaced(document, {"One two and x": "하나 둘 그리고 x"}).decode() == (
        '<html lang="{{ page.lang }}"><body lang="ko"><p lang="ko">하나 <i lang="ko">둘 </i>'
        '그리고 <code lang="en">x</code><div lang="en" translate="no">a</div><p lang="fr">un</p></body></html>'
    )
    assert written(document, lambda _: None).decode() == page
    other = opened(tmp_path / "b.html", page, DocumentOptions("und", "ko"))
    assert written(other, louder, DocumentOptions("und", "ko")).decode().count('"ko"') == 0


@pytest.mark.parametrize(
    ("page", "result"),
    [
        ("<p>The <i class=x></i> icon.</p>", "<p>그 <i class=x></i> 그림.</p>"),
        ("<p>The <a href=x><img src=y></a> icon.</p>", "<p>그 <a href=x><img src=y></a> 그림.</p>"),
        ("<p>The <i></i><b></b> icon.</p>", "<p>그 <i></i><b></b> 그림.</p>"),
        ("<p>The <b> </b> icon.</p>", "<p>그 <b></b> 그림.</p>"),
    ],
)
def test_the_space_after_tags_around_nothing_stays(tmp_path: Path, page: str, result: str) -> None:
    """A code is next to the word that follows it, and a space is on both sides of it."""
    (unit,) = check_laws(opened(tmp_path / "a.html", page).path).units
    assert unit.source.text == "The icon."
    codes = tuple(replace(code, position=2) for code in unit.source.codes)
    document = opened(tmp_path / "a.html", page)
    assert written(document, lambda _: InlineText("그 그림.", codes)).decode() == result


@pytest.mark.parametrize(("space", "written_space"), [("&nbsp;", "&nbsp;"), ("&#160;", "&#160;"), ("\xa0", "&#160;")])
def test_a_no_break_space_is_written_as_the_page_can_read_it(tmp_path: Path, space: str, written_space: str) -> None:
    """`&nbsp;` is not defined in a page that is XML."""
    page = f'<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><p title="e{space}x">a{space}x</p></html>'
    document = check_laws(opened(tmp_path / "a.xhtml", page).path)
    changed = page.replace(f"e{space}", f"ë{written_space}").replace(f"a{space}", f"ä{written_space}")
    assert written(document, louder).decode() == changed


TEMPLATES = """\
{% extends "base.html" %}
{% block title %}Hello there{% endblock %}
<!-- a {{ b -->
<p>Dear <%= @user.name %>, you have <b>{{ n }}</b> items.</p>
<p title='Say {{ "a" > b }} now'>If {% if x < 3 %}yes{% else %}no{% endif %} then {{ a | default: "b" }}.</p>
<a href="{{< ref "/about" >}}">About us</a><img src="{{ "/a.png" | relative_url }}" alt="{{ page.name }}">
<div {% if a > 3 %}class="x"{% endif %}>Text in it {# a <note> #}</div>
<p><?php if ($a > 3): ?>many words<?php endif; ?> and <?= $x ?> done</p>
<p>{{#if a}}Hello{{else}}Bye{{/if}} {{{name}}}</p>
<p>Hi {{ block.settings.name }}, welcome</p>
<script>var a = {{ x }}; if (a < b) {}</script><p>Use {{ here, and </p><p>}} there.</p>
"""


def test_templates_are_copied_and_statements_are_borders(tmp_path: Path) -> None:
    document = check_laws(opened(tmp_path / "a.html", TEMPLATES).path)
    assert texts(document) == [
        "Hello there",
        "Dear <%= @user.name %>, you have {{ n }} items.",
        'Say {{ "a" > b }} now',
        "If",
        "yes",
        "no",
        'then {{ a | default: "b" }}.',
        "About us",
        "Text in it",
        "many words",
        "and <?= $x ?> done",
        "Hello",
        "Bye",
        "Hi {{ block.settings.name }}, welcome",
        "Use {{ here, and",
        "}} there.",
    ]
    check_changed(document, tmp_path)
    result = written(opened(document.path), louder).decode()
    pattern = r"{{(?! b -)[^}]*}}+|{%.*?%}|<%.*?%>|<\?.*?\?>|{#.*?#}"
    assert re.findall(pattern, result) == re.findall(pattern, TEMPLATES.replace("here, and", "hërë, änd"))


def test_attributes_of_elements_that_are_copied_are_text(tmp_path: Path) -> None:
    page = (
        '<p>Write <textarea placeholder="Your message">typed</textarea> here.</p><iframe title="The map"></iframe>'
        '<pre title="An example">x = 1</pre><div translate="no" title="Never"><p>No</p></div>'
    )
    document = check_laws(opened(tmp_path / "a.html", page).path)
    assert texts(document) == ["Write", "Your message", "here.", "The map", "An example"]
    result = replaced(document, {"Your message": "메시지", "The map": "지도"}).decode()
    assert 'placeholder="메시지">typed</textarea>' in result
    assert '<iframe title="지도">' in result
