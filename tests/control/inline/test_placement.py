"""Placement: whole spans get the runs that they come from; codes without text keep their neighbours."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from control.inline_marks import marked, shown
from dragoman.control.inline.parts import with_codes
from dragoman.control.inline.placement import COST, AlignedUnits, Placement, disjoint_runs
from dragoman.control.inline.units import UnitText, units
from dragoman.text.words.inline import Code, InlineText


def place(source: str, target: str, links: str) -> str:
    """The target with the tags of the source; `links` are numbers of units, source first: `0-1 1-0`."""
    text = marked(source)
    sides = (
        UnitText(text.text, units(text.text, cuts=[code.position for code in text.codes])),
        UnitText(target, units(target, particles=True)),
    )
    weights = np.zeros((len(sides[1].units), len(sides[0].units)))
    for link in links.split():
        one, other = map(int, link.split("-"))
        weights[other, one] = 1.0
    weights /= np.maximum(weights.sum(1, keepdims=True), 1.0)
    placed = Placement(*sides, [AlignedUnits(0, 0, weights)], text.codes).place()
    return shown(InlineText(*with_codes(placed, *sides)))


@pytest.mark.parametrize(
    ("source", "target", "links", "expected"),
    [
        # the words of a span have changed their order, and places
        ("the <b>red dog</b> ran", "ran the dog red", "0-1 1-3 2-2 3-0", "ran the <b>dog red</b>"),
        # a stray word elsewhere does not write the tag twice
        ("the <b>red dog</b> ran off", "red dog ran red off", "1-0 1-3 2-1 3-2 4-4", "<b>red dog</b> ran red off"),
        # what is in between comes along
        ("<b>gives up</b> now", "gibt er auf jetzt", "0-0 1-2 2-3", "<b>gibt er auf</b> jetzt"),
        # half a word: a noun and its particle
        ("<b>서울</b>에서 산다", "live in Seoul", "0-2 1-1 2-0", "live in <b>Seoul</b>"),
        ("lives in <b>Seoul</b>", "서울에서 산다", "0-2 1-1 2-0", "<b>서울</b>에서 산다"),
        # spans inside of each other, and side by side
        ("<a>one <b>two</b></a> three", "drei zwei eins", "0-2 1-1 2-0", "drei <a><b>zwei</b> eins</a>"),
        ("<a>one</a> <b>two</b>", "zwei eins", "0-1 1-0", "<b>zwei</b> <a>eins</a>"),
        # the sign at the end is outside, as it was
        ("<b>one two</b>.", "zwei eins.", "0-1 1-0 2-2", "<b>zwei eins</b>."),
        # codes without text
        ("one<x/> two three", "drei eins zwei", "0-1 1-2 2-0", "drei eins<x/> zwei"),
        ("one <x/>two three", "drei zwei eins", "0-2 1-1 2-0", "drei <x/>zwei eins"),
        ("one <x/> two", "eins zwei", "0-0 1-1", "eins <x/> zwei"),
        ("one, <x/>two", "zwei, eins", "0-2 1-1 2-0", "<x/>zwei, eins"),
        ("<b>one<x/></b> two", "zwei eins", "0-1 1-0", "zwei <b>eins<x/></b>"),
        ("one<a></a> two", "zwei eins", "0-1 1-0", "zwei eins<a></a>"),
        ("<x/>one two<y/>", "zwei eins", "0-1 1-0", "<x/>zwei eins<y/>"),
        # closing before a space, opening after it
        ("one<b> two</b> three", "drei zwei eins", "0-2 1-1 2-0", "drei <b>zwei</b> eins"),
        # without spaces
        ("<b>two</b> one", "一二", "0-1 1-0", "一<b>二</b>"),
        # never around a particle alone
        ("<b>press</b> Enter", "Enter를 누르세요", "0-1 1-0", "Enter를 <b>누르세요</b>"),
        ("<b>press</b> Enter", "Enter을(를) 누르세요", "0-3 1-0", "Enter을(를) <b>누르세요</b>"),
        ("<b>this</b> day", "이 날", "0-0 1-1", "<b>이</b> 날"),
        # never around signs alone: the nearest word is free
        ("<b>open it</b>, then <i>save</i> it", "eins, zwei drei", "0-0 4-1", "<b>eins</b>, <i>zwei</i> drei"),
        # nothing comes from the span: it still encloses something
        ("<b>the</b> dog", "hund", "1-0", "<b>hund</b>"),
    ],
)
def test_tags_are_on_the_words_that_they_come_from(source: str, target: str, links: str, expected: str) -> None:
    assert place(source, target, links) == expected


@given(st.data())
def test_runs_are_the_best_disjoint_ones(data: st.DataObject) -> None:
    size, count = data.draw(st.integers(1, 6)), data.draw(st.integers(1, 2))
    scores = [
        np.array(data.draw(st.lists(st.integers(-3, 3), min_size=size, max_size=size)), float) for _ in range(count)
    ]
    found = disjoint_runs(scores)
    if count > size:
        return
    assert all(begin < end for begin, end in found)
    assert all(a[1] <= b[0] or b[1] <= a[0] for n, a in enumerate(found) for b in found[:n])
    if count == 1:
        [(begin, end)] = found
        every = [(a, b) for a in range(size) for b in range(a + 1, size + 1)]
        assert scores[0][begin:end].sum() - COST * (end - begin) == pytest.approx(
            max(scores[0][a:b].sum() - COST * (b - a) for a, b in every)
        )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("don't pay 3,000.5!", ["don't", "pay", "3,000.5", "!"]),
        ("서울에서 10:30에", ["서울", "에서", "10:30", "에"]),
        ("日本語 a.b", ["日", "本", "語", "a", ".", "b"]),
        ("wait... (no)", ["wait", "...", "(", "no", ")"]),
        ("हिन्दी \u200b é", ["हिन्दी", "é"]),
    ],
)
def test_units(text: str, expected: list[str]) -> None:
    assert [text[slice(*span)] for span in units(text, particles=True)] == expected


def test_a_unit_ends_at_a_cut_and_what_is_protected_is_one() -> None:
    assert [tuple(span) for span in units("abcd ${x y}z", [(5, 11)], [2, 7])] == [(0, 2), (2, 4), (5, 11), (11, 12)]


def test_codes_of_a_position_keep_their_order() -> None:
    codes = [Code(0, "open", "b"), Code(0, "alone", "x"), Code(0, "alone", "y"), Code(1, "close", "b")]
    side = UnitText("a", units("a"))
    placed = Placement(side, side, [AlignedUnits(0, 0, np.ones((1, 1)))], codes).place()
    assert [one.code for one in placed] == codes
