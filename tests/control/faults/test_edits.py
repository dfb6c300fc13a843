"""Edits: what they cost is bounded by the length of the sentence, whatever is wrong with its translation."""

from collections.abc import Sequence
from functools import cache

from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.config import DecodeConfig, TokenizerConfig
from dragoman.control.faults.edits import BUDGET, EditTask, edit
from dragoman.control.faults.faults import Requirements
from dragoman.engine import Ids, Query
from dragoman.text.tokens.tokenizer import Tokenizer, learn
from dragoman.text.words.normalise import normalise
from stand_ins import FakeEngine

WORDS = ["dog", "cat", "bird", "tree", "red", "small", "two", "sees"]
PAIRS = [(f"{a} {b} {c}", f"{c} {a} {b}") for a in WORDS for b in WORDS for c in WORDS[:3]]
# What there is to lose, to invent and to insert before.
PIECES = [*WORDS, "17", "93", "1,000", "{name}", "%s", "<b>", "</b>", "5f2c9e71ab", "3/4", "%", "-4"]


@cache
def tokenizer() -> Tokenizer:
    return learn(PAIRS, TokenizerConfig(vocab_size=282))


class Counting(FakeEngine):
    """An engine that counts the tokens that it scores."""

    scored = 0

    def score(self, queries: Sequence[Query], targets: Sequence[Ids], alone: bool = False) -> list[list[float]]:
        self.scored += sum(map(len, targets))
        return super().score(queries, targets, alone)


texts = st.lists(st.sampled_from(PIECES), min_size=1, max_size=40).map(" ".join)
hexadecimal = st.text("0123456789abcdef -:", min_size=1).filter(str.strip)


@given(source=texts | hexadecimal, translation=texts | hexadecimal)
@settings(max_examples=60, deadline=None)
def test_the_drafts_of_a_sentence_are_bounded_by_its_length(source: str, translation: str) -> None:
    engine = Counting()
    requirements = Requirements.of(source, DecodeConfig())
    [ids] = tokenizer().encode([requirements.source], "source")
    [edited] = edit(engine, tokenizer(), [EditTask(requirements, Query(ids), normalise(translation))])
    # Before a change is scored, what it inserts is not counted: the last one may cost somewhat more than is left.
    assert engine.scored <= 1.5 * BUDGET * len(ids)
    assert requirements.faults(edited.text).count <= requirements.faults(normalise(translation)).count


def test_a_long_list_of_numbers_that_is_lost_costs_no_more_than_a_short_one() -> None:
    def tokens(count: int) -> float:
        engine, numbers = Counting(), " ".join(str(100 + number) for number in range(count))
        [ids] = tokenizer().encode([f"dog {numbers}"], "source")
        [edited] = edit(
            engine, tokenizer(), [EditTask(Requirements.of(f"dog {numbers}", DecodeConfig()), Query(ids), "cat")]
        )
        assert edited.inserted
        return engine.scored / len(ids)

    assert tokens(40) <= 1.5 * tokens(4) + BUDGET
