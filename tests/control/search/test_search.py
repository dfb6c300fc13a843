"""What a search asks of the tokenizer."""

from collections.abc import Sequence
from typing import cast

from dragoman.config import DecodeConfig
from dragoman.control.search.search import translate_sentences
from dragoman.control.search.sentences import Sentence
from dragoman.decode.hypothesis import Hypothesis
from dragoman.engine import Query
from dragoman.text.tokens.tokenizer import Tokenizer
from stand_ins import FakeEngine


class Numbers:
    """A tokenizer that writes each token as a number; `written` are the targets that it was given."""

    def __init__(self) -> None:
        self.written: list[tuple[int, ...]] = []

    def decode(self, targets: Sequence[Sequence[int]], side: str) -> list[str]:
        self.written += map(tuple, targets)
        return [" ".join(map(str, target)) for target in targets]


def four(query: Query, options: DecodeConfig) -> list[Hypothesis]:
    """The source with another last token each time."""
    return [Hypothesis((*query.source, n), -1.0 - n, -1.0 - n) for n in range(options.n_best)]


def test_each_of_the_n_best_is_written_once() -> None:
    tokenizer, sentences = Numbers(), [Sentence((5, 6), text="five six"), Sentence((7,), text="seven")]
    options = DecodeConfig(n_best=4, beam=4)
    found = translate_sentences(FakeEngine(four), cast(Tokenizer, tokenizer), sentences, options)
    assert [[candidate.text for candidate in translation.candidates] for translation in found] == [
        ["5 6 0", "5 6 1", "5 6 2", "5 6 3"],
        ["7 0", "7 1", "7 2", "7 3"],
    ]
    assert len(tokenizer.written) == len(set(tokenizer.written)) == 8
