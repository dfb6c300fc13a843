"""The parts of texts with inline codes, source and written, → the written texts with the codes.

**Words that codes divide** and that a translation has as they are, `H<sub>2</sub>O`, `CO<sub>2</sub>`: no alignment is
needed for their codes, because each of their pieces comes from the same piece of the source.

**Spaces.** Within a space a closing code comes first and an opening one last: `the <b>red</b> dog`. A code without text
touches what it touched in the source; one between two spaces has one on each side again. What is before, after and
between the lines of a text is as in the source, and so are the codes in it.
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby, pairwise

import numpy as np

from dragoman.control.inline.evidence import SentencePair
from dragoman.control.inline.placement import AlignedUnits, PlacedCode, Placement, Weights
from dragoman.control.inline.units import DIVIDER, UnitText, atoms, moved, occurrences, units
from dragoman.system.groups import in_groups
from dragoman.text.words.inline import Code, InlineText
from dragoman.translation import Span, Translation

# Of a word; without Hangul, whose particles follow such words: `H2O는`.
_LETTER = "[^\\W_가-힣]"
_WORD = re.compile(f"{_LETTER}+")
Pieces = list[tuple[Span, Span]]
"""Spans of the source, and those of the translation that are the same."""
# Units of a stretch: of longer ones the whole sentence depends, and shorter ones cost more and place no better.
LONGEST = 3


@dataclass(frozen=True, slots=True)
class WrittenPart:
    """A stretch of a source, and what is written for it: its translation, or the same."""

    source: Span
    written: str
    translation: Translation | None = None


@dataclass(frozen=True, slots=True)
class _PartUnits:
    """Where the units of a part are in the source and in the translation, and what is to be weighed, if anything."""

    sources: list[Span]
    targets: list[Span]
    pair: SentencePair | None
    divided: Pieces = field(default_factory=list)
    """The pieces of words that codes divide and the translation has as they are."""

    def weights(self, weighed: Weights | None) -> Weights:
        """What was weighed; else all units come from the one stretch of the source, or copied units from themselves."""
        if weighed is not None:
            return with_divided(weighed, self.sources, self.targets, self.divided)
        if len(self.sources) == 1:
            return np.ones((len(self.targets), 1))
        return np.eye(len(self.targets), len(self.sources))


def write_codes(
    texts: Sequence[InlineText],
    patterns: Sequence[tuple[str, ...] | None],
    parts: Sequence[Sequence[WrittenPart]],
    weigh: Callable[[Sequence[SentencePair]], list[Weights]],
) -> list[tuple[InlineText, bool]]:
    """The text that the parts of each text make, with its codes, and whether some could not be placed.

    `patterns` find the placeholders of each text.
    """
    blocks = [_blocks(*row) if row[0].codes else [] for row in zip(texts, patterns, parts, strict=True)]
    weighed = in_groups(weigh, [[block.pair for block in of_text if block.pair] for of_text in blocks])
    return list(map(_with_codes, texts, parts, blocks, weighed))


def _with_codes(
    text: InlineText, parts: Sequence[WrittenPart], blocks: Sequence[_PartUnits], weighed: Sequence[Weights]
) -> tuple[InlineText, bool]:
    """The text that its parts make, with its codes; `weighed` are the weights of the blocks that have a pair."""
    written = "".join(part.written for part in parts)
    if not text.codes:
        return InlineText(written), False
    source = UnitText(text.text, [span for block in blocks for span in block.sources])
    target = UnitText(written, [span for block in blocks for span in block.targets])
    aligned, at, weights = list[AlignedUnits](), [0, 0], iter(weighed)
    for block in blocks:
        aligned.append(AlignedUnits(at[0], at[1], block.weights(next(weights) if block.pair else None)))
        at = [at[0] + len(block.sources), at[1] + len(block.targets)]
    placement = Placement(source, target, aligned, text.codes)
    return InlineText(*with_codes(placement.place(), source, target)), placement.unplaced


def _blocks(text: InlineText, patterns: tuple[str, ...] | None, parts: Sequence[WrittenPart]) -> list[_PartUnits]:
    begin, blocks = 0, list[_PartUnits]()
    names = {text.text[slice(*span)] for span in text.protected}
    whole = atoms(text.text, text.protected, patterns)
    for part in parts:
        inside = [span for span in whole if part.source.begin <= span[0] and span[1] <= part.source.end]
        cuts = [code.position for code in text.codes if part.source.begin < code.position < part.source.end]
        divided: Pieces = []
        if part.translation is not None:
            inner = [cut - part.source.begin for cut in cuts]
            divided = divided_words(text.text[slice(*part.source)], inner, part.written)
        cuts += [part.source.begin + end for piece, _ in divided for end in piece]
        sources = units(text.text, inside, cuts, within=part.source)
        if part.translation is None:
            copied = text.text[slice(*part.source)] == part.written
            targets = moved(sources, begin - part.source.begin)
            blocks.append(_PartUnits(sources, targets, None) if copied else _PartUnits([], [], None))
        else:
            stretches = _stretches(sources, [*cuts, *_neighbours(text, sources)])
            copies = atoms(part.written, occurrences(part.written, names), patterns)
            target = units(part.written, copies, [end for _, piece in divided for end in piece], particles=True)
            pair = None
            if len(stretches) > 1:
                erasable = moved(stretches, -part.source.begin)
                pair = SentencePair(text.text[slice(*part.source)], erasable, part.written, target)
            pieces = [(piece.moved(part.source.begin), copy.moved(begin)) for piece, copy in divided]
            of_copies = copied_atoms(text.text, inside, part.written, copies)
            pieces += [(atom, copy.moved(begin)) for atom, copy in of_copies]
            blocks.append(_PartUnits(stretches, moved(target, begin), pair, pieces))
        begin += len(part.written)
    return blocks


def _neighbours(text: InlineText, sources: Sequence[Span]) -> list[int]:
    """Where the units begin and end that are next to codes without text between them."""
    points = {code.position for code in text.codes if code.kind == "alone"}
    points |= {
        code.position
        for code, following in zip(text.codes, text.codes[1:], strict=False)
        if (code.kind, following.kind) == ("open", "close")
        and code.name == following.name
        and code.position == following.position
    }
    borders = list[int]()
    for position in points:
        if sources and sources[0].begin < position < sources[-1].end:
            after = bisect_left(sources, position, key=lambda span: span.begin)
            borders += [span.begin for span in sources[max(after - 1, 0) : after]]
            borders += [span.end for span in sources[after : after + 1]]
    return borders


def _stretches(sources: Sequence[Span], cuts: Sequence[int]) -> list[Span]:
    """The units joined to stretches of up to LONGEST units between the cuts."""
    borders, stretches = sorted(set(cuts)), list[Span]()
    for _, group in groupby(sources, lambda span: bisect_left(borders, span.end)):
        joined = list(group)
        count = -(-len(joined) // LONGEST)
        ends = [len(joined) * number // count for number in range(count + 1)]
        stretches += [Span(joined[a].begin, joined[b - 1].end) for a, b in pairwise(ends)]
    return stretches


def divided_words(source: str, positions: Sequence[int], target: str) -> Pieces:
    """The pieces of words that codes at these positions divide and that occur as often in the translation."""
    pieces: Pieces = []
    words = list(_WORD.finditer(source))
    divided = {match[0] for match in words if any(match.start() < at < match.end() for at in positions)}
    for word in sorted(divided):
        ours = [match.start() for match in words if match[0] == word]
        theirs = [match.start() for match in re.finditer(f"(?<!{_LETTER}){re.escape(word)}(?!{_LETTER})", target)]
        if len(ours) == len(theirs):
            for begin, other in zip(ours, theirs, strict=True):
                cuts = [begin, *(at for at in positions if begin < at < begin + len(word)), begin + len(word)]
                pieces += [(Span(a, b), Span(a, b).moved(other - begin)) for a, b in pairwise(sorted(set(cuts)))]
    return sorted(pieces)


def copied_atoms(
    source: str, atoms: Sequence[tuple[int, int]], target: str, copies: Sequence[tuple[int, int]]
) -> Pieces:
    """What is copied as a whole and occurs as often in the translation: a code around it is around its copy."""
    pieces: Pieces = []
    for text in {source[slice(*atom)] for atom in atoms}:
        ours = [Span(*atom) for atom in atoms if source[slice(*atom)] == text]
        theirs = [Span(*copy) for copy in copies if target[slice(*copy)] == text]
        if len(ours) == len(theirs):
            pieces += zip(ours, theirs, strict=True)
    return pieces


def with_divided(weights: Weights, sources: Sequence[Span], targets: Sequence[Span], pieces: Pieces) -> Weights:
    """`weights` (targets, sources) in which the pieces of these words come from themselves, and nothing else does."""
    if not pieces:
        return weights
    weights = weights.copy()
    at = {span: number for number, span in enumerate(sources)}, {span: number for number, span in enumerate(targets)}
    for piece, copy in pieces:
        column, row = at[0].get(piece), at[1].get(copy)
        if column is not None and row is not None:
            weights[row] = 0
            weights[:, column] = 0
            weights[row, column] = 1
    return weights


def with_codes(placed: Sequence[PlacedCode], source: UnitText, target: UnitText) -> tuple[str, tuple[Code, ...]]:
    """The text of the target and the codes in it, in the order of `placed`, whose gaps do not decrease."""
    positions = [_position(placed_code, source, target) for placed_code in placed]
    for index in range(len(placed) - 2, -1, -1):  # nothing before a closing code is behind it
        if placed[index + 1].code.kind == "close" or positions[index + 1] < target.gap(placed[index + 1].gap).end:
            positions[index] = min(positions[index], positions[index + 1])
    text, codes, at = "", list[Code](), 0
    for index, (placed_code, position) in enumerate(zip(placed, positions, strict=True)):
        text += target.text[at : max(at, position)]
        at = max(at, position)
        codes.append(replace(placed_code.code, position=len(text)))
        if (
            _is_last_apart(placed, index)
            and _is_between_words(target, placed_code.gap)
            and at == target.gap(placed_code.gap).end
        ):
            text += " "
    return text + target.text[at:], tuple(codes)


def _position(placed: PlacedCode, source: UnitText, target: UnitText) -> int:
    gap = target.gap(placed.gap)
    if _is_same_gap(placed, source, target):
        offset = max(placed.code.position - source.gap(placed.source_gap).begin, 0)
        return gap.begin + min(offset, gap.end - gap.begin)
    return gap.begin if placed.prefers == "begin" else gap.end


def _is_same_gap(placed: PlacedCode, source: UnitText, target: UnitText) -> bool:
    """Whether the gap is the same on both sides: at an end of the text, or between two lines."""
    before, after = source.gap(placed.source_gap), target.gap(placed.gap)
    if placed.gap in (0, len(target.units)):
        ends = placed.source_gap == 0, placed.source_gap == len(source.units)
        return ends == (placed.gap == 0, placed.gap != 0)
    space = source.text[before.begin : before.end]
    return space == target.text[after.begin : after.end] and bool(DIVIDER.search(space))


def _is_between_words(side: UnitText, gap: int) -> bool:
    space = side.text[slice(*side.gap(gap))]
    return 0 < gap < len(side.units) and bool(space) and not DIVIDER.search(space)


def _is_last_apart(placed: Sequence[PlacedCode], index: int) -> bool:
    """Whether a code between two spaces is the last one at its position."""
    code, following = placed[index], placed[index + 1 : index + 2]
    if code.prefers != "apart":
        return False
    return not following or following[0].prefers != "apart" or following[0].gap != code.gap
