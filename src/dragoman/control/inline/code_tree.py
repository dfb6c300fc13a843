"""Inline codes → a tree of spans over the units of a source text.

Spans that cross are nested: the one opened first ends after the one that it crosses. A span without units, and codes
that neither open nor close a span, are points between two units; so are codes without a counterpart. Nothing here is
recursive, because tags may be nested deeper than Python calls.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from dragoman.control.inline.units import gap_of
from dragoman.text.words.inline import Code
from dragoman.translation import Span


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
