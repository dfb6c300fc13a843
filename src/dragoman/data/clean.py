"""Blocks of pairs → which of them to keep, and why not the others: the rules of `data check` as filters.

`Judge` looks at one block and knows nothing of the others, so that any process may run it on any block. `Cleaner` takes
the blocks in order and finds the duplicates. What is kept depends only on the text and the configuration.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from dragoman.data.block import Block
from dragoman.data.near import Hashes, NearIndex, letter_hashes, mixed, signatures, text_hashes
from dragoman.data.rules import RULES, Context, active_rules, log_ratios
from dragoman.data.seen import SeenHashes
from dragoman.data.sides import in_other_language, languages_of

DUPLICATE, LANGUAGE, LEAKAGE = "duplicate", "language", "leakage"
# What cannot be written as lines of UTF-8 is removed whatever the configuration says.
UNWRITABLE = "bad_bytes"
# Logarithms of length ratios are counted in bins of this width, from -RANGE to RANGE: the median in constant memory.
_BIN, _RANGE = 1e-3, 12.0

Lines = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What `Judge` finds on a block of L pairs: a row of `faults` [K, L] for each of the K `rules`."""

    rules: tuple[str, ...]
    faults: Lines
    hashes: Hashes
    """[L] Equal for pairs that are duplicates; empty if they are allowed."""


@dataclass(frozen=True, slots=True)
class HeldOut:
    """The source sentences of validation and test, which training text must not hold."""

    letters: Hashes
    near: NearIndex

    def contain(self, sources: list[str]) -> Lines:
        """Whether each sentence, or a near-duplicate of it, is held out."""
        return np.isin(letter_hashes(sources), self.letters) | (self.near.find(signatures(sources)) >= 0)


def held_out(blocks: Iterable[Block]) -> HeldOut:
    """The source sentences of these blocks."""
    found, near = [np.zeros(0, np.uint64)], NearIndex()
    for block in blocks:
        sources = list(block.source.lines)
        found.append(letter_hashes(sources))
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
        if self.context.clean.language:
            faults[LANGUAGE] = in_other_language(languages_of(block, self.context), self.context)
        if self.held_out and self.context.clean.leakage:
            faults[LEAKAGE] = self.held_out.contain(list(block.source.lines))
        hashes = _pair_hashes(block) if self.context.clean.duplicate else np.zeros(0, np.uint64)
        return Verdict(tuple(faults), np.stack(list(faults.values())), hashes)


def _pair_hashes(block: Block) -> Hashes:
    return mixed(text_hashes(block.source.lines) * np.uint64(3) + text_hashes(block.target.lines))


@dataclass(frozen=True, slots=True)
class Kept:
    """What becomes of a block: `kept` [L], and the reasons for each pair that is removed, by its index."""

    block: Block
    kept: Lines
    reasons: dict[int, list[str]]


@dataclass(slots=True)
class Cleaner:
    """The duplicates of a corpus, block after block, and the counts."""

    seen: SeenHashes = field(default_factory=SeenHashes)
    pairs: int = 0
    kept: int = 0
    removed: Counter[str] = field(default_factory=Counter)
    """Pairs by the reason for removing them; a pair may have several."""

    def decide(self, block: Block, verdict: Verdict) -> Kept:
        """Which pairs of the next block are kept."""
        kept = ~verdict.faults.any(axis=0)
        reasons: dict[int, list[str]] = {}
        for rule, row in zip(*np.nonzero(verdict.faults), strict=True):
            reasons.setdefault(int(row), []).append(verdict.rules[rule])
        if len(verdict.hashes):
            candidates = np.flatnonzero(kept)
            repeated = candidates[self.seen.add(verdict.hashes[candidates])]
            kept[repeated] = False
            reasons |= {int(row): [DUPLICATE] for row in repeated}
        self.pairs += len(block)
        self.kept += int(kept.sum())
        self.removed.update(reason for found in reasons.values() for reason in found)
        return Kept(block, kept, dict(sorted(reasons.items())))


def with_usual_ratio(context: Context, blocks: Iterable[Block]) -> Context:
    """`context` with the median ratio of the lengths of these blocks."""
    counts = np.zeros(round(2 * _RANGE / _BIN), np.int64)
    for block in blocks:
        bins = ((log_ratios(block) + _RANGE) / _BIN).astype(np.int64)
        counts += np.bincount(np.clip(bins, 0, len(counts) - 1), minlength=len(counts))
    if not (total := counts.sum()):
        return context
    middle = int(np.searchsorted(np.cumsum(counts), (total + 1) // 2))
    return replace(context, ratio=float(np.exp((middle + 0.5) * _BIN - _RANGE)))

