"""Blocks of pairs → which of them to keep, and why not the others: the rules of `data check` as filters.

`Judge` looks at one block and knows nothing of the others, so that any process may run it on any block. `Cleaner` takes
the blocks in order and finds the duplicates. What is kept depends only on the text and the configuration.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dragoman.data.corpus.block import Block
from dragoman.data.corpus.near import Hashes, NearIndex, letter_hashes, mixed, signatures, text_hashes
from dragoman.data.corpus.rules import RULES, Context, active_rules
from dragoman.data.corpus.seen import SeenHashes
from dragoman.data.corpus.sides import in_other_language, languages_of

DUPLICATE, NEAR_DUPLICATE, LANGUAGE = "duplicate", "near_duplicate", "language"
LEAKAGE, NEAR_LEAKAGE = "leakage", "near_leakage"
# What cannot be written as lines of UTF-8 is removed whatever the configuration says.
UNWRITABLE = "bad_bytes"

Lines = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What `Judge` finds on a block of L pairs: a row of `faults` [K, L] for each of the K `rules`."""

    rules: tuple[str, ...]
    faults: Lines
    hashes: dict[str, Hashes]
    """[L] Equal for pairs that are duplicates, and for near-duplicates, if these are not allowed."""


@dataclass(frozen=True, slots=True)
class HeldOut:
    """The source sentences of validation and test, which training text must not hold."""

    texts: Hashes
    near: NearIndex

    def faults(self, sources: Sequence[str]) -> dict[str, Lines]:
        """Whether each sentence is held out, and whether a near-duplicate of it is."""
        exact = np.isin(text_hashes(sources), self.texts)
        return {LEAKAGE: exact, NEAR_LEAKAGE: (self.near.find(signatures(sources)) >= 0) & ~exact}


def held_out(blocks: Iterable[Block]) -> HeldOut:
    """The source sentences of these blocks."""
    found, near = [np.zeros(0, np.uint64)], NearIndex()
    for block in blocks:
        sources = block.source.lines
        found.append(text_hashes(sources))
        near.add(signatures(sources), np.arange(len(near), len(near) + len(sources)))
    return HeldOut(np.unique(np.concatenate(found)), near)


@dataclass(frozen=True, slots=True)
class Judge:
    """The rules for one block."""

    context: Context
    held_out: HeldOut | None = None

    def __call__(self, block: Block) -> Verdict:
        """The faults of every pair of `block`."""
        rules = {UNWRITABLE: RULES[UNWRITABLE], **active_rules(self.context)}
        faults = {name: rule(block, self.context) for name, rule in rules.items()}
        clean = self.context.clean
        if clean.language:
            other = in_other_language(languages_of(block, self.context), self.context)
            faults[LANGUAGE] = other & ~faults["script"] if "script" in faults else other
        if self.held_out and clean.leakage:
            unusable = np.any([faults[name] for name in (UNWRITABLE, "empty") if name in faults], axis=0)
            faults |= {name: found & ~unusable for name, found in self.held_out.faults(block.source.lines).items()}
        hashes = {}
        if clean.duplicate:
            hashes[DUPLICATE] = _pair_hashes(block, text_hashes)
        if clean.near_duplicate:
            hashes[NEAR_DUPLICATE] = _pair_hashes(block, letter_hashes)
        return Verdict(tuple(faults), np.stack(list(faults.values())), hashes)


def _pair_hashes(block: Block, side: Callable[[Sequence[str]], Hashes]) -> Hashes:
    return mixed(side(block.source.lines) * np.uint64(3) + side(block.target.lines))


@dataclass(frozen=True, slots=True)
class Kept:
    """What becomes of a block: `kept` [L], and the reasons for each pair that is removed, by its index."""

    block: Block
    kept: Lines
    reasons: dict[int, list[str]]


@dataclass(slots=True)
class Cleaner:
    """The duplicates of a corpus, block after block, and the counts."""

    seen: dict[str, SeenHashes] = field(default_factory=dict)
    pairs: int = 0
    kept: int = 0
    removed: Counter[str] = field(default_factory=Counter)
    """Pairs by the reason for removing them; a pair may have several."""

    def decide(self, block: Block, verdict: Verdict) -> Kept:
        """Which pairs of the next block are kept."""
        kept: Lines = np.logical_not(np.any(verdict.faults, axis=0))
        reasons: dict[int, list[str]] = {}
        for rule, row in zip(*np.nonzero(verdict.faults), strict=True):
            reasons.setdefault(int(row), []).append(verdict.rules[rule])
        for kind, hashes in verdict.hashes.items():
            candidates = np.flatnonzero(kept)
            repeated = candidates[self.seen.setdefault(kind, SeenHashes()).add(hashes[candidates])]
            kept[repeated] = False
            reasons |= {int(row): [kind] for row in repeated}
        self.pairs += len(block)
        self.kept += int(kept.sum())
        self.removed.update(reason for found in reasons.values() for reason in found)
        return Kept(block, kept, dict(sorted(reasons.items())))

    def close(self) -> None:
        """Remove temporary files."""
        for seen in self.seen.values():
            seen.close()
