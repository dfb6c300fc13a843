"""Text with inline codes → its translation with the same codes.

Each line of a text, and each part of one between tabs, is translated by itself, without its codes; line breaks, tabs,
and white space at the ends of lines, stay. A line without letters is copied. A line with codes inside is translated
sentence by sentence, as any line is, so that each code is placed within the translation of its own sentence
(`control.inline.placement`); only a sentence with codes inside costs scorings. What is protected has to be in the
translation as often as in the source (`control.placeholders.repair`); the last check is of the whole text that is
returned (`control.faults.faults`).

**A limit of characters**: a translation that has to be shorter is searched again, for another hypothesis and then with
a limit on the tokens, which may cut a sentence off. A hypothesis found under one counts only if the model itself would
end there: if EOS is not improbable.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import zip_longest
from typing import Any

from dragoman.config import DecodeConfig
from dragoman.control.faults.faults import inline_flags, respelled
from dragoman.control.inline.evidence import SentencePair
from dragoman.control.inline.parts import WrittenPart, write_codes
from dragoman.control.inline.placement import Weights
from dragoman.control.inline.units import DIVIDER, atoms, is_crossing, occurrences
from dragoman.control.search.sentences import Line, Sentence, sentence_spans
from dragoman.errors import DataError, describe_type
from dragoman.system.groups import in_groups
from dragoman.text.segment import Segment, separator
from dragoman.text.words.inline import InlineText
from dragoman.translation import Candidate, Flag, Span, Translation

UNPLACED = Flag("markup", "formatting could not be placed: the words that it is around may be missing")
NESTED = Flag("markup", "tags of the source cross; they are nested in the translation")

# The beam of the searches for a shorter translation: a short hypothesis is seldom among the first.
BEAM = 8
# Parts of the tokens that the limit of characters allows by the ratio of the first translation.
SHARES = (1.0, 0.8)
LEAST_END = math.log(0.1)

Segmented = tuple[Span, Segment]
"""Where a part of a text is that is translated by itself, and the same normalised."""


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


Translate = Callable[[Sequence[Line], Mapping[str, Any]], list[Translation]]
"""The translations of lines, under changed options."""
Split = Callable[[Sequence[str]], list[list[Sentence]]]
"""The sentences of each line."""
SearchAgain = Callable[[Sequence[int], dict[str, Any]], list[Translation]]
"""The translations of the lines of these indices, under changed options."""
Weigh = Callable[[Sequence[SentencePair]], list[Weights]]


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


def translate_inline(
    items: Sequence[InlineItem],
    translate: Translate,
    split: Split,
    weigh: Weigh,
    options: DecodeConfig,
    recalled: Sequence[Translation | None] | None = None,
) -> list[InlineTranslation]:
    """The translation of each text, from those of its lines, which all go together.

    What is `recalled` of a text is its translation. Others keep what the `options` say.
    """
    recalled = recalled or [None] * len(items)
    searched = [item for item, known in zip(items, recalled, strict=True) if known is None]
    parts_of_searched = iter(_searched(searched, translate, split, options) if searched else ())
    parts = [
        next(parts_of_searched) if known is None else list(_parts(item.text.text, [_whole(item.text.text, known)]))
        for item, known in zip(items, recalled, strict=True)
    ]
    written = write_codes([item.text for item in items], [item.patterns for item in items], parts, weigh)
    return [_finished(*row, options) for row in zip(items, parts, written, strict=True)]


def _whole(text: str, translation: Translation) -> tuple[Span, Segment, Translation]:
    """The translation of a whole text, but for the white space around it."""
    begin = len(text) - len(text.lstrip())
    return Span(begin, len(text.rstrip())), Segment(text.strip(), ""), translation


def _searched(
    items: Sequence[InlineItem], translate: Translate, split: Split, options: DecodeConfig
) -> list[list[WrittenPart]]:
    """The parts of each text, with the translations of its lines."""
    segments = _segments(items, split)
    lines = [[_line(item, span) for span, _ in of_item] for item, of_item in zip(items, segments, strict=True)]

    def work(flat: Sequence[Line]) -> list[Translation]:
        def search(indices: Sequence[int], changes: Mapping[str, Any]) -> list[Translation]:
            return translate([flat[n].again() for n in indices], changes)

        translated = translate(flat, {})
        shortened = shorten(translated, list(_limits(items, segments, translated)), search)
        pairs = zip(shortened, flat, strict=True)
        return [
            respelled(translation, options, line.patterns, line.literals, line.languages) for translation, line in pairs
        ]

    return [
        list(_parts(item.text.text, [(*segment, part) for segment, part in zip(of_item, translations, strict=True)]))
        for item, of_item, translations in zip(items, segments, in_groups(work, lines), strict=True)
    ]


def _line(item: InlineItem, part: Span) -> Line:
    """A part of a text as a line, with what its translation has to keep."""
    text = item.text
    inside = [span for span in text.protected if part.begin <= span[0] and span[1] <= part.end]
    literals = tuple(dict.fromkeys(text.text[slice(*span)] for span in inside))
    return Line(text.text[slice(*part)], "", item.patterns, literals, keeps_entities=True)


def _segments(items: Sequence[InlineItem], split: Split) -> list[list[Segmented]]:
    """What is translated of each text: its lines, or the sentences of a line that has codes inside or a limit."""
    lines = [list(_lines(item)) for item in items]
    divided = [
        [
            [item.text.text[slice(*line)]]
            if item.max_length or any(line.begin < code.position < line.end for code in item.text.codes)
            else []
            for line in of_item
        ]
        for item, of_item in zip(items, lines, strict=True)
    ]
    sentences = in_groups(partial(in_groups, split), divided)
    return [
        [segment for line, parts in zip(of_item, of_lines, strict=True) for segment in _divided(item, line, *parts)]
        for item, of_item, of_lines in zip(items, lines, sentences, strict=True)
    ]


def _divided(item: InlineItem, line: Span, sentences: Sequence[Sentence] = ()) -> list[Segmented]:
    """A line, or its sentences if they are given and each can be located in it."""
    text = item.text.text[slice(*line)]
    spans = sentence_spans(text, sentences) if sentences else []
    if len(spans) < 2:
        return [(span.moved(line.begin), Segment(text, "")) for span in spans] or [(line, Segment(text, ""))]
    return [(span.moved(line.begin), sentence.segment) for span, sentence in zip(spans, sentences, strict=True)]


def shorten(translations: Sequence[Translation], limits: Sequence[int], search: SearchAgain) -> list[Translation]:
    """Each translation, or another one with at most its limit of characters, if one is found; none gains a warning."""
    shortest = list(translations)
    usual = {"method": "beam", "beam": BEAM, "n_best": BEAM, "length_penalty": 0.0, "token_scores": True}
    for share in (None, *SHARES):
        groups: dict[int | None, list[int]] = {}
        for index, translation in enumerate(shortest):
            if limits[index] > 0 and len(translation.text) > limits[index]:
                tokens = (share or 0.0) * len(translation.tokens) * limits[index] / len(translation.text)
                longest = max(1, int(tokens)) if share else None
                groups.setdefault(longest, []).append(index)
        for longest, indices in groups.items():
            changes = {**usual, "max_length": longest, "min_length": 0} if longest else usual
            for index, other in zip(indices, search(indices, changes), strict=True):
                best = next(_fitting(other, shortest[index], limits[index], bool(longest)), None)
                shortest[index] = best or shortest[index]
    return shortest


def _fitting(other: Translation, known: Translation, limit: int, was_cut: bool) -> Iterator[Translation]:
    """The candidates that fit, best first, each as a translation."""
    if {flag.kind for flag in other.warnings} - {flag.kind for flag in known.warnings}:
        return
    for candidate in other.candidates:
        fits = candidate.text and len(candidate.text) <= limit
        if fits and not (was_cut and candidate.log_probs[-1:] < (LEAST_END,)):
            yield Translation(other.source, (candidate,), known.warnings, other.terms, known.confidence)


def _limits(
    items: Sequence[InlineItem], segments: Sequence[Sequence[Segmented]], translations: Sequence[Translation]
) -> Iterator[int]:
    """The most characters of each translation: its share of what its text may have; 0: any number."""
    lengths = in_groups(lambda _: [len(translation.text) for translation in translations], segments)
    for item, of_item, written in zip(items, segments, lengths, strict=True):
        copied = len(item.text.text) - sum(span.end - span.begin for span, _ in of_item)
        left = max((item.max_length or 0) - copied, 0)
        yield from (left * length // max(sum(written), 1) for length in written)


def _lines(item: InlineItem) -> Iterator[Span]:
    """Where the lines are that have something to translate, without the white space at their ends."""
    text, copied = item.text, atoms(item.text.text, item.text.protected, item.patterns)
    breaks = [match.span() for match in DIVIDER.finditer(text.text)]
    borders = [0, *(border for span in breaks for border in span), len(text.text)]
    for begin, end in zip(borders[::2], borders[1::2], strict=True):
        line = text.text[begin:end]
        span = Span(end - len(line.lstrip()), begin + len(line.rstrip()))
        if span.begin < span.end and _has_letters(text.text, copied, span):
            yield span


def _has_letters(text: str, copied: Sequence[tuple[int, int]], line: Span) -> bool:
    """Whether a line has letters outside of what is copied."""
    borders = [line.begin, *(min(max(border, line.begin), line.end) for span in copied for border in span)]
    pairs = zip(borders[::2], [*borders[1::2], line.end], strict=True)
    return any(character.isalpha() for begin, end in pairs for character in text[begin:end])


def _parts(text: str, translated: Sequence[tuple[Span, Segment, Translation]]) -> Iterator[WrittenPart]:
    """The parts of a whole text: what is translated, and what is between."""
    at, between = 0, ""
    for number, (span, segment, translation) in enumerate(translated):
        gap = text[at : span.begin]
        yield WrittenPart(Span(at, span.begin), between if number and not DIVIDER.search(gap) else gap)
        yield WrittenPart(span, translation.text, translation)
        at, between = span.end, separator(segment, translation.text)
    yield WrittenPart(Span(at, len(text)), text[at:])


def _finished(
    item: InlineItem, parts: Sequence[WrittenPart], written: tuple[InlineText, bool], options: DecodeConfig
) -> InlineTranslation:
    """The translation of a whole text, with warnings about what it has not kept."""
    text, limit, (inline, unplaced) = item.text, item.max_length, written
    translations = [part.translation for part in parts if part.translation]
    warnings = [flag for translation in translations for flag in translation.warnings]
    if not any(flag.kind == "placeholder" for flag in warnings):
        warnings += inline_flags(text, inline.text, item.patterns, options)
    if is_crossing(text.codes):
        warnings.append(NESTED)
    if unplaced:
        warnings.append(UNPLACED)
    protected = occurrences(inline.text, {text.text[slice(*span)] for span in text.protected})
    if limit is not None and len(inline.text) > limit:
        warnings.append(Flag("too_long", f"{len(inline.text):,} characters; {limit:,} are allowed"))
    joined = replace(_joined(text.text, inline.text, translations), warnings=tuple(dict.fromkeys(warnings)))
    return InlineTranslation(joined, replace(inline, protected=tuple(protected)))


def _joined(source: str, written: str, lines: Sequence[Translation]) -> Translation:
    """One translation from those of the lines; its score is their mean, its log P their sum."""
    best = [line.candidates[0] for line in lines]
    whole = Candidate(
        written,
        sum(candidate.score for candidate in best) / max(len(best), 1),
        sum(candidate.log_prob for candidate in best),
        tuple(token for candidate in best for token in candidate.tokens),
        tuple(log_prob for candidate in best for log_prob in candidate.log_probs),
    )
    confidences = [line.confidence for line in lines if line.confidence is not None]
    terms = tuple(term for line in lines for term in line.terms)
    match = lines[0].match if len(lines) == 1 else None
    return Translation(source, (whole,), (), terms, min(confidences, default=None), match=match)
