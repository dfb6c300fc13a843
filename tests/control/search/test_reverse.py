"""Two models choose: the order is score + w · score of the source, where it is asked for, and nowhere else."""

import gc
import pickle
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import pytest

from dragoman import DecodeConfig, Translator
from dragoman.control.languages import LanguagePair, Pairs
from dragoman.control.search.n_best import search_distinct
from dragoman.control.search.reverse import CANDIDATES, WITHIN, ReverseEngine, plain_engine, reverse_marks
from dragoman.decode.hypothesis import Hypothesis, length_penalty
from dragoman.engine import Engine, Ids, Query
from dragoman.errors import ConfigError
from dragoman.text.tokens.marks import NO_MARKS, Marks
from dragoman.text.tokens.tokenizer import UNK, Tokenizer
from stand_ins import FakeEngine

# On every processor the two models together translate some of these otherwise than the first alone.
SENTENCES = [
    "I have two younger brothers.",
    "My daughter starts school in March.",
    "Would you like some tea?",
    "She forgot her umbrella at the library, so she got wet on the way home.",
    "Could you speak a little more slowly?",
    "She has been learning the piano for five years.",
    "Thank you for your quick reply.",
    "I would like a room for two nights.",
]


class Numbers:
    """A tokenizer of texts that are numbers."""

    def decode(self, rows: Sequence[Ids], side: str) -> list[str]:
        return [" ".join(map(str, row)) for row in rows]

    def encode(self, texts: Sequence[str], side: str) -> list[list[int]]:
        return [[int(number) for number in text.split()] for text in texts]


class Likes(FakeEngine):
    """An engine that finds a source with the token 9 likely, and any other unlikely; `asked` is what it was asked."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[tuple[Query, Ids]] = []

    def score(self, queries: Sequence[Query], targets: Sequence[Ids], alone: bool = False) -> list[list[float]]:
        self.asked += zip(queries, targets, strict=True)
        return [
            [-0.1 if 9 in query.source else -4.0] * (len(target) + 1)
            for query, target in zip(queries, targets, strict=True)
        ]


def beam(query: Query, options: DecodeConfig) -> list[Hypothesis]:
    """The third has a 9, the fourth is empty, and those behind it are far from the best."""
    near = [Hypothesis(tokens, -1.0 - n / 10, -1.0 - n / 10) for n, tokens in enumerate(((7, 5), (7, 7), (7, 9), ()))]
    far = [Hypothesis((9, n), -2.0 - n, -2.0 - n) for n in range(options.n_best - 4)]
    return [*near, *far][: options.n_best]


def both(reverse: Engine, engine: Engine | None = None) -> ReverseEngine:
    numbers = cast(Tokenizer, Numbers())
    return ReverseEngine(engine or FakeEngine(beam), numbers, reverse, numbers, {NO_MARKS: NO_MARKS})


def test_what_makes_the_source_likely_comes_first() -> None:
    likes = Likes()
    engine = both(likes)
    [[first, second]] = engine.translate([Query((3, 4))], DecodeConfig(n_best=2))
    assert first == Hypothesis((7, 9), -1.2, -1.2)  # with the first model's own score
    assert second.tokens == (7, 5)
    assert [query.source for query, _ in likes.asked] == [[7, 5], [7, 7], [7, 9], (UNK,)]  # no source is empty
    assert all(target == [3, 4] for _, target in likes.asked)
    [(_, options)] = cast(FakeEngine, engine.engine).searched
    assert options.beam == options.n_best == CANDIDATES


def test_what_is_far_behind_keeps_its_place() -> None:
    [found] = both(Likes()).translate([Query((3, 4))], DecodeConfig(n_best=4, beam=8))
    assert [one.tokens for one in found] == [(7, 9), (7, 5), (7, 7), ()]
    [found] = both(Likes()).translate([Query((3, 4))], DecodeConfig(n_best=8, beam=8))
    assert [one.tokens for one in found[4:]] == [(9, 0), (9, 1), (9, 2), (9, 3)]


def test_a_single_candidate_is_not_asked_about() -> None:
    likes = Likes()
    sure = FakeEngine(lambda query, options: [Hypothesis((5,), -0.1, -0.1), Hypothesis((9,), -3.0, -3.0)])
    assert both(likes, sure).translate([Query((3,))], DecodeConfig())[0][0].tokens == (5,)
    assert not likes.asked


@pytest.mark.parametrize(
    "options",
    [
        DecodeConfig(reverse_weight=0),
        DecodeConfig(beam=1),
        DecodeConfig(method="sample", n_best=3),
    ],
    ids=["no weight", "greedy", "random"],
)
def test_without_a_beam_or_a_weight_the_first_model_decides(options: DecodeConfig) -> None:
    likes, alone = Likes(), FakeEngine(beam)
    assert both(likes).translate([Query((3, 4))], options) == alone.translate([Query((3, 4))], options)
    assert not likes.asked


def test_a_language_model_and_a_reverse_model_are_not_combined() -> None:
    with pytest.raises(ConfigError, match="language_model: works without a reverse model"):
        both(Likes()).translate([Query((3,))], DecodeConfig(language_model=Path("lm")))


def test_a_wider_beam_stays_as_wide() -> None:
    engine = both(Likes())
    engine.translate([Query((3,))], DecodeConfig(beam=12))
    [(_, options)] = cast(FakeEngine, engine.engine).searched
    assert options.beam == 12


def test_a_pair_without_opposite_has_the_usual_order() -> None:
    likes = Likes()
    french, german = Marks((1001,)), Marks((1002,))
    numbers = cast(Tokenizer, Numbers())
    engine = ReverseEngine(FakeEngine(beam), numbers, likes, numbers, {french: german})
    asked = [Query((3,), (), Marks((1003,))), Query((3,), (), french)]
    [[other], [changed]] = engine.translate(asked, DecodeConfig())
    assert other.tokens == (7, 5)
    assert [options.beam for _, options in cast(FakeEngine, engine.engine).searched] == [4, CANDIDATES]
    assert changed.tokens == (7, 9)
    assert {query.marks for query, _ in likes.asked} == {german}


def test_opposites_are_found_by_primary_language() -> None:
    one, other = Marks((5,)), Marks((6,))
    pairs = Pairs((LanguagePair("en-GB", "zh-Hant", one), LanguagePair("en", "de", other), LanguagePair("en", None)))
    assert reverse_marks(pairs, Pairs((LanguagePair("zh-TW", "en", other),))) == {one: other}
    with pytest.raises(ConfigError, match=r"reverse: de-fr is given for .*; give a model of the other direction"):
        reverse_marks(pairs, Pairs((LanguagePair("de", "fr"),)))


@pytest.fixture(scope="module")
def english() -> Translator:
    return Translator.load("en-ko", threads=1)


@pytest.fixture(scope="module")
def korean() -> Translator:
    return Translator.load("ko-en", threads=1)


def test_the_order_is_that_of_the_equation(english: Translator, korean: Translator) -> None:
    """Against the equation, computed from what each model says by itself."""
    together = english.with_reverse(korean)
    changed = 0
    for sentence in SENTENCES:
        alone = english.translate(sentence, beam=CANDIDATES, n_best=CANDIDATES)
        rows = korean.score([(candidate.text, sentence) for candidate in alone.candidates])
        alpha = english.options.length_penalty
        values = [
            candidate.score + 0.4 * sum(row) / length_penalty(len(row), alpha)
            for candidate, row in zip(alone.candidates, rows, strict=True)
        ]
        near = [
            value
            for value, one in zip(values, alone.candidates, strict=True)
            if one.score >= alone.candidates[0].score - WITHIN
        ]
        best = alone.candidates[near.index(max(near))]
        found = together.translate(sentence)
        assert found.candidates[0].text == best.text
        assert found.candidates[0].score == pytest.approx(best.score, abs=1e-3)
        changed += best.text != alone.text
    assert changed


def test_a_line_is_translated_the_same_alone_and_among_others(english: Translator, korean: Translator) -> None:
    together = english.with_reverse(korean)
    expected = [together.translate(sentence, exact=True).text for sentence in SENTENCES]
    assert [translation.text for translation in together.translate(SENTENCES, exact=True)] == expected
    assert [translation.text for translation in together.stream(iter(SENTENCES), exact=True)] == expected


def test_alternatives_begin_with_the_likeliest_tokens_of_the_first_model(
    english: Translator, korean: Translator
) -> None:
    alone, both = (one.alternatives(SENTENCES[2], count=3) for one in (english, english.with_reverse(korean)))
    assert [one.tokens[0] for one in both] == [one.tokens[0] for one in alone]
    assert [one.score for one in both] == sorted((one.score for one in both), reverse=True)


def test_the_best_of_n_is_the_one_of_a_single_answer(english: Translator, korean: Translator) -> None:
    together = english.with_reverse(korean)
    for sentence in SENTENCES:
        several = together.translate(sentence, n_best=5, exact=True).candidates
        assert several[0].text == together.translate(sentence, exact=True).text
        assert len({candidate.text for candidate in several}) == len(several) == 5


def test_it_can_be_left_out_and_taken_to_another_process(english: Translator, korean: Translator) -> None:
    def texts(translator: Translator, **changes: Any) -> list[str]:
        return [translation.text for translation in translator.translate(SENTENCES, exact=True, **changes)]

    together = english.with_reverse(korean)
    chosen, alone = texts(together), texts(english)
    assert chosen != alone
    assert texts(together, reverse_weight=0) == texts(together.with_reverse(None)) == alone
    assert texts(pickle.loads(pickle.dumps(together))) == chosen
    assert plain_engine(together.with_reverse(korean.with_reverse(english)).engine) is english.engine


def test_placeholders_and_a_glossary_keep_their_guarantees(english: Translator, korean: Translator) -> None:
    together = english.with_reverse(korean)
    assert "{name}" in together.translate("Hello {name}, my brother has 3 cats.").text
    termed = together.translate("Would you like some tea?", glossary={"tea": "녹차"})
    assert termed.terms[0].satisfied
    assert together.translate("Would you like some tea?", target_prefix="혹시").text.startswith("혹시")


def test_a_model_of_other_languages_is_refused(english: Translator) -> None:
    with pytest.raises(ConfigError, match="reverse: en-ko is given for en-ko; give a model of the other direction"):
        english.with_reverse(english)
    with pytest.raises(ConfigError, match=r"reverse: give a translator, Translator\.load"):
        english.with_reverse("ko-en")  # type: ignore[arg-type]


def test_a_closed_translator_lets_both_go() -> None:
    together = Translator.load("en-ko", threads=1).with_reverse(Translator.load("ko-en", threads=1))
    both_engines = [weakref.ref(together.engine.engine), weakref.ref(together.engine.reverse)]
    together.close()
    gc.collect()
    assert [engine() for engine in both_engines] == [None, None]


def test_n_best_of_two_models_loses_nothing_that_is_better() -> None:
    """Where texts repeat, what a wider beam finds is added though the chosen one is not the first model's best."""

    def few(query: Query, options: DecodeConfig) -> list[Hypothesis]:
        found = [Hypothesis((5,), -1.0, -1.0), Hypothesis((9,), -1.2, -1.2), *[Hypothesis((9,), -1.9, -1.9)] * 4]
        more = [Hypothesis((7,), -1.1, -1.1), Hypothesis((8,), -1.15, -1.15)]
        return sorted([*found, *(more if options.beam > CANDIDATES else [])], key=lambda one: -one.score)

    engine = both(Likes(), FakeEngine(few))
    decode = Numbers().decode
    [found] = search_distinct(engine, lambda rows: decode(rows, "target"), [Query((3,))], DecodeConfig(n_best=4))
    assert [one.tokens for one in found] == [(9,), (5,), (7,), (8,)]
