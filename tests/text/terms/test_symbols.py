"""Symbols for placeholders: whatever a text has comes back, and both sides of a pair have the same symbols."""

import re
from collections import Counter
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.config import TokenizerConfig
from dragoman.text.terms.protect import find_placeholders
from dragoman.text.terms.symbols import Symbols, drop_unknown, mask, restore, symbol
from dragoman.text.tokens.tokenizer import UNK, learn
from dragoman.text.words.normalise import normalise

FOUR = tuple(map(symbol, range(4)))
PARTS = [
    "{name}",
    "%s",
    "<b>",
    "</b>",
    "https://a.org/x.",
    "⟦0⟧",
    "⟦3⟧",
    "⟦4⟧",
    "⟦12⟧",
    "⟦",
    "⟧",
    "0",
    "{⟦1⟧}",
    "⟦\u200b2⟧",
]
TEXT = st.one_of(st.text(), st.lists(st.one_of(st.sampled_from([*PARTS, " "]), st.text(max_size=3))).map("".join))


class Span(NamedTuple):
    begin: int
    end: int


@given(TEXT, st.integers(0, 4))
def test_what_is_masked_is_restored(text: str, count: int) -> None:
    masked, table = Symbols(FOUR[:count]).mask(text)
    assert restore(masked, table) == text


@given(TEXT, st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)).map(sorted)))
def test_whatever_the_placeholders_are(text: str, ends: list[list[int]]) -> None:
    spans = [Span(*(min(end, len(text)) for end in pair)) for pair in ends]
    masked, table = mask(text, spans, FOUR)
    assert restore(masked, table) == text
    assert drop_unknown(masked, table, FOUR) == masked, "every symbol is in the table"


def test_a_placeholder_is_the_same_symbol_wherever_it_is_and_numbers_follow_the_text() -> None:
    masked, table = Symbols(FOUR).mask("Open {a} with %s, or {a} alone <b>")
    assert masked == "Open ⟦0⟧ with ⟦1⟧, or ⟦0⟧ alone ⟦2⟧"
    assert table == {"⟦0⟧": "{a}", "⟦1⟧": "%s", "⟦2⟧": "<b>"}


def test_of_more_than_there_are_symbols_the_last_stay_text() -> None:
    masked, _ = Symbols(FOUR[:2]).mask("{a} {b} {c} {a} {d}")
    assert masked == "⟦0⟧ ⟦1⟧ {c} ⟦0⟧ {d}"


def test_a_text_with_symbols_of_its_own_has_them_replaced_before_anything_else() -> None:
    masked, table = Symbols(FOUR[:2]).mask("{a} {b} {c} ⟦1⟧ ⟦7⟧")
    assert masked == "⟦0⟧ {b} {c} ⟦1⟧ ⟦7⟧"
    assert restore("⟦1⟧: ⟦0⟧ ⟦7⟧", table) == "⟦1⟧: {a} ⟦7⟧"
    masked, table = Symbols(FOUR).mask("{a} ⟦0⟧")
    assert restore("⟦1⟧ ⟦0⟧", table) == "⟦0⟧ {a}"


@given(TEXT)
def test_what_normalisation_would_make_a_symbol_is_masked_too(text: str) -> None:
    masked, table = Symbols(tuple(map(symbol, range(64)))).mask(text)
    assert set(re.findall("⟦[0-9]+⟧", normalise(masked))) & set(map(symbol, range(64))) <= set(table)


def test_a_pair_has_the_same_symbols_on_both_sides_numbered_from_the_source_on() -> None:
    pair = "Copy {file} to %s", "%s에 {file}을 복사합니다"
    assert Symbols(FOUR).mask_pair(*pair) == ("Copy ⟦0⟧ to ⟦1⟧", "⟦1⟧에 ⟦0⟧을 복사합니다")
    assert Symbols(FOUR).mask_pair(*pair, first=3) == ("Copy ⟦3⟧ to ⟦0⟧", "⟦0⟧에 ⟦3⟧을 복사합니다")
    assert Symbols().mask_pair(*pair) == pair


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        ("{a} and %s", "{a}", ("⟦0⟧ and %s", "⟦0⟧")),
        ("{a}, {a}", "{a}", ("{a}, {a}", "{a}")),
        ("none", "%s", ("none", "%s")),
        ("{a} ⟦1⟧", "{a}", ("⟦0⟧ ⟦ 1⟧", "⟦0⟧")),
    ],
)
def test_what_one_side_lacks_stays_text_and_is_no_symbol(source: str, target: str, expected: tuple[str, str]) -> None:
    assert Symbols(FOUR).mask_pair(source, target) == expected


@given(TEXT, TEXT, st.integers(0, 3))
def test_both_sides_of_a_pair_have_each_symbol_equally_often(source: str, target: str, first: int) -> None:
    masked = Symbols(FOUR).mask_pair(source, f"{target} {source}", first)
    ours, theirs = (
        Counter(name for name in re.findall("⟦[0-9]+⟧", normalise(side)) if name in FOUR) for side in masked
    )
    assert ours == theirs


def test_a_forced_translation_has_the_symbols_of_its_source() -> None:
    symbols = Symbols(FOUR)
    _, table = symbols.mask("{a} <b>x</b>")
    assert symbols.mask_as("<b>y</b> {a}, {other}", table) == "⟦1⟧y⟦2⟧ ⟦0⟧, {other}"


@pytest.mark.parametrize("kind", ["unigram", "bpe"])
def test_a_symbol_is_one_piece_on_both_sides_whatever_is_next_to_it(kind: str) -> None:
    lines = [(f"the dog {n}", f"개 {n}를") for n in range(50)]
    config = {"kind": kind, "user_defined_symbols": FOUR}
    tokenizer = learn(lines, TokenizerConfig.model_validate(config))
    assert tokenizer.symbols == FOUR
    for text in ("⟦2⟧", "the⟦2⟧dog", "개 ⟦2⟧를", "⟦2⟧⟦2⟧", "⟦⟦2⟧⟧", "⟦ 2⟧"):
        for sampling in (0.0, 0.3):
            [ids] = tokenizer.encode([text], "source", sampling=sampling, seed="1")
            assert UNK not in ids
            assert tokenizer.pieces(ids, "source").count("⟦2⟧") == text.count("⟦2⟧")
            assert tokenizer.decode([ids], "source") == [text]
    assert learn(lines, TokenizerConfig()).symbols == ()


def test_every_symbol_is_found_as_it_is_written() -> None:
    assert not find_placeholders(" ".join(FOUR))
