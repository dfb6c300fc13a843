"""Where the inline codes of a source belong in its translation.

Input: both texts as units, how much each target unit comes from each source unit, the codes. Output: the same codes,
each exactly once and validly nested, at positions of the target. The decision is made for a whole span: of all runs of
target units, it gets the one with the most mass from inside of the span minus mass from outside. Spans side by side get
disjoint runs, the best ones together; a span inside of another gets a run inside of that one's. (A rule per target
token, as in bergamot-translator, writes a tag several times where its words come apart.) A code without text keeps the
neighbours on the side on which it touches them.

For spans in a given order the best disjoint runs are found exactly (dynamic programming over the units); the order is
that of the middles of the runs that each would get alone.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dragoman.control.inline.units import CodeSpan, Point, UnitText, code_tree
from dragoman.text.words.inline import Code
from dragoman.text.words.particles import is_particles
from dragoman.translation import Span

Weights = NDArray[np.float64]
Run = tuple[int, int]
Preference = Literal["begin", "end", "apart"]
# More than all weights of a text: what is translated elsewhere belongs to no span.
CERTAIN = 1e5
# Spans × units up to which the best runs are searched.
MAX_CELLS = 1 << 23
# What a unit costs that nothing speaks for or against: of two runs with the same score the shorter one is chosen.
COST = 1e-6
# What a neighbour that a code touches counts, one behind a space, and the order of everything else.
TOUCHING, APART, ORDER = 2.0, 1.0, 0.2


@dataclass(frozen=True, slots=True)
class PlacedCode:
    """A code of gap `source_gap` of the source in gap `gap` of the target, and where in a space it belongs.

    `apart`: between two spaces.
    """

    code: Code
    gap: int
    source_gap: int
    prefers: Preference


@dataclass(frozen=True, slots=True)
class AlignedUnits:
    """Units of the source, from `source` on, whose translation are units of the target, from `target` on."""

    source: int
    target: int
    weights: Weights
    """(target units, source units): the share of each target unit that comes from each source unit, 1 at most."""

    @property
    def source_end(self) -> int:
        return self.source + self.weights.shape[1]

    @property
    def target_end(self) -> int:
        return self.target + self.weights.shape[0]


@dataclass(eq=False)
class Placement:
    """Codes on their way from `source` to `target`; `blocks`, in order on both sides, together hold all units."""

    source: UnitText
    target: UnitText
    blocks: Sequence[AlignedUnits]
    codes: Sequence[Code]
    runs: dict[CodeSpan, Run] = field(default_factory=dict)
    gaps: dict[Point, int] = field(default_factory=dict)
    unplaced: bool = False
    """Whether a span got a word that is hardly a translation of it, because its own words are not in the target."""

    def place(self) -> list[PlacedCode]:
        """The codes in the order of the target."""
        root = code_tree(self.codes, self.source.units)
        self.runs[root] = (0, len(self.target.units))
        waiting = [root]
        while waiting:
            node = waiting.pop()
            nodes = [child for child in node.children if isinstance(child, CodeSpan)]
            self._choose_runs(node, nodes)
            for child in node.children:
                if isinstance(child, Point):
                    self.gaps[child] = self._choose_gap(node, child, [self.runs[span] for span in nodes])
            waiting += nodes
        return list(self._emit(root))

    def _choose_runs(self, parent: CodeSpan, nodes: Sequence[CodeSpan]) -> None:
        begin, end = self.runs[parent]
        if len(nodes) == 1 and (nodes[0].begin, nodes[0].end) == (parent.begin, parent.end):
            self.runs[nodes[0]] = begin, end
            return
        scores = [self._scores(node, begin, end) for node in nodes]
        runs = disjoint_runs(scores)
        self.runs.update((node, (begin + a, begin + b)) for node, (a, b) in zip(nodes, runs, strict=True))
        for node, of_node in zip(nodes, scores, strict=True):
            if not self._has_word(self.target, *self.runs[node]) and self._has_word(self.source, node.begin, node.end):
                self._move_to_word(node, nodes, of_node, begin)

    def _move_to_word(self, node: CodeSpan, siblings: Sequence[CodeSpan], scores: Weights, begin: int) -> None:
        """Give a span of words that is around nothing but signs the free word with the best score."""
        self.unplaced = True
        taken = {unit for other in siblings if other is not node for unit in range(*self.runs[other])}
        units = range(begin, begin + len(scores))
        free = [unit for unit in units if unit not in taken and self._has_word(self.target, unit, unit + 1)]
        if free:
            best = max(free, key=lambda unit: scores[unit - begin])
            self.runs[node] = best, best + 1

    @staticmethod
    def _has_word(side: UnitText, begin: int, end: int) -> bool:
        return any(
            any(map(str.isalnum, side.text[slice(*unit)])) and not _is_particle(side.text, unit)
            for unit in side.units[begin:end]
        )

    def _scores(self, node: CodeSpan, begin: int, end: int) -> Weights:
        """For each target unit from `begin` to `end`: mass from the span minus mass from elsewhere."""
        scores = np.full(end - begin, -CERTAIN)
        for block in self.blocks:
            first, last = max(block.target, begin), min(block.target_end, end)
            if first >= last or block.source_end <= node.begin or block.source >= node.end:
                continue
            if node.begin <= block.source and block.source_end <= node.end:
                scores[first - begin : last - begin] = CERTAIN
                continue
            rows = block.weights[first - block.target : last - block.target]
            inside = rows[:, max(node.begin - block.source, 0) : node.end - block.source].sum(1)
            scores[first - begin : last - begin] = 2 * inside - rows.sum(1)
        return scores

    def _choose_gap(self, parent: CodeSpan, point: Point, siblings: Sequence[Run]) -> int:
        """The gap of a point within its parent and outside of the spans next to it."""
        begin, end = self.runs[parent]
        if point.gap <= parent.begin or begin == end:
            return begin
        if point.gap >= parent.end:
            return end
        allowed = np.ones(end - begin + 1, bool)
        for first, last in siblings:
            allowed[first + 1 - begin : last - begin] = False
        scores = np.where(allowed, self._gap_scores(point, begin, end), -np.inf)
        return begin + int(np.argmax(scores))

    def _gap_scores(self, point: Point, begin: int, end: int) -> Weights:
        """How well each gap from `begin` to `end` separates what the gap of the source separates."""
        number = point.gap
        block = next(block for block in self.blocks if number <= block.source_end and block.source_end > block.source)
        gaps = np.arange(begin, end + 1)
        if number == block.source_end:  # between two lines or sentences
            return -np.abs(gaps - block.target_end).astype(float)
        left, right = self._touches(point)
        column = number - block.source
        edges = np.pad(block.weights[:, column - 1 : column + 1], ((1, 1), (0, 0)))
        change = edges[:-1] - edges[1:]  # what ends at a gap, and what begins
        weight = TOUCHING if left else APART, TOUCHING if right else APART
        both = block.weights[:, :column].sum(1) - block.weights[:, column:].sum(1)
        before = np.concatenate(([0.0], np.cumsum(both)))
        order = (2 * before - before[-1]) / max(len(both), 1)
        fits = weight[0] * change[:, 0] - weight[1] * change[:, 1] + ORDER * order
        inside = np.clip(gaps - block.target, 0, len(both))
        return fits[inside] - np.abs(gaps - block.target - inside) * CERTAIN

    def _touches(self, point: Point) -> tuple[bool, bool]:
        """Whether the codes touch the text before them, and the text behind them."""
        text, begin, end = self.source.text, point.codes[0].position, point.codes[-1].position
        return begin > 0 and not text[begin - 1].isspace(), end < len(text) and not text[end].isspace()

    def _emit(self, root: CodeSpan) -> Iterator[PlacedCode]:
        """All codes: those that open, what is inside of them in the order of the target, those that close."""
        stack: list[CodeSpan | Point | PlacedCode] = [root]
        while stack:
            match stack.pop():
                case PlacedCode() as placed:
                    yield placed
                case Point() as point:
                    left, right = self._touches(point)
                    for code in point.codes:
                        prefers: Preference = "begin" if left else "end" if right else "apart"
                        yield PlacedCode(code, self.gaps[point], point.gap, prefers)
                case CodeSpan() as node:
                    begin, end = self.runs[node]
                    if node is not root:
                        yield PlacedCode(self.codes[node.open], begin, node.begin, "end")
                        stack.append(PlacedCode(self.codes[node.close], end, node.end, "begin"))
                    stack += sorted(node.children, key=self._order)[::-1]

    def _order(self, child: CodeSpan | Point) -> Run:
        return self.runs[child] if isinstance(child, CodeSpan) else (self.gaps[child], self.gaps[child])


def _is_particle(text: str, unit: Span) -> bool:
    """Whether a unit is a Korean particle of what is right before it, also the other shape of one: `을(를)`."""
    before = text[max(unit.begin - 2, 0) : unit.begin]
    touches = before[-1:] not in ("", "(") and not before[-1:].isspace()
    is_other_shape = before[-1:] == "(" and "가" <= before[0] <= "힣"
    return (touches or is_other_shape) and is_particles("가나", text[slice(*unit)], agree=False)


def disjoint_runs(scores: Sequence[Weights]) -> list[tuple[int, int]]:
    """The run (begin, end) of each span, by what it gains with each unit; empty only for more spans than units."""
    count, size = len(scores), len(scores[0]) if scores else 0
    if not count:
        return []
    if count > size or count * size > MAX_CELLS:
        return [(number * size // count, (number + 1) * size // count) for number in range(count)]
    alone = [_ordered_runs([of_span])[0] for of_span in scores]
    order = sorted(range(count), key=lambda number: sum(alone[number]))
    runs = dict(zip(order, _ordered_runs([scores[number] for number in order]), strict=True))
    return [runs[number] for number in range(count)]


def _ordered_runs(scores: Sequence[Weights]) -> list[tuple[int, int]]:
    """The runs with the largest sum, each with a unit or more, each after the one before."""
    size = len(scores[0])
    best, tables = np.zeros(size + 1), []
    for of_span in scores:
        sums = np.concatenate(([0.0], np.cumsum(of_span - COST)))
        started = best - sums
        ended = np.concatenate(([-np.inf], sums[1:] + np.maximum.accumulate(started)[:-1]))
        tables.append((started, ended))
        best = np.maximum.accumulate(ended)
    runs, limit = [], size
    for started, ended in reversed(tables):
        end = int(np.argmax(ended[: limit + 1]))
        limit = end - 1 - int(np.argmax(started[:end][::-1]))
        runs.append((limit, end))
    return runs[::-1]
