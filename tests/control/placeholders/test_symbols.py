"""A translator of a model that knows symbols: the text of a placeholder never reaches the model, and comes back."""

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.config import DecodeConfig, TokenizerConfig
from dragoman.decode.hypothesis import Hypothesis
from dragoman.engine import Ids, Query
from dragoman.text.terms.symbols import Symbols, symbol
from dragoman.text.tokens.tokenizer import EOS, Tokenizer, learn
from dragoman.text.words.normalise import normalise
from dragoman.translator import Translator
from stand_ins import FakeEngine

NAMES = tuple(map(symbol, range(4)))
WORDS = ["dog", "cat", "sees", "two", "name", "open"]
LINE = st.lists(st.sampled_from([*WORDS, "{name}", "%s", "<b>", "https://a.org/x.", "⟦0⟧", "⟦9⟧", ".", "?"])).map(
    " ".join
)


class Swap(FakeEngine):
    """An engine that repeats its source with the words in reverse order, and stores the sources."""

    def __init__(self, tokenizer: Tokenizer, more: str = "") -> None:
        super().__init__(self.swapped)
        self.tokenizer, self.more = tokenizer, more
        self.seen: list[str] = []

    def swapped(self, query: Query, options: DecodeConfig) -> list[Hypothesis]:
        [text] = self.tokenizer.decode([query.source], "source")
        self.seen.append(text)
        [ids] = self.tokenizer.encode([" ".join([*reversed(text.split()), *self.more.split()])], "target")
        return [Hypothesis(query.prefix or tuple(ids), -1.0, -1.0)] * options.n_best

    def score(self, queries: Sequence[Query], targets: Sequence[Ids], alone: bool = False) -> list[list[float]]:
        """A target token costs 9 more where its own piece is missing in the source."""
        return [
            [-1.0 if token in query.source else -10.0 for token in (*target, EOS)]
            for query, target in zip(queries, targets, strict=True)
        ]


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    lines = [(f"{a} {b} {n}", f"{b} {a} {n}") for a in WORDS for b in WORDS for n in range(3)]
    return learn(lines, TokenizerConfig.model_validate({"user_defined_symbols": NAMES}))


def of(tokenizer: Tokenizer, more: str = "") -> tuple[Translator, Swap]:
    engine = Swap(tokenizer, more)
    return Translator(tokenizer, engine, DecodeConfig(), symbols=Symbols(NAMES)), engine


def test_the_model_sees_symbols_and_the_user_text(tokenizer: Tokenizer) -> None:
    translator, engine = of(tokenizer)
    found = translator.translate(["dog sees {name} %s", "two <b>cat</b>", ""])
    assert engine.seen[:2] == ["dog sees ⟦0⟧ ⟦1⟧", "two ⟦0⟧cat⟦1⟧"]
    assert [one.text for one in found] == ["%s {name} sees dog", "<b>cat</b> two", ""]
    assert [one.source for one in found] == ["dog sees {name} %s", "two <b>cat</b>", ""]


@settings(deadline=None, max_examples=25)
@given(LINE)
def test_a_turned_sentence_has_the_words_of_its_source(tokenizer: Tokenizer, line: str) -> None:
    translator, engine = of(tokenizer)
    words = line.split() if set(line.split()) & {*WORDS} else line.split()[::-1]  # without a word a line is copied
    assert translator.translate(line).text.split() == [*reversed(words)]
    assert not any("{name}" in text or "a.org" in text for text in engine.seen if len(set(text.split())) <= 4)


def test_symbols_that_the_model_made_up_are_left_out(tokenizer: Tokenizer) -> None:
    translator, _ = of(tokenizer, more="⟦3⟧ ⟦2⟧ two")
    assert translator.translate("dog").text == "dog two"
    assert "⟦" not in translator.translate("dog {name}").text


def test_alignment_is_that_of_the_restored_texts(tokenizer: Tokenizer) -> None:
    translator, _ = of(tokenizer)
    line = "dog  sees {name}s <a href='x y'> two"
    found = translator.translate(line, alignment=True)
    source = normalise(line)
    assert found.text == "two <a href='x y'> {name}s sees dog"
    words = {(source[a.begin : a.end], found.text[b.begin : b.end]) for a, b in found.alignment}
    assert words == {(word, word) for word in ("dog", "sees", "{name}s", "<a href='x y'>", "two")}


def test_a_target_prefix_alternatives_and_scores_have_the_symbols_of_their_source(tokenizer: Tokenizer) -> None:
    translator, _ = of(tokenizer)
    assert translator.translate("dog {name}", target_prefix="{name} sees").text == "{name} sees"
    assert all(set(one.text.split()) <= {*WORDS, "{name}"} for one in translator.alternatives("dog {name}", count=2))
    same, other = translator.score([("dog {name}", "{name} dog"), ("dog {name}", "%s dog")])
    assert sum(same) == -1.0 * (len(same) - 1) - 10.0 > sum(other)


def test_a_model_without_symbols_sees_every_line_as_it_is(tokenizer: Tokenizer) -> None:
    engine = Swap(tokenizer)
    translator = Translator(tokenizer, engine, DecodeConfig())
    assert translator.translate("dog {name} ⟦1⟧").text == "⟦1⟧ {name} dog"
    assert engine.seen[0] == "dog {name} ⟦1⟧"
