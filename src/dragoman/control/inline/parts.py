"""The parts of texts with inline codes, source and written, → the written texts with the codes. No torch."""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import groupby, pairwise

import numpy as np

from dragoman.control.inline.divided_words import Pieces, divided_words, with_divided
from dragoman.control.inline.evidence import Pair
from dragoman.control.inline.placed import with_codes
from dragoman.control.inline.placement import Block, Placement, Weights
from dragoman.control.inline.units import Side, moved, units
from dragoman.control.placeholders.protected import atoms, occurrences
from dragoman.text.words.inline import InlineText
from dragoman.translation import Span, Translation

# Units of a stretch: of longer ones the whole sentence depends, and shorter ones cost more and place no better.
LONGEST = 3


@dataclass(frozen=True, slots=True)
class Part:
    """A stretch of a source, and what is written for it: its translation, or the same."""

    source: Span
    written: str
    translation: Translation | None = None


@dataclass(frozen=True, slots=True)
class _Block:
    """Where the units of a part are in the source and in the translation, and what is to be weighed, if anything."""

    sources: list[Span]
    targets: list[Span]
    pair: Pair | None
    divided: Pieces = field(default_factory=list)
    """The pieces of words that codes divide and the translation has as they are."""

    def weights(self, weighed: Weights | None) -> Weights:
        """As weighed; of one stretch of the source all units come; copied units come from themselves."""
        if weighed is not None:
            return with_divided(weighed, self.sources, self.targets, self.divided)
        if len(self.sources) == 1:
            return np.ones((len(self.targets), 1))
        return np.eye(len(self.targets), len(self.sources))


def placed(
    texts: Sequence[InlineText],
    patterns: Sequence[tuple[str, ...] | None],
    parts: Sequence[Sequence[Part]],
    weigh: Callable[[Sequence[Pair]], list[Weights]],
) -> list[InlineText]:
    """The text that the parts of each text make, with its codes; `patterns` find the placeholders of each."""
    blocks = [_blocks(*row) if row[0].codes else [] for row in zip(texts, patterns, parts, strict=True)]
    weighed = iter(weigh([block.pair for own in blocks for block in own if block.pair]))
    found = []
    for text, several, own in zip(texts, parts, blocks, strict=True):
        written = "".join(part.written for part in several)
        if not text.codes:
            found.append(InlineText(written))
            continue
        source = Side(text.text, [span for block in own for span in block.sources])
        target = Side(written, [span for block in own for span in block.targets])
        aligned, at = list[Block](), [0, 0]
        for block in own:
            aligned.append(Block(at[0], at[1], block.weights(next(weighed) if block.pair else None)))
            at = [at[0] + len(block.sources), at[1] + len(block.targets)]
        found.append(InlineText(*with_codes(Placement(source, target, aligned, text.codes).place(), source, target)))
    return found


def _blocks(text: InlineText, patterns: tuple[str, ...] | None, parts: Sequence[Part]) -> list[_Block]:
    begin, found = 0, list[_Block]()
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
        own = units(text.text, inside, cuts, within=part.source)
        if part.translation is None:
            copied = text.text[slice(*part.source)] == part.written
            found.append(_Block(own, moved(own, begin - part.source.begin), None) if copied else _Block([], [], None))
        else:
            stretches = _stretches(own, [*cuts, *_neighbours(text, own)])
            kept = atoms(part.written, occurrences(part.written, names), patterns)
            target = units(part.written, kept, [end for _, piece in divided for end in piece], particles=True)
            pair = None
            if len(stretches) > 1:
                erasable = moved(stretches, -part.source.begin)
                pair = Pair(text.text[slice(*part.source)], erasable, part.written, target)
            placed_pieces = [(one.moved(part.source.begin), other.moved(begin)) for one, other in divided]
            found.append(_Block(stretches, moved(target, begin), pair, placed_pieces))
        begin += len(part.written)
    return found


def _neighbours(text: InlineText, own: Sequence[Span]) -> list[int]:
    """Where the units begin and end that are next to codes without text between them."""
    points = {code.position for code in text.codes if code.kind == "alone"}
    points |= {
        one.position
        for one, other in zip(text.codes, text.codes[1:], strict=False)
        if (one.kind, other.kind) == ("open", "close") and one.name == other.name and one.position == other.position
    }
    found = list[int]()
    for position in points:
        if own and own[0].begin < position < own[-1].end:
            after = bisect_left(own, position, key=lambda span: span.begin)
            found += [span.begin for span in own[max(after - 1, 0) : after]]
            found += [span.end for span in own[after : after + 1]]
    return found


def _stretches(own: Sequence[Span], cuts: Sequence[int]) -> list[Span]:
    """The units joined to stretches of up to LONGEST units between the cuts."""
    borders, found = sorted(set(cuts)), list[Span]()
    for _, group in groupby(own, lambda span: bisect_left(borders, span.end)):
        joined = list(group)
        count = -(-len(joined) // LONGEST)
        ends = [len(joined) * number // count for number in range(count + 1)]
        found += [Span(joined[a].begin, joined[b - 1].end) for a, b in pairwise(ends)]
    return found
