"""Placed codes → the target text with its codes. No torch.

Within a space a closing code comes first and an opening one last: `the <b>red</b> dog`. A code without text touches
what it touched in the source; one between two spaces has one on each side again. What is before, after and between the
lines of a text is as in the source, and so are the codes in it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from dragoman.control.inline.units import Side
from dragoman.control.search.splitting import LINE_BREAK
from dragoman.text.words.inline import Code


@dataclass(frozen=True, slots=True)
class Placed:
    """A code of gap `source_gap` of the source in gap `gap` of the target, and where in a space it belongs.

    `apart`: between two spaces.
    """

    code: Code
    gap: int
    source_gap: int
    prefers: Literal["begin", "end", "apart"]


def with_codes(placed: Sequence[Placed], source: Side, target: Side) -> tuple[str, tuple[Code, ...]]:
    """The text of the target and the codes in it, in the order of `placed`, whose gaps do not decrease."""
    positions = [_position(one, source, target) for one in placed]
    for index in range(len(placed) - 2, -1, -1):  # nothing before a closing code is behind it
        if placed[index + 1].code.kind == "close" or positions[index + 1] < target.gap(placed[index + 1].gap).end:
            positions[index] = min(positions[index], positions[index + 1])
    text, codes, at = "", list[Code](), 0
    for index, (one, position) in enumerate(zip(placed, positions, strict=True)):
        text += target.text[at : max(at, position)]
        at = max(at, position)
        codes.append(replace(one.code, position=len(text)))
        if _is_last_apart(placed, index) and _is_between_words(target, one.gap) and at == target.gap(one.gap).end:
            text += " "
    return text + target.text[at:], tuple(codes)


def _position(one: Placed, source: Side, target: Side) -> int:
    gap = target.gap(one.gap)
    if _is_kept(one, source, target):
        return gap.begin + min(max(one.code.position - source.gap(one.source_gap).begin, 0), gap.end - gap.begin)
    return gap.begin if one.prefers == "begin" else gap.end


def _is_kept(one: Placed, source: Side, target: Side) -> bool:
    """Whether the gap is the same on both sides: at an end of the text, or between two lines."""
    before, after = source.gap(one.source_gap), target.gap(one.gap)
    if one.gap in (0, len(target.units)):
        return (one.source_gap == 0, one.source_gap == len(source.units)) == (one.gap == 0, one.gap != 0)
    space = source.text[before.begin : before.end]
    return space == target.text[after.begin : after.end] and bool(LINE_BREAK.search(space))


def _is_between_words(side: Side, gap: int) -> bool:
    space = side.text[slice(*side.gap(gap))]
    return 0 < gap < len(side.units) and bool(space) and not LINE_BREAK.search(space)


def _is_last_apart(placed: Sequence[Placed], index: int) -> bool:
    """Whether a code between two spaces is the last one at its position."""
    one, following = placed[index], placed[index + 1 : index + 2]
    if one.prefers != "apart":
        return False
    return not following or following[0].prefers != "apart" or following[0].gap != one.gap
