"""Blocks of pairs → which of them to keep, and why not the others: the rules of `data check` as filters.

`Judge` looks at one block and knows nothing of the others, so that any process may run it on any block. `Cleaner` takes
the blocks in order and finds the duplicates. What is kept depends only on the text and the configuration.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from dragoman.data.corpus.hashing import Hashes, letter_hashes, pair_hashes, text_hashes
from dragoman.data.corpus.near_duplicates import NearIndex, signatures
from dragoman.data.corpus.pair_block import Lines, PairBlock
from dragoman.data.corpus.rules import RULES, Context, active_rules
from dragoman.data.corpus.seen_hashes import SeenHashes
from dragoman.data.corpus.side_languages import in_other_language, languages_of

DUPLICATE, NEAR_DUPLICATE, LANGUAGE = "duplicate", "near_duplicate", "language"
LEAKAGE, NEAR_LEAKAGE = "leakage", "near_leakage"
# What cannot be written as lines of UTF-8 is removed whatever the configuration says.
UNWRITABLE = "bad_bytes"


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


@dataclass(frozen=True, slots=True)
class CleanedBlock:
    """What becomes of a block: which pairs stay [L], and the reasons for each pair that is removed, by its index."""

    block: PairBlock
    stays: Lines
    reasons: dict[int, list[str]]


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

    def close(self) -> None:
        for seen in self.seen.values():
            seen.close()
