"""Blocks of pairs → which of them to keep, and why not the others: the rules of `data check` as filters.

`Judge` looks at one block and knows nothing of the others, so that any process may run it on any block (`judged`).
`Cleaner` takes the blocks in order and finds the duplicates. What is kept depends only on the text and the
configuration.
"""

import multiprocessing
import os
import signal
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field

import numpy as np

from dragoman.data.corpus.hashing import Hashes, letter_hashes, pair_hashes, text_hashes
from dragoman.data.corpus.near_duplicates import NearIndex, signatures
from dragoman.data.corpus.pair_block import Lines, MalformedLine, PairBlock
from dragoman.data.corpus.rules import RULES, Context, active_rules
from dragoman.data.corpus.seen_hashes import SeenHashes
from dragoman.data.corpus.side_languages import in_other_language, languages_of
from dragoman.errors import ResourceError

DUPLICATE, NEAR_DUPLICATE, LANGUAGE = "duplicate", "near_duplicate", "language"
DISAGREEMENT = "disagreement"
LEAKAGE, NEAR_LEAKAGE = "leakage", "near_leakage"
# What cannot be written as lines of UTF-8 is removed whatever the configuration says.
UNWRITABLE = "bad_bytes"
# Blocks that wait or are worked on, per process.
ON_THE_WAY = 3


@dataclass(frozen=True, slots=True)
class Judgement:
    """What `Judge` finds on a block of L pairs: a row of `faults` [K, L] for each of the K `rules`."""

    rules: tuple[str, ...]
    faults: Lines
    hashes: dict[str, Hashes]
    """[L] Equal for pairs that are duplicates, and for near-duplicates, if these are not allowed."""


@dataclass(frozen=True, slots=True)
class HeldOutSources:
    """The source sentences of validation and test, which training text must not hold."""

    texts: Hashes
    near: NearIndex

    def faults(self, sources: Sequence[str]) -> dict[str, Lines]:
        """Whether each sentence is held out, and whether a near-duplicate of it is."""
        exact = np.isin(text_hashes(sources), self.texts)
        return {LEAKAGE: exact, NEAR_LEAKAGE: (self.near.find(signatures(sources)) >= 0) & ~exact}


def held_out(blocks: Iterable[PairBlock]) -> HeldOutSources:
    """The source sentences of these blocks."""
    hashes, near = [np.zeros(0, np.uint64)], NearIndex()
    for block in blocks:
        sources = block.source.lines
        hashes.append(text_hashes(sources))
        near.add(signatures(sources), np.arange(len(near), len(near) + len(sources)))
    return HeldOutSources(np.unique(np.concatenate(hashes)), near)


@dataclass(frozen=True, slots=True)
class Judge:
    """The rules for one block."""

    context: Context
    held_out: HeldOutSources | None = None

    def __call__(self, block: PairBlock) -> Judgement:
        rules = {UNWRITABLE: RULES[UNWRITABLE], **active_rules(self.context)}
        faults = {name: rule(block, self.context) for name, rule in rules.items()}
        clean = self.context.clean
        if clean.language:
            other = in_other_language(languages_of(block, self.context), self.context)
            faults[LANGUAGE] = other & ~faults["script"] if "script" in faults else other
        if self.held_out and clean.leakage:
            unusable = np.any([faults[name] for name in (UNWRITABLE, "empty") if name in faults], axis=0)
            leaks = self.held_out.faults(block.source.lines)
            faults |= {name: lines & ~unusable for name, lines in leaks.items()}
        hashes = {}
        if clean.duplicate:
            hashes[DUPLICATE] = pair_hashes(text_hashes(block.source.lines), text_hashes(block.target.lines))
        if clean.near_duplicate:
            letters = letter_hashes(block.source.lines), letter_hashes(block.target.lines)
            hashes[NEAR_DUPLICATE] = pair_hashes(*letters)
        return Judgement(tuple(faults), np.stack(list(faults.values())), hashes)


# --- in several processes: never more than a few blocks on the way ---------------------------------------------------


_judge: Judge


def judged(blocks: Iterable[PairBlock], judge: Judge, workers: int) -> Iterator[tuple[PairBlock, Judgement]]:
    """Each block with its judgement, in order, from `workers` processes, or from this one if they are 1.

    Raises ResourceError if a process is killed, as the operating system does when memory is short.
    """
    if workers == 1:
        yield from ((block, judge(block)) for block in blocks)
        return
    # Started afresh: a fork of a process with threads, as a progress bar has, may hang.
    start = multiprocessing.get_context("spawn")
    waiting: deque[tuple[PairBlock, Future[Judgement]]] = deque()
    with ProcessPoolExecutor(workers, start, _begin, (judge,)) as pool:
        try:
            for block in blocks:
                texts = list(block.source.lines), list(block.target.lines)
                waiting.append((block, pool.submit(_work, *texts, block.first, dict(block.malformed))))
                if len(waiting) >= ON_THE_WAY * workers:
                    first, judgement = waiting.popleft()
                    yield first, judgement.result()
            for block, judgement in waiting:
                yield block, judgement.result()
        except BrokenProcessPool:
            raise ResourceError("a worker process was killed; use fewer with --workers") from None
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def _begin(judge: Judge) -> None:
    """In a new process: Ctrl-C is for the parent, which ends this one; if the parent is killed, this one ends too."""
    global _judge
    _judge = judge
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    if parent := multiprocessing.parent_process():
        parent.join()
        os._exit(1)  # it waits for work that nobody sends


def _work(source: list[str], target: list[str], first: int, malformed: dict[int, MalformedLine]) -> Judgement:
    return _judge(PairBlock(source, target, first, malformed))


# --- decisions -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CleanedBlock:
    """What becomes of a block: which pairs stay [L], and the reasons for each pair that is removed, by its index."""

    block: PairBlock
    stays: Lines
    reasons: dict[int, list[str]]
    scores: Mapping[int, float] = field(default_factory=dict)
    """How far two models are from agreeing on a pair that no rule removes, by its index, where they were asked."""


@dataclass(slots=True)
class Cleaner:
    """The duplicates of a corpus, block after block, and the counts."""

    seen: dict[str, SeenHashes] = field(default_factory=dict)
    pairs: int = 0
    remaining: int = 0
    removed: Counter[str] = field(default_factory=Counter)
    """Pairs by the reason for removing them; a pair may have several."""

    def decide(self, block: PairBlock, judgement: Judgement) -> CleanedBlock:
        stays: Lines = np.logical_not(np.any(judgement.faults, axis=0))
        reasons: dict[int, list[str]] = {}
        for rule, row in zip(*np.nonzero(judgement.faults), strict=True):
            reasons.setdefault(int(row), []).append(judgement.rules[rule])
        for kind, hashes in judgement.hashes.items():
            candidates = np.flatnonzero(stays)
            repeated = candidates[self.seen.setdefault(kind, SeenHashes()).add(hashes[candidates])]
            stays[repeated] = False
            reasons |= {int(row): [kind] for row in repeated}
        self.pairs += len(block)
        self.remaining += int(stays.sum())
        self.removed.update(reason for of_pair in reasons.values() for reason in of_pair)
        return CleanedBlock(block, stays, dict(sorted(reasons.items())))

    def without_disagreement(
        self, cleaned: CleanedBlock, score: Callable[[Sequence[tuple[str, str]]], Sequence[float]], limit: float
    ) -> CleanedBlock:
        """`cleaned` without the pairs whose score, of those that stay, is above `limit`."""
        rows = np.flatnonzero(cleaned.stays).tolist()
        source, target = cleaned.block.source.lines, cleaned.block.target.lines
        values = dict(zip(rows, score([(source[row], target[row]) for row in rows]), strict=True))
        dropped = [row for row, value in values.items() if value > limit]
        stays = cleaned.stays.copy()
        stays[dropped] = False
        self.remaining -= len(dropped)
        self.removed.update({DISAGREEMENT: len(dropped)} if dropped else {})
        reasons = cleaned.reasons | {row: [DISAGREEMENT] for row in dropped}
        return CleanedBlock(cleaned.block, stays, dict(sorted(reasons.items())), values)

    def close(self) -> None:
        for seen in self.seen.values():
            seen.close()
