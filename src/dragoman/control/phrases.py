"""Translations that must contain given phrases, by any engine that can begin where it is told. No torch.

Enters what was found without constraints; leaves the best translations found that contain the phrases. A phrase that
is missing is put behind a beginning of the translation, y[:p] + phrase, and the engine goes on from there: what stood
at p before may be said after the phrase, otherwise, or no more. What it translates from there on may be less than the
whole source (`Task.rest`). Every admissible p and every alternative is tried, for
all sentences in one call; the best score wins. (Lattices as in Hokamp and Liu 2017 and Post and Vilar 2018 would search
more, but inside the beam, where every engine differs.)

Where whatever the engine goes on with hides the phrase (`server` + `s`), the phrase is put into the translation as it
stands, before a word or instead of one, and the engine only scores the outcome: so a phrase of tokens that can be said,
in a translation that is long enough, is always said.

Of several missing phrases the next is put behind what the last has fixed. With one or two phrases all orders are
tried; with more, the phrase whose best place comes first goes first, since nothing can be put before it later.

**Cost.** m phrases take at most m rounds, each one search of the engine and at most one scoring. A round searches, per
sentence, at most (places) × (alternatives of what is missing) beginnings, places ≤ words and signs of its translation
+ 2; twice that after the first round of two phrases. Sentences that say their phrases already cost nothing.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import inf, isfinite
from typing import Protocol

from dragoman.config import DecodeConfig
from dragoman.decode.hypothesis import Hypothesis, length_penalty

Ids = Sequence[int]
Prefix = tuple[int, ...]

# So many phrases are tried in every order; n phrases have n! of them.
ALL_ORDERS = 2


class Searcher(Protocol):
    """The part of an engine that is needed here."""

    def translate(
        self, sources: Sequence[Ids], options: DecodeConfig, target_prefixes: Sequence[Ids] | None = None
    ) -> list[list[Hypothesis]]:
        """See `dragoman.engine.Engine.translate`."""

    def score(self, sources: Sequence[Ids], targets: Sequence[Ids]) -> list[list[float]]:
        """See `dragoman.engine.Engine.score`."""


@dataclass(frozen=True, slots=True)
class Task:
    """A source, its translations without constraints, best first, and what a translation has to contain.

    `phrases` are lists of alternatives as token ids. `says` tells which of the phrases a translation contains, since
    text may be cut into tokens in several ways. `places` tells at which positions of a translation, from a given one
    on, an alternative may be put. `rest` is the source to go on with when some of the phrases have been put: the source
    itself, or what of it they have not translated yet. All are asked often: `says` should remember.
    """

    source: Ids
    hypotheses: Sequence[Hypothesis]
    phrases: Sequence[Sequence[Ids]]
    says: Callable[[Ids], tuple[bool, ...]]
    places: Callable[[Ids, Ids, int], Iterable[int]]
    rest: Callable[[frozenset[int]], Ids]


@dataclass(frozen=True, slots=True)
class _Branch:
    """A translation of a task on its way: `fixed` tokens of it, with the phrases `put`, stay.

    The `hopeless` phrases fit nowhere behind them.
    """

    task: int
    tokens: Prefix
    fixed: int = 0
    put: frozenset[int] = frozenset()
    hopeless: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class _Attempt:
    """A beginning that puts a phrase somewhere into a branch, and all that came of it."""

    phrase: int
    prefix: Prefix
    found: Sequence[Hypothesis] = ()


def force_phrases(engine: Searcher, tasks: Sequence[Task], options: DecodeConfig) -> list[list[Hypothesis]]:
    """For each task up to `options.n_best` translations: those that say most of its phrases first, then by score.

    A task whose first hypothesis says everything keeps its hypotheses as they are. A phrase that nothing can be made
    to say (longer than the translation may be, or of tokens that are never said) is left out, not raised.
    Constrained translations are searched by beam whatever `options.method` is.
    """
    pools = [{tuple(hypothesis.tokens): hypothesis for hypothesis in task.hypotheses} for task in tasks]
    branches = [
        _Branch(index, tuple(task.hypotheses[0].tokens))
        for index, task in enumerate(tasks)
        if not all(task.says(task.hypotheses[0].tokens))
    ]
    unsaid = {branch.task for branch in branches}
    for _ in range(max((len(task.phrases) for task in tasks), default=0)):
        branches = _round(engine, tasks, options, branches, pools)
    return [
        sorted(pool.values(), key=_rank(task))[: options.n_best] if index in unsaid else list(task.hypotheses)
        for index, (task, pool) in enumerate(zip(tasks, pools, strict=True))
    ]


def scored(
    engine: Searcher, sources: Sequence[Ids], targets: Sequence[Prefix], options: DecodeConfig
) -> list[Hypothesis]:
    """Given translations, none empty, as hypotheses with the scores that a search would give them."""
    if not targets:
        return []
    if options.coverage_penalty:  # which a search alone knows: one that is told every token
        told = {"method": "beam", "beam": 1, "n_best": 1, "min_length": 0, "max_length": 1}
        found = engine.translate(sources, options.model_copy(update=told), targets)
        return [(*some, Hypothesis(target, -inf, -inf))[0] for some, target in zip(found, targets, strict=True)]
    log_probs = map(sum, engine.score(sources, targets))
    return [
        Hypothesis(target, total, total / length_penalty(len(target) + 1, options.length_penalty))
        for target, total in zip(targets, log_probs, strict=True)
    ]


def _rank(task: Task) -> Callable[[Hypothesis], tuple[int, float]]:
    """Sorts the best first."""
    return lambda hypothesis: (-sum(task.says(hypothesis.tokens)), -hypothesis.score)


def _round(
    engine: Searcher,
    tasks: Sequence[Task],
    options: DecodeConfig,
    branches: Sequence[_Branch],
    pools: Sequence[dict[Prefix, Hypothesis]],
) -> list[_Branch]:
    """Put one more phrase into each branch, in every way; return the branches from which to go on."""
    tried = _searched(engine, tasks, options, branches)
    for branch, outcomes in zip(branches, _drafted(engine, tasks, options, branches, tried), strict=True):
        tried[branch].extend(outcomes)
    following: dict[int, list[_Branch]] = {}
    for branch, outcomes in tried.items():
        pools[branch.task].update((tuple(found.tokens), found) for attempt in outcomes for found in attempt.found)
        following.setdefault(branch.task, []).extend(_grown(branch, tasks[branch.task], outcomes))
    return [branch for index, grown in following.items() for branch in _kept(tasks[index], grown)]


def _searched(
    engine: Searcher, tasks: Sequence[Task], options: DecodeConfig, branches: Sequence[_Branch]
) -> dict[_Branch, list[_Attempt]]:
    """Every way to put a missing phrase behind what is fixed, and how the engine goes on from there."""
    attempts = {branch: list(_attempts(branch, tasks[branch.task], options)) for branch in branches}
    searches = list(dict.fromkeys(_search(branch, one) for branch, mine in attempts.items() for one in mine))
    if not searches:
        return attempts
    # All that the beam finds is looked at: the best of it may go on within the phrase's last word.
    wide = options.model_copy(update={"method": "beam", "n_best": options.beam})
    sources, prefixes = [tasks[index].rest(put) for index, put, _ in searches], [prefix for *_, prefix in searches]
    found = dict(zip(searches, engine.translate(sources, wide, prefixes), strict=True))
    return {
        branch: [_Attempt(one.phrase, one.prefix, found[_search(branch, one)]) for one in mine]
        for branch, mine in attempts.items()
    }


def _search(branch: _Branch, attempt: _Attempt) -> tuple[int, frozenset[int], Prefix]:
    """The task, the phrases that are put with this attempt, and how the translation begins."""
    return branch.task, branch.put | {attempt.phrase}, attempt.prefix


def _attempts(branch: _Branch, task: Task, options: DecodeConfig) -> Iterator[_Attempt]:
    longest = options.limit(len(task.source))
    for phrase in _missing(task, branch):
        for alternative in task.phrases[phrase]:
            for place in task.places(branch.tokens, alternative, branch.fixed):
                if place + len(alternative) <= longest:
                    yield _Attempt(phrase, (*branch.tokens[:place], *alternative))


def _drafted(
    engine: Searcher,
    tasks: Sequence[Task],
    options: DecodeConfig,
    branches: Sequence[_Branch],
    tried: Mapping[_Branch, Sequence[_Attempt]],
) -> list[list[_Attempt]]:
    """For each branch: phrases that no search could say, put into the translation as it stands and scored."""
    drafts = [list(_drafts(branch, tasks[branch.task], options, tried[branch])) for branch in branches]
    asked = [
        (tasks[branch.task].rest(branch.put | {attempt.phrase}), said)
        for branch, mine in zip(branches, drafts, strict=True)
        for attempt, said in mine
    ]
    judged = iter(scored(engine, [source for source, _ in asked], [said for _, said in asked], options))

    def outcome(attempt: _Attempt) -> _Attempt:
        one = next(judged)
        return _Attempt(attempt.phrase, attempt.prefix, [one] if isfinite(one.log_prob) else [])

    return [[outcome(attempt) for attempt, _ in mine] for mine in drafts]


def _drafts(
    branch: _Branch, task: Task, options: DecodeConfig, tried: Sequence[_Attempt]
) -> Iterator[tuple[_Attempt, Prefix]]:
    """Translations with an unsaid phrase before a word, or instead of the word, that say it."""
    done = {one.phrase for one in tried for found in one.found if task.says(found.tokens)[one.phrase]}
    longest = options.limit(len(task.source))
    for phrase in set(_missing(task, branch)) - done:
        for alternative in task.phrases[phrase]:
            places = sorted(task.places(branch.tokens, alternative, branch.fixed))
            for place, following in pairwise((*places, len(branch.tokens))):
                prefix = (*branch.tokens[:place], *alternative)
                for tokens in {(*prefix, *branch.tokens[place:]), (*prefix, *branch.tokens[following:])}:
                    if options.min_length <= len(tokens) <= longest and task.says(tokens)[phrase]:
                        yield _Attempt(phrase, prefix), tokens


def _missing(task: Task, branch: _Branch) -> list[int]:
    said = task.says(branch.tokens)
    return [phrase for phrase, there in enumerate(said) if not there and phrase not in branch.hopeless]


def _grown(branch: _Branch, task: Task, tried: Sequence[_Attempt]) -> list[_Branch]:
    """For each missing phrase the branch with the phrase at its best place; phrases without one are given up."""
    rank, best = _rank(task), dict[int, tuple[Hypothesis, Prefix]]()
    for attempt in tried:
        for hypothesis in attempt.found:
            known = best.get(attempt.phrase)
            if task.says(hypothesis.tokens)[attempt.phrase] and (known is None or rank(hypothesis) < rank(known[0])):
                best[attempt.phrase] = hypothesis, attempt.prefix
    hopeless = branch.hopeless | (set(_missing(task, branch)) - set(best))
    return [
        _Branch(branch.task, tuple(hypothesis.tokens), len(prefix), branch.put | {phrase}, hopeless)
        for phrase, (hypothesis, prefix) in best.items()
    ]


def _kept(task: Task, grown: Sequence[_Branch]) -> list[_Branch]:
    """The branches that still miss something; of many, unless one misses nothing, the one that has fixed least."""
    unfinished = [branch for branch in grown if _missing(task, branch)]
    if len(grown) <= ALL_ORDERS:
        return unfinished
    return [min(unfinished, key=lambda branch: branch.fixed)] if len(unfinished) == len(grown) else []
