"""Codes inside of words that a translation has as they are stay where they were."""

from collections.abc import Sequence

import numpy as np
import pytest

from dragoman.control.inline.evidence import SentencePair
from dragoman.control.inline.parts import WrittenPart, divided_words, write_codes
from dragoman.control.inline.placement import Weights
from dragoman.text.words.inline import Code, InlineText
from dragoman.translation import Candidate, Span, Translation


def no_evidence(pairs: Sequence[SentencePair]) -> list[Weights]:
    """Of an alignment that knows nothing."""
    return [np.full((len(pair.units), len(pair.stretches)), 1 / len(pair.stretches)) for pair in pairs]


def shown(inline: InlineText) -> str:
    text, at = "", 0
    for code in inline.codes:
        text += inline.text[at : code.position] + ("</" if code.kind == "close" else "<") + code.name + ">"
        at = code.position
    return text + inline.text[at:]


def tagged(source: str, *spans: tuple[int, int, str]) -> InlineText:
    codes = [Code(at, kind, name) for begin, end, name in spans for at, kind in ((begin, "open"), (end, "close"))]
    return InlineText(source, tuple(codes))


@pytest.mark.parametrize(
    ("source", "translation", "expected"),
    [
        (tagged("Water is H2O today.", (10, 11, "i")), "오늘 물은 H2O입니다.", "오늘 물은 H<i>2</i>O입니다."),
        (
            tagged("CO2 and H2O mix.", (2, 3, "i"), (9, 10, "j")),
            "H2O와 CO2는 섞인다.",
            "H<j>2</j>O와 CO<i>2</i>는 섞인다.",
        ),
        (tagged("물은 H2O이다.", (4, 5, "i")), "Water is H2O.", "Water is H<i>2</i>O."),
    ],
)
def test_a_divided_word_keeps_its_codes(source: InlineText, translation: str, expected: str) -> None:
    own = Translation(translation, (Candidate(translation, 0.0, 0.0),))
    part = WrittenPart(Span(0, len(source.text)), translation, own)
    [(found, _)] = write_codes([source], [None], [[part]], no_evidence)
    assert shown(found) == expected


def test_what_a_translation_has_otherwise_is_no_divided_word() -> None:
    assert divided_words("the 1st day", [5], "첫째 날") == []
    assert divided_words("H2O", [1, 2], "H2O, H2O") == []  # which of the two is not known
    assert divided_words("H2O", [1], "H2O2") == []
    assert [one for one, _ in divided_words("an H2O", [4, 5], "H2O는")] == [Span(3, 4), Span(4, 5), Span(5, 6)]


@pytest.mark.parametrize(
    ("translation", "expected"),
    [
        ("OK과(와) Cancel을(를) 클릭", "<c>OK</c>과(와) <d>Cancel</d>을(를) 클릭"),
        ("Cancel 또는 OK", "<d>Cancel</d> 또는 <c>OK</c>"),
    ],
)
def test_a_tag_around_what_is_copied_is_around_its_copy(translation: str, expected: str) -> None:
    source = tagged("Click OK and Cancel.", (6, 8, "c"), (13, 19, "d"))
    source = InlineText(source.text, source.codes, ((6, 8), (13, 19)))
    part = WrittenPart(Span(0, 20), translation, Translation(translation, (Candidate(translation, 0.0, 0.0),)))
    [(inline, unplaced)] = write_codes([source], [None], [[part]], no_evidence)
    assert shown(inline) == expected
    assert not unplaced


def test_a_link_whose_words_are_lost_is_around_a_word_and_named() -> None:
    def evidence(pairs: Sequence[SentencePair]) -> list[Weights]:
        """The link is translated by the full stop."""
        pair = pairs[0]
        weights = np.zeros((len(pair.units), len(pair.stretches)))
        weights[:-1, 0] = weights[-1, 1] = 1  # the stretch of the link is the second
        return [weights]

    source = tagged("See the forum now", (8, 13, "a"))
    part = WrittenPart(Span(0, 17), "보세요 여기.", Translation("보세요 여기.", (Candidate("보세요 여기.", 0.0, 0.0),)))
    [(inline, unplaced)] = write_codes([source], [None], [[part]], evidence)
    assert unplaced
    assert shown(inline) in ("<a>보세요</a> 여기.", "보세요 <a>여기</a>.")
