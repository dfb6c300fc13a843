"""Forced insertion: the best translation that begins as ours does and then says the phrase, against enumeration."""

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import product
from math import inf, log

import pytest

from dragoman.config import DecodeConfig
from dragoman.control.glossary.phrases import PhraseTask, force_phrases
from dragoman.decode.hypothesis import Hypothesis, length_penalty
from dragoman.engine import Ids, Query
from stand_ins import FakeEngine, queries
from suites import cases

WORDS, END = (4, 5, 6, 7), 3
OPTIONS = DecodeConfig(beam=2000, n_best=1, extra_length=3, length_penalty=0.6)


class Bigrams(FakeEngine):
    """A language model of four words that is a table, and a search that looks at every sentence there is."""

    def __init__(self, seed: int, never: Iterable[int] = ()) -> None:
        super().__init__()
        self.seed, self.never, self.calls = seed, set(never), 0
        self.known: dict[tuple[int, ...], list[Hypothesis]] = {}

    def log_probs(self, source: Ids) -> dict[tuple[int, int], float]:
        """log P of each word, or the end, after each word, or the beginning, which is 0."""
        draw, table = random.Random(f"{self.seed} {list(source)}"), {}
        for before in (0, *WORDS):
            weights = {word: draw.random() ** 3 + 1e-6 for word in (*WORDS, END)}
            table.update({(before, word): log(weight / sum(weights.values())) for word, weight in weights.items()})
        return table

    def everything(self, source: Ids) -> list[Hypothesis]:
        """Every sentence, best first."""
        if tuple(source) not in self.known:
            words, table = [word for word in WORDS if word not in self.never], self.log_probs(source)
            lengths = range(OPTIONS.limit(len(source)) + 1)
            found = []
            for tokens in (sentence for length in lengths for sentence in product(words, repeat=length)):
                total = sum(table[pair] for pair in zip((0, *tokens), (*tokens, END), strict=True))
                found.append(Hypothesis(tokens, total, total / length_penalty(len(tokens) + 1, OPTIONS.length_penalty)))
            self.known[tuple(source)] = sorted(found, key=lambda hypothesis: -hypothesis.score)
        return self.known[tuple(source)]

    def translate(self, queries: Sequence[Query], options: DecodeConfig) -> list[list[Hypothesis]]:
        self.calls += 1
        return [
            [h for h in self.everything(query.source) if h.tokens[: len(query.prefix)] == query.prefix][
                : options.n_best
            ]
            for query in queries
        ]
        return [hypotheses[: options.n_best] for hypotheses in lists]

    def score(self, queries: Sequence[Query], targets: Sequence[Ids], alone: bool = False) -> list[list[float]]:
        def one(source: Ids, tokens: Ids) -> list[float]:
            table = self.log_probs(source)
            steps = zip((0, *tokens), (*tokens, END), strict=True)
            return [-inf if pair[1] in self.never else table[pair] for pair in steps]

        return [one(query.source, target) for query, target in zip(queries, targets, strict=True)]


def holds(tokens: Ids, phrase: Ids) -> bool:
    return any(tuple(tokens[at : at + len(phrase)]) == tuple(phrase) for at in range(len(tokens) - len(phrase) + 1))


def task(source: Ids, hypotheses: Sequence[Hypothesis], phrases: Sequence[Sequence[Ids]]) -> PhraseTask:
    def contains(tokens: Ids) -> tuple[bool, ...]:
        return tuple(any(holds(tokens, one) for one in alternatives) for alternatives in phrases)

    return PhraseTask(
        Query(source),
        hypotheses,
        phrases,
        contains,
        lambda tokens, _, fixed: range(fixed, len(tokens) + 1),
        lambda _: source,
    )


def rank(phrases: Sequence[Sequence[Ids]]) -> Callable[[Hypothesis], tuple[int, float]]:
    phrase_task = task([], [], phrases)
    return lambda hypothesis: (sum(phrase_task.contains(hypothesis.tokens)), hypothesis.score)


def with_one_more(model: Bigrams, source: Ids, first: Ids, fixed: int, phrase: Sequence[Ids]) -> list[Hypothesis]:
    """By enumeration: every sentence that follows `first` for `fixed` tokens or more and then says the phrase."""
    return [
        sentence
        for sentence in model.everything(source)
        if any(
            sentence.tokens[: place + len(one)] == (*first[:place], *one)
            for one in phrase
            for place in range(fixed, len(first) + 1)
        )
    ]


@pytest.mark.parametrize("seed", cases(range(12), quick=range(4)))
def test_one_phrase_gives_the_best_of_all_sentences_that_begin_like_ours_and_say_it(seed: int) -> None:
    model, draw = Bigrams(seed), random.Random(seed)
    source = [draw.choice(WORDS) for _ in range(2)]
    phrase = [tuple(draw.choice(WORDS) for _ in range(draw.randint(1, 2))) for _ in range(draw.randint(1, 2))]
    unconstrained = model.translate(queries([source]), OPTIONS)
    [[found]] = force_phrases(model, [task(source, unconstrained[0], [phrase])], OPTIONS)
    possible = with_one_more(model, source, unconstrained[0][0].tokens, 0, phrase)
    assert found == max(possible, key=lambda hypothesis: hypothesis.score)
    everywhere = [h for h in model.everything(source) if any(holds(h.tokens, one) for one in phrase)]
    assert found.score <= max(hypothesis.score for hypothesis in everywhere)


@pytest.mark.parametrize("seed", range(4))
def test_what_follows_a_phrase_is_translated_from_the_rest(seed: int) -> None:
    model, phrase, rest = Bigrams(seed), [(6, 4)], [7, 7]
    [[first]] = model.translate(queries([[4, 5]]), OPTIONS)
    phrase_task = replace(
        task([4, 5], [first], [phrase]), remaining_source=lambda placed: rest if placed == {0} else []
    )
    [[found]] = force_phrases(model, [phrase_task], OPTIONS)
    possible = with_one_more(model, rest, first.tokens, 0, phrase)
    assert found == (first if holds(first.tokens, (6, 4)) else max(possible, key=lambda hypothesis: hypothesis.score))


def best_in_any_order(
    model: Bigrams, source: Ids, phrases: Sequence[Sequence[Ids]], unconstrained: Hypothesis
) -> Hypothesis:
    """By enumeration: one phrase at its best place, then the other behind it; whichever goes first."""
    order, pool = rank(phrases), [unconstrained]
    contains = task(source, [], phrases).contains
    for first, second in ((0, 1), (1, 0)):
        if contains(unconstrained.tokens)[first]:
            continue
        possible = with_one_more(model, source, unconstrained.tokens, 0, phrases[first])
        pool += possible
        middle = max(possible, key=order)
        if not contains(middle.tokens)[second]:
            fixed = min(
                place + len(one)
                for one in phrases[first]
                for place in range(len(middle.tokens))
                if middle.tokens[: place + len(one)] == (*unconstrained.tokens[:place], *one)
            )
            pool += with_one_more(model, source, middle.tokens, fixed, phrases[second])
    return max(pool, key=order)


@pytest.mark.parametrize("seed", cases(range(12), quick=range(4)))
def test_two_phrases_are_tried_in_both_orders(seed: int) -> None:
    model, draw = Bigrams(seed), random.Random(seed)
    source = [draw.choice(WORDS) for _ in range(2)]
    phrases = [[tuple(pair)] for pair in draw.sample(list(product(WORDS, repeat=2)), 2)]
    unconstrained = model.translate(queries([source]), OPTIONS)
    [[found]] = force_phrases(model, [task(source, unconstrained[0], phrases)], OPTIONS)
    expected = best_in_any_order(model, source, phrases, unconstrained[0][0])
    assert rank(phrases)(found) == rank(phrases)(expected)
    assert rank(phrases)(found)[0] == 2


@pytest.mark.parametrize("seed", cases(range(6), quick=range(4)))
def test_three_phrases_are_all_generated_in_as_many_calls_at_most(seed: int) -> None:
    model = Bigrams(seed)
    unconstrained = model.translate(queries([[4, 5]]), OPTIONS)
    phrase_task = task([4, 5], unconstrained[0], [[(4,)], [(6,)], [(7,)]])
    model.calls = 0
    [[found]] = force_phrases(model, [phrase_task], OPTIONS)
    assert phrase_task.contains(found.tokens) == (True, True, True)
    assert model.calls <= 3


def test_what_is_generated_already_stays_as_it_is_and_costs_nothing() -> None:
    model = Bigrams(1)
    options = OPTIONS.model_copy(update={"n_best": 3})
    [hypotheses] = model.translate(queries([[4, 5]]), options)
    model.calls = 0
    phrases = [[hypotheses[0].tokens[:1]]]
    assert (
        force_phrases(model, [task([4, 5], hypotheses, phrases), task([4, 5], hypotheses, [])], options)
        == [hypotheses] * 2
    )
    assert model.calls == 0


def test_sentences_are_searched_together_and_each_as_if_alone() -> None:
    model, sources = Bigrams(5), [[4], [5, 6], [7], [4]]
    hypotheses = model.translate(queries(sources), OPTIONS)
    phrase_tasks = [task(s, h, [[(word, word)]]) for s, h, word in zip(sources, hypotheses, WORDS, strict=True)]
    alone = [force_phrases(model, [phrase_task], OPTIONS)[0] for phrase_task in phrase_tasks]
    model.calls = 0
    assert force_phrases(model, phrase_tasks, OPTIONS) == alone
    assert model.calls == 1


def test_the_best_come_first_and_no_more_than_asked_for() -> None:
    model = Bigrams(2)
    options = OPTIONS.model_copy(update={"n_best": 4})
    [hypotheses] = model.translate(queries([[4, 5]]), options)
    phrases = [[(6, 6)]]
    [found] = force_phrases(model, [task([4, 5], hypotheses, phrases)], options)
    assert len({hypothesis.tokens for hypothesis in found}) == 4
    assert sorted(found, key=rank(phrases), reverse=True) == found
    [[best]] = force_phrases(model, [task([4, 5], hypotheses, phrases)], OPTIONS)
    assert found[0] == best


def test_what_cannot_be_generated_is_left_out_and_the_rest_is_generated() -> None:
    model = Bigrams(4, never=[7])
    [hypotheses] = model.translate(queries([[4, 5]]), OPTIONS)
    too_long, unwritable = [(6,) * (OPTIONS.limit(2) + 1)], list[Ids]()
    possible = (5, 5) if not holds(hypotheses[0].tokens, (5, 5)) else (6, 6)
    phrase_task = task([4, 5], hypotheses, [[(7,)], too_long, unwritable, [possible]])
    [[found]] = force_phrases(model, [phrase_task], OPTIONS)
    assert phrase_task.contains(found.tokens) == (False, False, False, True)
    assert force_phrases(model, [task([4, 5], hypotheses, [[(7,)]])], OPTIONS) == [hypotheses]


def test_a_phrase_generated_at_first_and_lost_on_the_way_is_generated_again() -> None:
    """Whatever the first insertion does to the end of a sentence, the end's own phrase has to come back."""
    for seed in range(40):
        model = Bigrams(seed)
        [[first]] = model.translate(queries([[4, 5]]), OPTIONS)
        if len(first.tokens) < 2:
            continue
        phrase_task = task([4, 5], [first], [[first.tokens[-2:]], [(4, 7)]])
        [[found]] = force_phrases(model, [phrase_task], OPTIONS)
        assert phrase_task.contains(found.tokens) == (True, True)


@pytest.mark.parametrize("seed", cases(range(8), quick=range(4)))
def test_what_every_continuation_hides_is_inserted_unchanged(seed: int) -> None:
    """Say the phrase is hidden whenever a 6 follows, and the engine can say nothing but a 6 after it."""
    model = Bigrams(seed)
    [[first]] = model.translate(queries([[4, 5]]), OPTIONS)
    phrase_task = task([4, 5], [first], [[(7, 7)]])
    hiding = PhraseTask(
        phrase_task.query,
        phrase_task.hypotheses,
        phrase_task.phrases,
        lambda tokens: (holds([*tokens, 0], (7, 7)) and not holds(tokens, (7, 7, 6)),),
        phrase_task.insertion_points,
        phrase_task.remaining_source,
    )
    if hiding.contains(first.tokens)[0]:
        pytest.skip("said already")
    everything = model.everything([4, 5])
    model.known[4, 5] = [h for h in everything if not hiding.contains(h.tokens)[0]]
    [[found]] = force_phrases(model, [hiding], OPTIONS)
    y = first.tokens
    drafts = {(*y[:p], 7, 7, *y[q:]) for p in range(len(y) + 1) for q in (p, min(p + 1, len(y)))}
    possible = [h for h in everything if h.tokens in drafts and hiding.contains(h.tokens)[0]]
    best = max(possible, key=lambda hypothesis: hypothesis.score)
    assert found.tokens == best.tokens
    assert (found.log_prob, found.score) == pytest.approx((best.log_prob, best.score))
