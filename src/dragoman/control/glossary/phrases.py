"""Translations that must contain given phrases, by any engine that accepts a target prefix.

Input: hypotheses found without constraints. Output: the best hypotheses found that contain the phrases. A missing
phrase is inserted after a prefix of the translation, y[:p] + phrase, and the engine continues from there: what followed
y[:p] may come after the phrase, change or disappear. The engine may continue from less than the whole source
(`PhraseTask.remaining_source`). Every allowed p and every alternative is tried, for all sentences in one call; the best
score wins. (Lattices as in Hokamp and Liu 2017 and Post and Vilar 2018 would search more, but inside the beam, where
engines differ.)

Where every continuation hides the phrase (`server` + `s`), the phrase is written into the translation as it is, before
a word or instead of one, and the engine only scores the result. So a phrase that the vocabulary can write, in a
translation that is long enough, is always contained.

If several phrases are missing, the next is inserted after what the last one has fixed. One or two phrases are tried in
every order; of more, the phrase whose best position comes first is inserted first, since nothing can be inserted before
it later.

**Cost.** m phrases take at most m rounds, each one search of the engine and at most one scoring. A round searches, per
sentence, at most (positions) × (alternatives of the missing phrases) prefixes, with positions ≤ words and signs of its
translation + 2; twice that after the first round of two phrases. Sentences that contain their phrases cost nothing.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import inf, isfinite

from dragoman.config import DecodeConfig
from dragoman.decode.hypothesis import Hypothesis, length_penalty
from dragoman.engine import Engine, Ids, Query
from dragoman.system.groups import in_groups

Tokens = tuple[int, ...]

# Up to this many phrases are tried in every order; n phrases have n! orders.
MAX_PHRASES_IN_ALL_ORDERS = 2


@dataclass(frozen=True, slots=True)
class PhraseTask:
    """A source, its hypotheses without constraints, best first, and the phrases that a translation must contain."""

    query: Query
    hypotheses: Sequence[Hypothesis]
    phrases: Sequence[Sequence[Ids]]
    """For each phrase its alternatives as token ids."""
    contains: Callable[[Ids], tuple[bool, ...]]
    """Which phrases a translation contains: text has several tokenisations. Called often, so it should cache."""
    insertion_points: Callable[[Ids, Ids, int], Iterable[int]]
    """The positions of a translation, from a given one on, where an alternative may be inserted."""
    remaining_source: Callable[[frozenset[int]], Ids]
    """The source to continue from once these phrases are inserted: all of it, or what they have not translated."""


@dataclass(frozen=True, slots=True)
class _Branch:
    """An unfinished translation of a task: its first `fixed` tokens, which hold the `placed` phrases, stay.

    The `unplaceable` phrases fit nowhere after them.
    """

    task: int
    tokens: Tokens
    fixed: int = 0
    placed: frozenset[int] = frozenset()
    unplaceable: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class _Attempt:
    """A prefix that inserts a phrase into a branch, and the hypotheses that begin with it."""

    phrase: int
    prefix: Tokens
    hypotheses: Sequence[Hypothesis] = ()


def force_phrases(engine: Engine, tasks: Sequence[PhraseTask], options: DecodeConfig) -> list[list[Hypothesis]]:
    """For each task up to `options.n_best` translations: those with most of its phrases first, then by score.

    A task whose best hypothesis contains every phrase keeps its hypotheses. A phrase that no translation can contain
    (longer than the length limit, or of tokens that the model never uses) is left out without an error. Constrained
    translations are searched by beam whatever `options.method` is.
    """
    pools = [{tuple(hypothesis.tokens): hypothesis for hypothesis in task.hypotheses} for task in tasks]
    branches = [
        _Branch(index, tuple(task.hypotheses[0].tokens))
        for index, task in enumerate(tasks)
        if not all(task.contains(task.hypotheses[0].tokens))
    ]
    incomplete = {branch.task for branch in branches}
    for _ in range(max((len(task.phrases) for task in tasks), default=0)):
        branches = _round(engine, tasks, options, branches, pools)
    return [
        sorted(pool.values(), key=_rank(task))[: options.n_best] if index in incomplete else list(task.hypotheses)
        for index, (task, pool) in enumerate(zip(tasks, pools, strict=True))
    ]


def score_targets(
    engine: Engine, queries: Sequence[Query], targets: Sequence[Tokens], options: DecodeConfig
) -> list[Hypothesis]:
    """Translations, none empty, as hypotheses with the scores that a search would give them."""
    if not targets:
        return []
    if options.coverage_penalty:  # only a search computes it: one in which every token is forced
        forced = {"method": "beam", "beam": 1, "n_best": 1, "min_length": 0, "max_length": 1}
        prefixed = [replace(query, prefix=target) for query, target in zip(queries, targets, strict=True)]
        searched = engine.translate(prefixed, options.model_copy(update=forced))
        return [
            hypotheses[0] if hypotheses else Hypothesis(target, -inf, -inf)
            for hypotheses, target in zip(searched, targets, strict=True)
        ]
    log_probs = map(sum, engine.score(queries, targets, alone=options.exact))
    return [
        Hypothesis(target, total, total / length_penalty(len(target) + 1, options.length_penalty))
        for target, total in zip(targets, log_probs, strict=True)
    ]


def _rank(task: PhraseTask) -> Callable[[Hypothesis], tuple[int, float]]:
    """A sort key: the best first."""
    return lambda hypothesis: (-sum(task.contains(hypothesis.tokens)), -hypothesis.score)


def _round(
    engine: Engine,
    tasks: Sequence[PhraseTask],
    options: DecodeConfig,
    branches: Sequence[_Branch],
    pools: Sequence[dict[Tokens, Hypothesis]],
) -> list[_Branch]:
    """Insert one more phrase into each branch, in every way; return the branches of the next round."""
    tried = _search_attempts(engine, tasks, options, branches)
    for branch, drafts in zip(branches, _score_drafts(engine, tasks, options, branches, tried), strict=True):
        tried[branch].extend(drafts)
    following: dict[int, list[_Branch]] = {}
    for branch, attempts in tried.items():
        pools[branch.task].update((tuple(h.tokens), h) for attempt in attempts for h in attempt.hypotheses)
        following.setdefault(branch.task, []).extend(_extend(branch, tasks[branch.task], attempts))
    return [branch for index, extended in following.items() for branch in _select(tasks[index], extended)]


def _search_attempts(
    engine: Engine, tasks: Sequence[PhraseTask], options: DecodeConfig, branches: Sequence[_Branch]
) -> dict[_Branch, list[_Attempt]]:
    """Every way to insert a missing phrase after what is fixed, with the engine's continuations."""
    attempts = {branch: list(_attempts(branch, tasks[branch.task], options)) for branch in branches}
    keys = list(dict.fromkeys(_key(branch, attempt) for branch, some in attempts.items() for attempt in some))
    if not keys:
        return attempts
    # All hypotheses of the beam are kept: the best of them may continue within the phrase's last word.
    wide = options.model_copy(update={"method": "beam", "n_best": options.beam})
    queries = [replace(_remaining(tasks[index], placed), prefix=prefix) for index, placed, prefix in keys]
    continued = dict(zip(keys, engine.translate(queries, wide), strict=True))
    return {
        branch: [_Attempt(attempt.phrase, attempt.prefix, continued[_key(branch, attempt)]) for attempt in some]
        for branch, some in attempts.items()
    }


def _remaining(task: PhraseTask, placed: frozenset[int]) -> Query:
    """The query of what is left of a source once these phrases are inserted."""
    return Query(task.remaining_source(placed), (), task.query.marks)


def _key(branch: _Branch, attempt: _Attempt) -> tuple[int, frozenset[int], Tokens]:
    """One search: the task, the phrases that are placed with this attempt, and the target prefix."""
    return branch.task, branch.placed | {attempt.phrase}, attempt.prefix


def _attempts(branch: _Branch, task: PhraseTask, options: DecodeConfig) -> Iterator[_Attempt]:
    longest = options.limit(len(task.query.source))
    for phrase in _missing(task, branch):
        for alternative in task.phrases[phrase]:
            for position in task.insertion_points(branch.tokens, alternative, branch.fixed):
                if position + len(alternative) <= longest:
                    yield _Attempt(phrase, (*branch.tokens[:position], *alternative))


def _score_drafts(
    engine: Engine,
    tasks: Sequence[PhraseTask],
    options: DecodeConfig,
    branches: Sequence[_Branch],
    tried: Mapping[_Branch, Sequence[_Attempt]],
) -> list[list[_Attempt]]:
    """For each branch: the phrases that no search could place, written into the translation as it is, and scored."""
    drafts = [list(_drafts(branch, tasks[branch.task], options, tried[branch])) for branch in branches]

    def score(written: Sequence[tuple[_Branch, _Attempt, Tokens]]) -> list[_Attempt]:
        queries = [_remaining(tasks[branch.task], branch.placed | {attempt.phrase}) for branch, attempt, _ in written]
        scored = score_targets(engine, queries, [tokens for *_, tokens in written], options)
        return [
            _Attempt(attempt.phrase, attempt.prefix, [hypothesis] if isfinite(hypothesis.log_prob) else [])
            for (_, attempt, _), hypothesis in zip(written, scored, strict=True)
        ]

    return in_groups(
        score, [[(branch, *draft) for draft in some] for branch, some in zip(branches, drafts, strict=True)]
    )


def _drafts(
    branch: _Branch, task: PhraseTask, options: DecodeConfig, tried: Sequence[_Attempt]
) -> Iterator[tuple[_Attempt, Tokens]]:
    """Translations with a missing phrase written before a word, or in its place."""
    done = {
        attempt.phrase
        for attempt in tried
        for hypothesis in attempt.hypotheses
        if task.contains(hypothesis.tokens)[attempt.phrase]
    }
    longest = options.limit(len(task.query.source))
    for phrase in set(_missing(task, branch)) - done:
        for alternative in task.phrases[phrase]:
            positions = sorted(task.insertion_points(branch.tokens, alternative, branch.fixed))
            for position, following in pairwise((*positions, len(branch.tokens))):
                prefix = (*branch.tokens[:position], *alternative)
                for tokens in {(*prefix, *branch.tokens[position:]), (*prefix, *branch.tokens[following:])}:
                    if options.min_length <= len(tokens) <= longest and task.contains(tokens)[phrase]:
                        yield _Attempt(phrase, prefix), tokens


def _missing(task: PhraseTask, branch: _Branch) -> list[int]:
    contained = task.contains(branch.tokens)
    return [phrase for phrase, there in enumerate(contained) if not there and phrase not in branch.unplaceable]


def _extend(branch: _Branch, task: PhraseTask, attempts: Sequence[_Attempt]) -> list[_Branch]:
    """For each missing phrase the branch with the phrase at its best position; without one it is unplaceable."""
    rank, best = _rank(task), dict[int, tuple[Hypothesis, Tokens]]()
    for attempt in attempts:
        for hypothesis in attempt.hypotheses:
            known = best.get(attempt.phrase)
            contained = task.contains(hypothesis.tokens)[attempt.phrase]
            if contained and (known is None or rank(hypothesis) < rank(known[0])):
                best[attempt.phrase] = hypothesis, attempt.prefix
    unplaceable = branch.unplaceable | (set(_missing(task, branch)) - set(best))
    return [
        _Branch(branch.task, tuple(hypothesis.tokens), len(prefix), branch.placed | {phrase}, unplaceable)
        for phrase, (hypothesis, prefix) in best.items()
    ]


def _select(task: PhraseTask, extended: Sequence[_Branch]) -> list[_Branch]:
    """The branches that still miss a phrase; of many, unless one misses none, the one that has fixed least."""
    unfinished = [branch for branch in extended if _missing(task, branch)]
    if len(extended) <= MAX_PHRASES_IN_ALL_ORDERS:
        return unfinished
    return [min(unfinished, key=lambda branch: branch.fixed)] if len(unfinished) == len(extended) else []
