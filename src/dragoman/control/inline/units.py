"""Text and its inline codes → units, and the tree of codes over them.

A unit is a word, a number, a sign, or a letter of a script without spaces. What has to stay together is one unit. Where
particles are asked for, a word of Hangul ends before them (`서울` + `에서`): a tag may enclose the noun alone.

In the tree, spans that cross are nested: the one opened first ends after the one that it crosses. A span without units,
and codes that neither open nor close a span, are points between two units; so are codes without a counterpart. Nothing
here is recursive, because tags may be nested deeper than Python calls.
"""

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from dragoman.control.search.sentences import LINE_BREAK
from dragoman.text.terms.protect import LEARNED, as_word, find_placeholders
from dragoman.text.words.inline import Code
from dragoman.text.words.normalise import INVISIBLE
from dragoman.text.words.particles import particles_start
from dragoman.text.words.words import is_unspaced, joined
from dragoman.translation import Span

# What divides a text into parts that are translated by themselves, and stays.
DIVIDER = re.compile(rf"{LINE_BREAK.pattern}|\t+")
_CHUNK = re.compile(r"\S+")
# Within a number or a word: 3,000.5 and 10:30, don't and l’eau.
_NUMBER_SIGNS, _APOSTROPHES = ".,:", "'’"
_HANGUL_END = re.compile("[가-힣]$")


@dataclass(frozen=True, slots=True)
class UnitText:
    """A text and its units, in order."""

    text: str
    units: Sequence[Span]

    def gap(self, number: int) -> Span:
        """The characters between the units number − 1 and number; before the first; after the last."""
        begin = self.units[number - 1].end if number else 0
        return Span(begin, self.units[number].begin if number < len(self.units) else len(self.text))


def units(
    text: str,
    atoms: Iterable[tuple[int, int]] = (),
    cuts: Iterable[int] = (),
    *,
    within: Span | None = None,
    particles: bool = False,
) -> list[Span]:
    """The units of a text; `atoms`, in order, are whole, and no other unit reaches over a position of `cuts`."""
    at, stop = within or (0, len(text))
    spans, borders = list[Span](), sorted(set(cuts))
    for begin, end in (*atoms, (stop, stop)):
        inner = [cut for cut in borders if at < cut < begin]
        for first, last in zip((at, *inner), (*inner, begin), strict=True):
            spans += _plain(text, first, last, particles)
        if end > begin:
            spans.append(Span(begin, end))
        at = max(at, end)
    return spans


def moved(spans: Iterable[Span], by: int) -> list[Span]:
    """The spans where `by` characters precede their text."""
    return [span.moved(by) for span in spans]


def _plain(text: str, begin: int, end: int, particles: bool) -> Iterator[Span]:
    for chunk in _CHUNK.finditer(text, begin, end):
        for span in _runs(text, chunk.start(), chunk.end()):
            if particles and _HANGUL_END.search(text, span.begin, span.end):
                cut = span.begin + particles_start(text[span.begin : span.end])
                if cut < span.end:
                    yield Span(span.begin, cut)
                    span = Span(cut, span.end)
            yield span


def _runs(text: str, begin: int, end: int) -> Iterator[Span]:
    """The units of text without spaces."""
    start = begin
    for at in range(begin + 1, end + 1):
        if at == end or not _together(text, at, begin, end):
            if INVISIBLE.sub("", text[start:at]):
                yield Span(start, at)
            start = at


def _together(text: str, at: int, begin: int, end: int) -> bool:
    """Whether the characters before and at `at` are of one unit."""
    before, after = text[at - 1], text[at]
    if joined(before, after):
        return True
    if _is_word(before) and _is_word(after):
        return not is_unspaced(before) and not is_unspaced(after)
    if _is_word(before) and at + 1 < end:
        return _binds(before, after, text[at + 1])
    if _is_word(after) and at - 1 > begin:
        return _binds(text[at - 2], before, after)
    return before == after and not _is_word(before)


def _binds(before: str, sign: str, after: str) -> bool:
    """Whether a sign between two characters makes one unit of them."""
    if sign in _NUMBER_SIGNS:
        return before.isdigit() and after.isdigit()
    return sign in _APOSTROPHES and before.isalpha() and after.isalpha()


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_" or joined("a", character)


def gap_of(spans: Sequence[Span], position: int, *, after: bool) -> int:
    """The number of units before a position; a unit that reaches over it is counted if `after`."""
    if after:
        return bisect_left(spans, position, key=lambda span: span.begin)
    return bisect_right(spans, position, key=lambda span: span.end)


def atoms(text: str, protected: Sequence[tuple[int, int]], patterns: Sequence[str] | None) -> list[tuple[int, int]]:
    """The spans that no code may divide, in order: the `protected` ones, and the placeholders apart from them."""
    names = LEARNED if patterns is None else patterns  # codes may divide `H<sub>2</sub>O`
    placeholders = [(placeholder.begin, placeholder.end) for placeholder in find_placeholders(text, names)]
    borders = sorted(protected)
    free = [span for span in placeholders if not any(begin < span[1] and span[0] < end for begin, end in borders)]
    return sorted([*borders, *free])


def occurrences(text: str, names: Collection[str]) -> list[tuple[int, int]]:
    """The spans of `names` in a text, in order, the longest where several begin; no part of a longer Latin word."""
    written = sorted(filter(None, names), key=len, reverse=True)
    if not written:
        return []
    return [match.span() for match in re.finditer("|".join(map(as_word, written)), text)]


@dataclass(eq=False)
class Point:
    """Codes at one position, in order, after `gap` units."""

    codes: list[Code]
    gap: int


@dataclass(eq=False)
class CodeSpan:
    """A span over the units from `begin` to before `end`, and what is inside of it, in order. The root has no codes."""

    begin: int
    end: int
    open: int = -1
    close: int = -1
    children: "list[CodeSpan | Point]" = field(default_factory=list)


def code_tree(codes: Sequence[Code], units: Sequence[Span]) -> CodeSpan:
    """The tree of the codes, a root over all units; `open` and `close` of a node are indices of codes."""
    paired = _pairs(codes)
    stack, ended = [CodeSpan(0, len(units))], set[int]()
    for index, code in enumerate(codes):
        gap = gap_of(units, code.position, after=code.kind != "open")
        if index not in paired:
            _add(stack[-1], Point([code], gap))
        elif code.kind == "open":
            stack.append(CodeSpan(gap, gap, index, paired[index]))
        else:
            ended.add(index)
            while stack[-1].close in ended:
                node = stack.pop()
                node.end = max(gap, node.begin)
                _add(stack[-1], node if node.end > node.begin else _emptied(node, codes))
    return stack[0]


def is_crossing(codes: Sequence[Code]) -> bool:
    """Whether spans that are opened and closed cross."""
    paired, opened = _pairs(codes), list[int]()
    for index in sorted(paired):
        if codes[index].kind == "open":
            opened.append(index)
        elif opened.pop() != paired[index]:
            return True
    return False


def _pairs(codes: Sequence[Code]) -> dict[int, int]:
    """The index of the counterpart of each code that opens or closes a span: a name closes what it opened last."""
    opened, paired = defaultdict[str, list[int]](list), dict[int, int]()
    for index, code in enumerate(codes):
        if code.kind == "open":
            opened[code.name].append(index)
        elif code.kind == "close" and opened[code.name]:
            other = opened[code.name].pop()
            paired |= {index: other, other: index}
    return paired


def _add(parent: CodeSpan, child: CodeSpan | Point) -> None:
    """Add a child, points at one position as one."""
    last = parent.children[-1] if parent.children else None
    if isinstance(last, Point) and isinstance(child, Point) and last.codes[-1].position == child.codes[0].position:
        last.codes += child.codes
    else:
        parent.children.append(child)


def _emptied(node: CodeSpan, codes: Sequence[Code]) -> Point:
    """The point that a span without units is: it contains nothing but points."""
    inner = [code for point in node.children if isinstance(point, Point) for code in point.codes]
    return Point([codes[node.open], *inner, codes[node.close]], node.begin)
