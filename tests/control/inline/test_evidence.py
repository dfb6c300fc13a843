"""Evidence: an engine's attention by units of both texts; erasure where there is none; positions where nothing is."""

from collections.abc import Sequence

import numpy as np
import pytest

from dragoman.config import TokenizerConfig
from dragoman.control.inline.evidence import SentencePair, by_attention, by_position, raw_spans
from dragoman.control.inline.units import units
from dragoman.engine import Attention, Ids, Query
from dragoman.text.tokens.tokenizer import Tokenizer, learn
from dragoman.translation import Span
from stand_ins import FakeEngine

WORDS = ["red", "dog", "cat", "sees", "big", "rot", "hund", "katze", "sieht", "gross"]


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    lines = [(f"{a} {b} {c}", f"{c} {b} {a}") for a in WORDS for b in WORDS for c in WORDS]
    return learn(lines, TokenizerConfig(vocab_size=280))


class Attending(FakeEngine):
    """An engine in which the n-th last target word attends to the n-th source word, and all to the last token."""

    def __init__(self, tokenizer: Tokenizer, has_attention: bool = True) -> None:
        super().__init__()
        self.tokenizer, self.has_attention, self.scored = tokenizer, has_attention, 0

    def score(self, queries: Sequence[Query], targets: Sequence[Ids], alone: bool = False) -> list[list[float]]:
        self.scored += len(queries)
        pairs = zip(queries, targets, strict=True)
        return [[-float(len(query.source) + n) for n in range(len(target) + 1)] for query, target in pairs]

    def attention(self, queries: Sequence[Query], targets: Sequence[Ids]) -> list[Attention] | None:
        if not self.has_attention:
            return None
        found = []
        for query, target in zip(queries, targets, strict=True):
            words = [
                np.cumsum([piece.startswith("▁") for piece in self.tokenizer.pieces(list(ids), side)])
                for ids, side in ((query.source, "source"), (target, "target"))
            ]
            reverse = (words[0][None] + words[1][:, None] == words[0][-1] + 1).astype(np.float32)
            own = reverse / np.maximum(reverse.sum(1, keepdims=True), 1)
            found.append(0.6 * own + 0.4 * np.eye(len(query.source), dtype=np.float32)[-1])
        return found


def pair(source: str, target: str) -> SentencePair:
    return SentencePair(source, units(source), target, units(target))


def test_units_come_from_what_their_tokens_attend_to_and_not_from_what_all_attend_to(tokenizer: Tokenizer) -> None:
    engine = Attending(tokenizer)
    [found] = by_attention(engine, tokenizer, [pair("red dog sees", "sieht hund rot")])
    assert found.shape == (3, 3)
    np.testing.assert_allclose(found.sum(1), 1.0)
    assert [int(row.argmax()) for row in found] == [2, 1, 0]
    assert engine.scored == 0


def test_a_stretch_has_the_mass_of_all_its_tokens(tokenizer: Tokenizer) -> None:
    single = pair("red dog sees", "sieht hund rot")
    joined = SentencePair(single.source, [Span(0, 7), Span(8, 12)], single.target, single.units)
    by_word, by_stretch = by_attention(Attending(tokenizer), tokenizer, [single, joined])
    np.testing.assert_allclose(by_stretch[:, 0], by_word[:, :2].sum(1))


def test_an_engine_without_attention_scores_erasures(tokenizer: Tokenizer) -> None:
    engine = Attending(tokenizer, has_attention=False)
    [found] = by_attention(engine, tokenizer, [pair("red dog sees", "sieht hund rot")])
    assert found.shape == (3, 3)
    assert engine.scored == 4


def test_of_an_empty_translation_nothing_is_asked(tokenizer: Tokenizer) -> None:
    one = pair("red dog", "")
    [found] = by_attention(Attending(tokenizer), tokenizer, [one])
    np.testing.assert_array_equal(found, by_position(one))
    assert by_attention(Attending(tokenizer), tokenizer, []) == []


@pytest.mark.parametrize(
    ("text", "spans", "expected"),
    [
        ("red dog", [(0, 3), (4, 7)], ["red", "dog"]),
        ("  red \u200b  dog", [(0, 3), (4, 7)], ["red", "dog"]),
        ("\u1109\u1165\u110b\u116e\u11af dog", [(3, 6)], ["dog"]),  # Hangul in letters
    ],
)
def test_spans_of_normalised_text_are_found_in_the_text(
    text: str, spans: list[tuple[int, int]], expected: list[str]
) -> None:
    found = raw_spans(text, [Span(*span) for span in spans])
    assert [text[slice(*span)].strip() for span in found] == expected
