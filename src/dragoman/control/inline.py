"""Text with inline codes → its translation with the same codes. No torch.

Each line of a text is translated by itself, without its codes; line breaks, and white space at the ends of lines, stay.
A line without letters is copied. Then the codes are placed (`control.placement`). What is protected has to be in the
translation as often as in the source; otherwise it has a warning.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest

import numpy as np

from dragoman.control.code_tree import is_crossing
from dragoman.control.evidence import by_position
from dragoman.control.placed import with_codes
from dragoman.control.placement import Block, Placement
from dragoman.control.protected import occurrences
from dragoman.control.splitting import LINE_BREAK
from dragoman.control.units import Side, moved, units
from dragoman.errors import DataError, describe_type
from dragoman.text.inline import Code, InlineText
from dragoman.translation import Candidate, Flag, Span, Translation

Translate = Callable[[Sequence[str]], list[Translation]]

NESTED = Flag("markup", "tags of the source cross; they are nested in the translation")


@dataclass(frozen=True, slots=True)
class InlineTranslation:
    """A translation, and its text with the codes of the source: each exactly once, validly nested."""

    translation: Translation
    inline: InlineText


@dataclass(frozen=True, slots=True)
class InlineItem:
    """A text to translate, the names of the patterns of its placeholders, the most characters of its translation."""

    text: InlineText
    patterns: tuple[str, ...] | None = None
    max_length: int | None = None


def zip_inline(
    texts: Iterable[InlineText],
    patterns: Iterable[tuple[str, ...] | None] | None,
    max_lengths: Iterable[int | None] | None,
) -> Iterator[InlineItem]:
    """The items of a call, each when it is asked for. Raises DataError for what is no InlineText."""
    for number, row in enumerate(zip_longest(texts, patterns or (), max_lengths or ()), 1):
        if not isinstance(row[0], InlineText):
            raise DataError(f"texts: text {number} is {describe_type(row[0])}; give an InlineText for each text")
        yield InlineItem(*row)


@dataclass(frozen=True, slots=True)
class _Part:
    """A stretch of a source, and what is written for it: its translation, or the same."""

    source: Span
    written: str
    translation: Translation | None = None


def translate_inline(items: Sequence[InlineItem], translate: Translate) -> list[InlineTranslation]:
    """The translation of each text by `translate`, which receives the lines of all of them together."""
    lines = [list(_lines(item.text)) for item in items]
    found = iter(
        translate([item.text.text[slice(*line)] for item, own in zip(items, lines, strict=True) for line in own])
    )
    return [
        _assembled(item, list(_parts(item.text.text, [(line, next(found)) for line in own])))
        for item, own in zip(items, lines, strict=True)
    ]


def _lines(text: InlineText) -> Iterator[Span]:
    """Where the lines are that have something to translate, without the white space at their ends."""
    breaks = [match.span() for match in LINE_BREAK.finditer(text.text)]
    borders = [0, *(border for span in breaks for border in span), len(text.text)]
    for begin, end in zip(borders[::2], borders[1::2], strict=True):
        line = text.text[begin:end]
        span = Span(end - len(line.lstrip()), begin + len(line.rstrip()))
        if span.begin < span.end and _has_letters(text, span):
            yield span


def _has_letters(text: InlineText, line: Span) -> bool:
    """Whether a line has letters outside of what is protected."""
    borders = [line.begin, *(min(max(border, line.begin), line.end) for span in text.protected for border in span)]
    pairs = zip(borders[::2], [*borders[1::2], line.end], strict=True)
    return any(character.isalpha() for begin, end in pairs for character in text.text[begin:end])


def _parts(text: str, lines: Sequence[tuple[Span, Translation]]) -> Iterator[_Part]:
    at = 0
    for line, translation in lines:
        yield _Part(Span(at, line.begin), text[at : line.begin])
        yield _Part(line, translation.text, translation)
        at = line.end
    yield _Part(Span(at, len(text)), text[at:])


def _assembled(item: InlineItem, parts: Sequence[_Part]) -> InlineTranslation:
    """The translation of a whole text from those of its lines."""
    text, limit = item.text, item.max_length
    written, codes = "".join(part.written for part in parts), text.codes
    warnings = [flag for part in parts if part.translation for flag in part.translation.warnings]
    if codes:
        written, codes = _placed(text, parts)
        if is_crossing(text.codes):
            warnings.append(NESTED)
    names = Counter(text.text[slice(*span)] for span in text.protected)
    protected = occurrences(written, names)
    if missing := names - Counter(written[slice(*span)] for span in protected):
        warnings.append(Flag("placeholder", f"missing in the translation: {', '.join(missing)}"))
    if limit is not None and len(written) > limit:
        warnings.append(Flag("too_long", f"{len(written):,} characters; {limit:,} are allowed"))
    joined = _joined(text.text, written, [part.translation for part in parts if part.translation])
    joined = replace(joined, warnings=tuple(dict.fromkeys(warnings)))
    return InlineTranslation(joined, InlineText(written, codes, tuple(protected)))


def _placed(text: InlineText, parts: Sequence[_Part]) -> tuple[str, tuple[Code, ...]]:
    """The text of the translation with the codes of the source."""
    cuts, names = [code.position for code in text.codes], {text.text[slice(*span)] for span in text.protected}
    sources, targets, blocks = list[Span](), list[Span](), list[Block]()
    begin = 0
    for part in parts:
        atoms = [span for span in text.protected if part.source.begin <= span[0] and span[1] <= part.source.end]
        own = units(text.text, atoms, cuts, within=part.source)
        if part.translation:
            found = moved(units(part.written, occurrences(part.written, names), particles=True), begin)
        else:
            found = moved(own, begin - part.source.begin)
        blocks.append(Block(len(sources), len(targets), np.eye(len(own))))
        if part.translation:
            words = (
                [text.text[slice(*span)] for span in own],
                [part.written[slice(*span.moved(-begin))] for span in found],
            )
            blocks[-1] = replace(blocks[-1], weights=by_position(*words))
        sources, targets, begin = [*sources, *own], [*targets, *found], begin + len(part.written)
    source, target = Side(text.text, sources), Side("".join(part.written for part in parts), targets)
    return with_codes(Placement(source, target, blocks, text.codes).place(), source, target)


def _joined(source: str, written: str, lines: Sequence[Translation]) -> Translation:
    """One translation from those of the lines; its score is their mean, its log P their sum."""
    best = [line.candidates[0] for line in lines]
    whole = Candidate(
        written,
        sum(one.score for one in best) / max(len(best), 1),
        sum(one.log_prob for one in best),
        tuple(token for one in best for token in one.tokens),
        tuple(log_prob for one in best for log_prob in one.log_probs),
    )
    confidences = [line.confidence for line in lines if line.confidence is not None]
    terms = tuple(term for line in lines for term in line.terms)
    return Translation(source, (whole,), (), terms, min(confidences, default=None))
