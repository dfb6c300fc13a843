"""`normalise`: what a person may type for the same sentence becomes the same string; nothing else changes."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.errors import DataError
from dragoman.text.words.normalise import INVISIBLE, is_text, lines_of, normalise

ZWSP, ZWNJ, ZWJ, BOM, RLE, WORD_JOINER = "\u200b", "\u200c", "\u200d", "\ufeff", "\u202b", "\u2060"


@pytest.mark.parametrize(
    ("typed", "seen"),
    [
        pytest.param("\u1112\u1161\u11ab\u1100\u1173\u11af", "한글", id="Hangul letters become syllables"),
        pytest.param("cafe\u0301", "café", id="combining accent"),
        pytest.param("  two   words \t here ", "two words here", id="runs of spaces"),
        pytest.param("a\u00a0b\u3000c\u2009d", "a b c d", id="no-break, ideographic and thin spaces"),
        pytest.param("one\ntwo\r\nthree\u2028four\u0085five", "one two three four five", id="line ends"),
        pytest.param("a\x00b\x07c\x7fd\x9fe", "abcde", id="control characters"),
        pytest.param(f"{BOM}first", "first", id="byte-order mark"),
        pytest.param(f"zero{ZWSP}width{WORD_JOINER}s", "zerowidths", id="zero-width space and word joiner"),
        pytest.param(f"{RLE}שלום\u202c", "שלום", id="direction marks"),
        pytest.param("", "", id="empty"),
        pytest.param(f" \t{ZWSP}{BOM} ", "", id="nothing that can be seen"),
    ],
)
def test_the_same_sentence_typed_differently_is_the_same(typed: str, seen: str) -> None:
    assert normalise(typed) == seen


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(f"می{ZWNJ}خواهم", id="Persian non-joiner"),
        pytest.param(f"👩{ZWJ}💻", id="emoji joined by ZWJ"),
        pytest.param("ＡＢＣ １２３ ﬁ", id="full width and ligatures"),
        pytest.param("“Quotes” – and… ‘CASE’", id="punctuation and case"),
    ],
)
def test_what_a_translation_must_reproduce_stays_as_written(text: str) -> None:
    assert normalise(text) == text


@given(st.text())
def test_the_result_is_one_line_with_single_spaces(text: str) -> None:
    result = normalise(text)
    assert result == " ".join(result.split())
    assert len(result.splitlines()) <= 1


@given(st.text())
def test_normalising_again_changes_nothing_more(text: str) -> None:
    once = normalise(text)
    assert normalise(once) == once


def test_letter_and_accent_compose_across_invisible_characters() -> None:
    assert normalise(f"e{ZWSP}\u0301") == "é"


@given(st.text())
def test_the_result_is_composed_unicode(text: str) -> None:
    assert unicodedata.is_normalized("NFC", normalise(text))


@given(st.text())
def test_text_of_plain_characters_is_no_special_case(text: str) -> None:
    for each in (text, text.encode("ascii", "ignore").decode()):
        assert normalise(each) == " ".join(unicodedata.normalize("NFC", INVISIBLE.sub("", each)).split())


@given(st.text(st.characters(exclude_categories=())))
def test_is_text_says_what_utf8_can_write(text: str) -> None:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        assert not is_text(text)
    else:
        assert is_text(text)


@pytest.mark.parametrize("text", ["\ud800", ["fine", "a\udfffb"]])
def test_an_unpaired_surrogate_is_no_text(text: str | list[str]) -> None:
    with pytest.raises(DataError, match="contains an unpaired surrogate"):
        list(lines_of(text))
