"""Inline markup: every code exactly once and nested, whatever the text, the translation and the alignment are."""

from collections.abc import Callable, Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from control.inline_marks import marked, shown
from dragoman.config import DecodeConfig
from dragoman.control.inline.evidence import by_position
from dragoman.control.inline.inline import InlineItem, InlineTranslation, translate_inline
from dragoman.control.search.sentences import Line, Sentence
from dragoman.text.words.inline import Code, InlineText
from dragoman.text.words.normalise import normalise
from dragoman.translation import Candidate, Translation
from dragoman.translator import Translator
from nesting import is_nested

WORDS = ["red", "dog", "3.5", "서울에서", "a.b", "don't", ",", "!", "%s", "日本", "—", "\u200b", "é", "हिन्दी"]
SPACES = [" ", "", "  ", "\n", " \n\t", "\u2028", "\xa0"]


@st.composite
def inline_texts(draw: st.DrawFn) -> InlineText:
    """A text of several lines, codes that are nested, protected words."""
    text, codes, protected = "", list[Code](), list[tuple[int, int]]()
    opened = list[str]()
    for number in range(draw(st.integers(0, 12))):
        action = draw(st.sampled_from(["word", "word", "space", "open", "close", "alone"]))
        if action == "word":
            word = draw(st.sampled_from(WORDS))
            if word == "%s":
                protected.append((len(text), len(text) + 2))
            text += word
        elif action == "space":
            text += draw(st.sampled_from(SPACES))
        elif action == "open":
            opened.append(draw(st.sampled_from(["b", "i", str(number)])))
            codes.append(Code(len(text), "open", opened[-1]))
        elif action == "alone":
            codes.append(Code(len(text), "alone", "x"))
        elif opened:
            codes.append(Code(len(text), "close", opened.pop()))
    codes += [Code(len(text), "close", name) for name in reversed(opened)]
    return InlineText(text, tuple(codes), tuple(protected))


def by_words(lines: Sequence[str], changes: Mapping[str, object]) -> list[Translation]:
    """A translation that reverses the words."""
    return [Translation(line, (Candidate(" ".join(reversed(line.split())), -1.0, -1.0),)) for line in lines]


def whole(lines: Sequence[str]) -> list[list[Sentence]]:
    """Each line is one sentence."""
    return [[Sentence([0], text=normalise(line))] for line in lines]


Translate = Callable[[Sequence[str], Mapping[str, object]], list[Translation]]


def by(translate: Translate, *items: InlineItem) -> list[InlineTranslation]:
    """The texts, their lines translated by a function."""

    def of_lines(lines: Sequence[Line], changes: Mapping[str, object]) -> list[Translation]:
        return translate([line.source for line in lines], changes)

    return translate_inline(items, of_lines, whole, lambda pairs: list(map(by_position, pairs)), DecodeConfig())


def translated(*texts: InlineText) -> list[InlineTranslation]:
    return by(by_words, *map(InlineItem, texts))


@pytest.mark.slow
@given(inline_texts(), st.lists(st.sampled_from(WORDS), max_size=6))
def test_every_code_is_there_once_and_nested(text: InlineText, words: list[str]) -> None:
    def other(lines: Sequence[str], changes: Mapping[str, object]) -> list[Translation]:
        return [Translation(line, (Candidate(" ".join(words), -1.0, -1.0),)) for line in lines]

    for translate in (by_words, other):
        [found] = by(translate, InlineItem(text))
        assert found.inline.counted_codes == text.counted_codes
        assert is_nested(found.inline)
        positions = [code.position for code in found.inline.codes]
        assert positions == sorted(positions)
        assert all(0 <= position <= len(found.inline.text) for position in positions)
        assert not any(begin < position < end for position in positions for begin, end in found.inline.protected)


@pytest.mark.slow
@given(inline_texts())
def test_line_breaks_and_the_white_space_around_lines_stay(text: InlineText) -> None:
    [found] = translated(text)
    breaks = "\n\u2028"
    assert [c for c in found.inline.text if c in breaks] == [c for c in text.text if c in breaks]
    for before, after in zip(text.text.splitlines(), found.inline.text.splitlines(), strict=True):
        assert len(before) - len(before.lstrip()) == len(after) - len(after.lstrip())


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("", ""),
        ("<b></b>", "<b></b>"),
        ("one two", "two one"),
        ("<b>one two</b>", "<b>two one</b>"),
        ("<p><b>one two</b></p>", "<p><b>two one</b></p>"),
        (" <b> one two </b> ", " <b> two one </b> "),
        ("<x/>one two<y/>", "<x/>two one<y/>"),
        ("one two\nthree four\n", "two one\nfour three\n"),
        ("<i>one two</i>\n<i>three four</i>", "<i>two one</i>\n<i>four three</i>"),
        ("one two<br/>\n  three four", "two one<br/>\n  four three"),
        ("12 <b>34</b>5", "12 <b>34</b>5"),
        ("<b>12</b>\none two", "<b>12</b>\ntwo one"),
    ],
)
def test_what_needs_no_alignment_is_exact(source: str, target: str) -> None:
    [found] = translated(marked(source))
    assert shown(found.inline) == target


@pytest.mark.slow
def test_deep_and_many_codes_end() -> None:
    deep = "<b>" * 3000 + "one" + "</b>" * 3000 + " two"
    wide = " ".join(f"<b>w{number}</b>" for number in range(1000))
    for found in translated(marked(deep), marked(wide)):
        assert is_nested(found.inline)


def test_crossing_spans_are_nested_and_flagged() -> None:
    [found] = translated(marked("<b>one <i>two</b> three</i> four"))
    assert is_nested(found.inline)
    assert found.inline.counted_codes == marked("<b><i></b></i>").counted_codes
    assert [flag.kind for flag in found.translation.warnings] == ["markup"]


@pytest.mark.parametrize("limit", [None, 12, 5])
def test_a_translation_that_is_too_long_is_searched_again(limit: int | None) -> None:
    asked: list[dict[str, object]] = []

    def translate(lines: Sequence[str], changes: Mapping[str, object]) -> list[Translation]:
        asked.append(dict(changes))
        texts = ["a long translation", "a short one"] if changes else ["a long translation"]
        candidates = tuple(Candidate(text, -1.0, -1.0, (1, 2, 3), (-0.1, -0.1, -0.1, -0.1)) for text in texts)
        return [Translation(line, candidates) for line in lines]

    [found] = by(translate, InlineItem(marked("<b>eins</b> zwei"), None, limit))
    kinds = [flag.kind for flag in found.translation.warnings]
    if limit is None:
        assert (found.inline.text, kinds, len(asked)) == ("a long translation", [], 1)
    elif limit == 12:
        assert (found.inline.text, kinds, len(asked)) == ("a short one", [], 2)
    else:
        assert (found.inline.text, kinds) == ("a long translation", ["too_long"])
        assert any(isinstance(one.get("max_length"), int) for one in asked)


def test_a_sentence_that_a_limit_cuts_off_is_not_taken() -> None:
    def translate(lines: Sequence[str], changes: Mapping[str, object]) -> list[Translation]:
        text = "a long" if "max_length" in changes else "a long translation"
        return [Translation(line, (Candidate(text, -1.0, -1.0, (1, 2), (-0.1, -0.1, -9.0)),)) for line in lines]

    [found] = by(translate, InlineItem(InlineText("eins zwei"), None, 8))
    assert found.inline.text == "a long translation"


def test_what_only_has_placeholders_is_copied_and_no_code_divides_them() -> None:
    text = "{name}: %(count)s <b>x"
    for source in (InlineText(text[:17], (Code(3, "alone", "x"), Code(10, "alone", "y"))), InlineText("12.5 %")):
        [found] = translated(source)
        assert found.inline.text == source.text
        assert [code.position for code in found.inline.codes] == [6, 17][: len(source.codes)]


@pytest.mark.parametrize("name", ["en-ko", "ko-en"])
def test_codes_change_no_text_of_a_model(name: str) -> None:
    lines = {
        "en-ko": [
            "Open the <b>file</b> again. Save it,<x/> now.\n  <i>Done</i>.",
            "<p>Good morning.</p>",
            "%s files",
        ],
        "ko-en": ["<b>서울</b>에서 만납시다. 내일 <x/>봐요.\n  <i>끝</i>.", "<p>좋은 아침입니다.</p>", "%s 파일"],
    }[name]
    translator = Translator.load(name)
    texts = [marked(line) for line in lines]
    found = translator.translate_inline(texts)
    plain = translator.translate_inline([InlineText(text.text) for text in texts])
    assert [one.inline.text for one in found] == [one.inline.text for one in plain]
    assert [one.inline.counted_codes for one in found] == [text.counted_codes for text in texts]
    assert all(is_nested(one.inline) for one in found)
    assert found[1].inline.text == translator.translate(texts[1].text).text
    assert [one.inline for one in translator.stream_inline(iter(texts), window=1)] == [one.inline for one in found]
