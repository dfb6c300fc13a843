"""Pairs → where source and target do not translate each other: blocks that are shifted by some lines, shuffled text.

Input: blocks of pairs in order. Output: `Misaligned` ranges of lines. Three features of each side are compared: the
length, the end of the line (which punctuation), and the ASCII words and numbers. How much a pair of features says is
learned from the corpus itself as pointwise mutual information, so that no language is known here. A pair i, i + k is
scored for every shift k; a run of lines that some k explains far better than 0 is shifted by k (the run of the largest
sum, Kadane's algorithm). Text is looked at in windows, so that memory does not grow.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dragoman.data.corpus.pair_block import PairBlock, TextSide

MAX_SHIFT = 20
WINDOW, OVERLAP = 1 << 16, 1 << 12
# Sums of log-likelihood ratios (nats) from which a run is reported, and the fewest pairs that say anything.
SHIFTED, UNRELATED = 30.0, 60.0
FEWEST, SHORTEST_RUN = 50, 12
# Lengths of translations correlate by 0.7 to 0.95; below this they are as good as unrelated.
CORRELATED = 0.25
# Standard deviation of the logarithms of the lengths below which they say nothing: text sorted by length is so.
VARIED = 0.2

_ENDS = {
    end: kind
    for kind, ends in enumerate(("", ".。．", "?？", "!！", ":：", ",，、", ")]}）", "\"'”’」"))
    for end in ends
}
Scores = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Misaligned:
    """Lines `first` to `last` of the source, whose translations are `shift` lines later (negative: earlier).

    `shift` is None where the targets of these lines are not their translations in any order near them.
    """

    first: int
    last: int
    shift: int | None


@dataclass(frozen=True, slots=True)
class _Features:
    """What is compared of the lines of one side."""

    lengths: NDArray[np.float64]
    ends: NDArray[np.uint8]
    words: NDArray[np.uint64]
    """One bit for each ASCII word or number, by its hash."""


class Alignment:
    """Collects the features of blocks and finds the misaligned ranges."""

    def __init__(self) -> None:
        self.ranges: list[Misaligned] = []
        self.shuffled_windows = self.windows = 0
        self._waiting: list[tuple[_Features, _Features]] = []
        self._first = 1  # the line of the first pair that waits
        self._size = 0

    def add(self, block: PairBlock) -> None:
        self._waiting.append((_features(block.source), _features(block.target)))
        self._size += len(block)
        if self._size >= WINDOW:
            self._look(final=False)

    def finish(self) -> list[Misaligned]:
        """The misaligned ranges of all pairs, in order."""
        if self._size >= FEWEST and (self._size > OVERLAP or not self.windows):
            self._look(final=True)
        return sorted(self.ranges, key=lambda lines: lines.first)

    def _look(self, final: bool) -> None:
        source, target = (_joined([pair[side] for pair in self._waiting]) for side in (0, 1))
        window = _Window(source, target)
        self.windows += 1
        if window.is_shuffled:
            self.shuffled_windows += 1
            self._report(Misaligned(self._first, self._first + self._size - 1, None))
        else:
            for first, last, shift in window.runs():
                self._report(Misaligned(self._first + first, self._first + last, shift))
        if not final:  # the overlap is looked at again, with what follows it
            keep = self._size - OVERLAP
            self._waiting = [(_from(source, keep), _from(target, keep))]
            self._first, self._size = self._first + keep, OVERLAP

    def _report(self, lines: Misaligned) -> None:
        """Add a range, as one with an earlier range of the same kind that it overlaps or continues."""
        for index, known in enumerate(self.ranges):
            if known.shift == lines.shift and lines.first <= known.last + 1 and known.first <= lines.last + 1:
                self.ranges[index] = Misaligned(min(known.first, lines.first), max(known.last, lines.last), lines.shift)
                return
        self.ranges.append(lines)


class _Window:
    def __init__(self, source: _Features, target: _Features) -> None:
        self.source, self.target = source, target
        self.size = len(source.lengths)
        self.shifts = [k for n in range(min(MAX_SHIFT, self.size // 10) + 1) for k in {n, -n}]

    @cached_property
    def reference(self) -> int:
        """The shift at which the lengths of most lines correlate: 0, unless a line is missing at the beginning."""
        by_shift = {shift: self._correlation(shift) for shift in self.shifts}
        best = max(by_shift, key=by_shift.__getitem__)
        chance = 4 / np.sqrt(self.size)  # four standard errors: the best of many shifts of unrelated lines stays below
        return best if by_shift[best] > max(by_shift[0] + 0.1, chance) else 0

    @cached_property
    def is_shuffled(self) -> bool:
        """Whether the pairs of no shift have more in common than unrelated ones."""
        if self._correlation(self.reference) >= CORRELATED:
            return False
        if min(self.source.lengths.std(), self.target.lengths.std()) < VARIED:
            return False
        overlap = self._overlap(self.reference)
        control = self._overlap(self.reference + 2 * MAX_SHIFT)
        common, usual = (overlap > 1).mean(), (control > 1).mean()
        return bool(common < 2 * usual + 0.02)

    def runs(self) -> Iterator[tuple[int, int, int | None]]:
        """First and last index and the shift of each misaligned run."""
        aligned = self._score(0)
        taken = np.zeros(self.size, bool)
        usual = self._score(self.reference).mean()
        candidates = []
        for shift in self.shifts:
            scores = self._score(shift)
            for total, first, last in best_runs(scores - aligned, SHIFTED) if shift else []:
                if scores[first : last + 1].mean() > usual / 2:  # chance alone does not make it fit so well
                    candidates.append((total, first, last, shift))
        for _, first, last, shift in sorted(candidates, reverse=True):
            if last - first + 1 >= SHORTEST_RUN and not taken[first : last + 1].any():
                taken[first : last + 1] = True
                yield first, last, shift
        unrelated = np.where(taken, -10.0, -aligned)
        for _, first, last in best_runs(unrelated, UNRELATED):
            if last - first + 1 >= FEWEST and self._is_unrelated(first, last, aligned):
                yield first, last, None

    def _is_unrelated(self, first: int, last: int, aligned: Scores) -> bool:
        """Whether the pairs of this run score as badly as each source with a target some lines away."""
        others = [self._score(shift)[first : last + 1].mean() for shift in (-7, 7, 13, -13) if shift in self.shifts]
        usual = aligned.mean() - np.mean(others)  # what a translation gains here over another line
        return bool(others) and aligned[first : last + 1].mean() - np.mean(others) < 0.15 * max(usual, 0.1)

    def _correlation(self, shift: int) -> float:
        source, target = _moved(self.source.lengths, self.target.lengths, shift)
        if len(source) < 2 or not source.std() or not target.std():
            return 0.0
        return float(np.corrcoef(source, target)[0, 1])

    def _overlap(self, shift: int) -> NDArray[np.intp]:
        """Of each pair the share of words in common in four steps; 0 where a side has none."""
        ours, theirs = _moved(self.source.words, self.target.words, shift)
        fewer = np.minimum(np.bitwise_count(ours), np.bitwise_count(theirs)).astype(np.float64)
        both = np.bitwise_count(ours & theirs)
        return np.where(fewer > 0, 1 + np.ceil(3 * both / np.maximum(fewer, 1)), 0).astype(np.intp)

    @cached_property
    def _quantiles(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """The length of each line as one of 4 to 12 classes that are equally frequent."""
        classes = int(np.clip(np.sqrt(self.size) / 8, 4, 12))
        edges = np.arange(1, classes) / classes
        source, target = (
            np.searchsorted(np.quantile(side.lengths, edges), side.lengths) for side in (self.source, self.target)
        )
        return source, target

    @cached_property
    def _tables(self) -> tuple[Scores, Scores, Scores]:
        """What a pair of classes says (nats): for the lengths, the ends, and the words in common."""
        lengths = _information(*_moved(*self._quantiles, self.reference))
        ends = _information(*_moved(self.source.ends, self.target.ends, self.reference))
        seen, control = (
            np.bincount(self._overlap(shift), minlength=5) + 2.0
            for shift in (self.reference, self.reference + 2 * MAX_SHIFT)
        )
        return lengths, ends, np.log(seen / seen.sum()) - np.log(control / control.sum())

    def _score(self, shift: int) -> Scores:
        """[N] How much likelier a source line and the target line `shift` later are if one translates the other."""
        lengths, ends, words = self._tables
        scores = np.zeros(self.size)
        inside = slice(max(-shift, 0), self.size - max(shift, 0))
        scores[inside] = (
            lengths[_moved(*self._quantiles, shift)]
            + ends[_moved(self.source.ends, self.target.ends, shift)]
            + words[self._overlap(shift)]
        )
        return scores


def best_runs(gain: Scores, least: float) -> list[tuple[float, int, int]]:
    """Runs of indices whose sums of `gain` are at least `least`: (sum, first, last), at most 50, none overlapping."""
    runs: list[tuple[float, int, int]] = []
    spans = [(0, len(gain))]
    while spans and len(runs) < 50:
        begin, end = spans.pop()
        if end - begin < SHORTEST_RUN:
            continue
        sums = np.concatenate([[0.0], np.cumsum(gain[begin:end])])
        lowest = np.minimum.accumulate(sums)
        last = int(np.argmax(sums - lowest))
        total = float(sums[last] - lowest[last])
        if total < least:
            continue
        first = int(np.flatnonzero(sums[: last + 1] == lowest[last])[-1])
        runs.append((total, begin + first, begin + last - 1))
        spans += [(begin, begin + first), (begin + last, end)]
    return runs


def _information(ours: NDArray[np.intp], theirs: NDArray[np.intp]) -> Scores:
    """Pointwise mutual information of two classifications, smoothed towards independence."""
    table = np.zeros((int(ours.max()) + 1, int(theirs.max()) + 1))
    np.add.at(table, (ours, theirs), 1.0)
    independent = table.sum(1, keepdims=True) * table.sum(0, keepdims=True) / table.sum()
    with np.errstate(divide="ignore", invalid="ignore"):
        information = np.log((table + 0.2 * independent + 0.5) / (1.2 * independent + 0.5))
    padded = np.zeros((max(16, len(table)), max(16, table.shape[1])))
    padded[: len(table), : table.shape[1]] = information
    return padded


def _moved(ours: np.ndarray, theirs: np.ndarray, shift: int) -> tuple[np.ndarray, np.ndarray]:
    """Each of ours with theirs `shift` later, where both exist."""
    size = len(ours)
    return ours[max(-shift, 0) : size - max(shift, 0)], theirs[max(shift, 0) : size - max(-shift, 0)]


def _features(side: TextSide) -> _Features:
    hashes, line, is_ascii = side.words
    words = np.zeros(len(side.lines), np.uint64)
    hashes, line = hashes[is_ascii], line[is_ascii]
    if len(line):
        present, starts = np.unique(line, return_index=True)
        words[present] = np.bitwise_or.reduceat(np.uint64(1) << (hashes >> np.uint64(58)), starts)
    ends = np.fromiter((_ENDS.get(text.rstrip()[-1:], 0) for text in side.lines), np.uint8, len(side.lines))
    return _Features(np.log1p(side.lengths), ends, words)


def _joined(parts: list[_Features]) -> _Features:
    names = ("lengths", "ends", "words")
    return _Features(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


def _from(features: _Features, index: int) -> _Features:
    return _Features(features.lengths[index:], features.ends[index:], features.words[index:])
