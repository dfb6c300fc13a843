"""Word alignment: links by erasure and attention, as characters of the line and of its translation."""

import random
from collections.abc import Sequence

import numpy as np
import pytest

from dragoman.config import DecodeConfig, TokenizerConfig
from dragoman.control.alignment import align_texts, erased_together, pharaoh
from dragoman.decode.hypothesis import Hypothesis
from dragoman.engine import Attention, Ids, Query
from dragoman.text.tokens.tokenizer import Tokenizer, learn
from dragoman.text.words.normalise import normalise
from dragoman.translation import Translation
from dragoman.translator import Translator
from stand_ins import FakeEngine

WORDS = {"red": "rot", "dog": "hund", "cat": "katze", "sees": "sieht", "big": "gross", "two": "zwei", "bird": "vogel"}


class Dictionary(FakeEngine):
    """An engine that translates word by word, in reverse, and finds a word unlikely without its source word."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        super().__init__(self.reversed)
        self.tokenizer = tokenizer
        self.scored = 0

    def reversed(self, query: Query, options: DecodeConfig) -> list[Hypothesis]:
        [line] = self.tokenizer.decode([query.source], "source")
        text = " ".join(WORDS.get(word, "") for word in reversed(line.split()))
        return [Hypothesis(tuple(self.tokenizer.encode([text], "target")[0]), -1.0, -1.0)]

    def score(self, queries: Sequence[Query], targets: Sequence[Ids], alone: bool = False) -> list[list[float]]:
        self.scored += len(queries)
        rows = []
        lines = self.tokenizer.decode([query.source for query in queries], "source")
        for line, target in zip(lines, targets, strict=True):
            known = {WORDS.get(word) for word in line.split()}
            word, row = "", []
            for piece in self.tokenizer.pieces(list(target), "target"):
                word = piece if piece.startswith("▁") else word + piece
                row.append(0.0 if any(f"▁{one}".startswith(word) for one in known) else -4.0)
            rows.append([*row, -0.1])
        return rows


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    rng = random.Random(0)
    rows = [rng.choices(list(WORDS), k=5) for _ in range(200)]
    return learn(
        [(" ".join(row), " ".join(WORDS[word] for word in row)) for row in rows], TokenizerConfig(vocab_size=290)
    )


def linked_words(translation: Translation) -> list[tuple[str, str]]:
    source = normalise(translation.source)
    return [(source[s.begin : s.end], translation.text[t.begin : t.end]) for s, t in translation.alignment]


def test_each_word_is_linked_to_the_word_that_it_translates(tokenizer: Tokenizer) -> None:
    translator = Translator(tokenizer, Dictionary(tokenizer), DecodeConfig(alignment=True))
    found = translator.translate("two  big \u200bdog sees")
    assert found.text == "sieht hund gross zwei"
    assert linked_words(found) == [("sees", "sieht"), ("dog", "hund"), ("big", "gross"), ("two", "zwei")]
    assert pharaoh(found) == "3-0 2-1 1-2 0-3"


def test_the_parts_of_a_line_are_joined(tokenizer: Tokenizer) -> None:
    translator = Translator(tokenizer, Dictionary(tokenizer), DecodeConfig(), max_source_tokens=4)
    found = translator.translate("two big dog sees red bird cat", alignment=True)
    assert any(flag.kind == "segmented" for flag in found.warnings)
    assert {word: WORDS[word] for word, _ in linked_words(found)} == dict(linked_words(found))
    assert len(found.alignment) == len(found.text.split())


def test_without_the_key_nothing_is_scored(tokenizer: Tokenizer) -> None:
    engine = Dictionary(tokenizer)
    translation = Translator(tokenizer, engine, DecodeConfig()).translate("two dog")
    assert (translation.alignment, pharaoh(translation), engine.scored) == ((), "", 0)


def test_blank_lines_and_single_words_have_what_there_is(tokenizer: Tokenizer) -> None:
    translator = Translator(tokenizer, Dictionary(tokenizer), DecodeConfig(alignment=True))
    blank, one = translator.translate(["", "dog"])
    assert blank.alignment == ()
    assert linked_words(one) == [("dog", "hund")]
    assert align_texts(Dictionary(tokenizer), tokenizer, []) == []
    assert align_texts(Dictionary(tokenizer), tokenizer, [("dog", "")]) == [[]]


class Attentive(Dictionary):
    """A dictionary in which each target word attends to its source word, and more to a neighbour if `misled`."""

    misled = True

    def attention(self, queries: Sequence[Query], targets: Sequence[Ids]) -> list[Attention] | None:
        attentions = []
        for query, target in zip(queries, targets, strict=True):
            source, words = (
                np.cumsum([piece.startswith("▁") for piece in self.tokenizer.pieces(list(ids), side)]) - 1
                for ids, side in ((query.source, "source"), (target, "target"))
            )
            own = source[-1] - words[:, None]
            neighbour = np.where(own > 0, own - 1, own + 1)
            rows = 0.5 * self.misled * (source[None] == neighbour) + 0.4 * (source[None] == own) + 0.01
            attentions.append((rows / rows.sum(1, keepdims=True)).astype(np.float32))
        return attentions


def test_with_attention_few_scorings_link_the_words_that_all_of_them_would_link(tokenizer: Tokenizer) -> None:
    line = "two big dog sees red bird cat"
    each, together = Dictionary(tokenizer), Attentive(tokenizer)
    expected, translation = (
        Translator(tokenizer, e, DecodeConfig(alignment=True)).translate(line) for e in (each, together)
    )
    assert translation.alignment == expected.alignment
    assert len(translation.alignment) == 7
    assert (each.scored, together.scored) == (8, 4)


def test_a_word_that_no_erasure_costs_anything_is_linked_by_attention(tokenizer: Tokenizer) -> None:
    class Indifferent(Attentive):
        misled = False

        def score(self, queries: Sequence[Query], targets: Sequence[Ids], alone: bool = False) -> list[list[float]]:
            return [[-1.0] * (len(target) + 1) for target in targets]

    [links] = align_texts(Indifferent(tokenizer), tokenizer, [("red dog", "hund rot")])
    assert [("red dog"[slice(*a)], "hund rot"[slice(*b)]) for a, b in links] == [("dog", "hund"), ("red", "rot")]


def test_blank_texts_and_single_words_are_not_scored(tokenizer: Tokenizer) -> None:
    engine = Attentive(tokenizer)
    assert align_texts(engine, tokenizer, []) == []
    links = align_texts(engine, tokenizer, [("dog", ""), ("", "hund"), ("dog", "hund rot")])
    assert [len(of_pair) for of_pair in links] == [0, 0, 2]
    assert engine.scored == 0


@pytest.mark.parametrize("words", [1, 2, 3, 4, 9, 13, 40])
def test_words_that_are_attended_to_together_are_erased_apart(words: int) -> None:
    share = np.eye(words)
    share[np.arange(words - 1), np.arange(1, words)] = 0.5  # each target word may come from the next word too
    groups = erased_together(share)
    assert sorted(word for group in groups for word in group) == list(range(words))
    assert len(groups) >= min(3, words)
    assert max(map(len, groups)) <= 4
    assert not any(word + 1 in group for group in groups for word in group)
