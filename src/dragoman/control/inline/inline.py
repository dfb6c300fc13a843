"""Text with inline codes → its translation with the same codes. No torch.

Each line of a text is translated by itself, without its codes; line breaks, and white space at the ends of lines, stay.
A line without letters is copied. A line with codes inside is translated sentence by sentence, as any line is, so that
each code is placed within the translation of its own sentence (`control.inline.placement`); only a sentence with codes
inside costs scorings. What is protected has to be in the translation as often as in the source
(`control.placeholders.placeholders`); the last check is of the whole text that is returned
(`control.faults.final_check`).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import Any

from dragoman.config import DecodeConfig
from dragoman.control.faults.final_check import as_given, inline_flags
from dragoman.control.faults.kept import Protection
from dragoman.control.inline.code_tree import is_crossing
from dragoman.control.inline.evidence import Pair
from dragoman.control.inline.parts import Part, placed
from dragoman.control.inline.placement import Weights
from dragoman.control.placeholders.protected import atoms, occurrences
from dragoman.control.search.sentences import Sentence
from dragoman.control.search.shorter import shorten
from dragoman.control.search.splitting import LINE_BREAK, sentence_spans
from dragoman.errors import DataError, describe_type
from dragoman.text.segment import Segment, separator
from dragoman.text.words.inline import InlineText
from dragoman.translation import Candidate, Flag, Span, Translation

NESTED = Flag("markup", "tags of the source cross; they are nested in the translation")

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


@dataclass(frozen=True, slots=True)
class Means:
    """What a translator can do with lines."""

    translate: Callable[[Sequence[str], Sequence[Protection], Mapping[str, Any]], list[Translation]]
    """The translations of lines, with what each keeps, under changed options."""
    split: Callable[[Sequence[str]], list[list[Sentence]]]
    """The sentences of each line."""
    weigh: Callable[[Sequence[Pair]], list[Weights]]
    options: DecodeConfig = field(default_factory=DecodeConfig)
    """What its translations have to keep."""
    recall: Callable[["InlineItem"], Translation | None] = lambda item: None
    """The translation that is known of a whole text, if any."""


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


def translate_inline(items: Sequence[InlineItem], means: Means) -> list[InlineTranslation]:
    """The translation of each text: what is known of it, or that of its lines, which all go together."""
    known = [means.recall(item) for item in items]
    searched = iter(_searched([item for item, one in zip(items, known, strict=True) if one is None], means))
    parts = [
        next(searched) if one is None else list(_parts(item.text.text, [_whole(item.text.text, one)]))
        for item, one in zip(items, known, strict=True)
    ]
    written = placed([item.text for item in items], [item.patterns for item in items], parts, means.weigh)
    return [_finished(*row, means.options) for row in zip(items, parts, written, strict=True)]


def _whole(text: str, translation: Translation) -> tuple[Span, Segment, Translation]:
    """The translation of a whole text, but for the white space around it."""
    begin = len(text) - len(text.lstrip())
    return Span(begin, len(text.rstrip())), Segment(text.strip(), ""), translation


def _searched(items: Sequence[InlineItem], means: Means) -> list[list[Part]]:
    """The parts of each text, with the translations of its lines."""
    segments = _segments(items, means)
    texts = [item.text.text[slice(*span)] for item, own in zip(items, segments, strict=True) for span, _ in own]
    protections = [_protection(item, span) for item, own in zip(items, segments, strict=True) for span, _ in own]
    translated = means.translate(texts, protections, {})

    def search(indices: Sequence[int], changes: Mapping[str, Any]) -> list[Translation]:
        return means.translate([texts[n] for n in indices], [protections[n] for n in indices], changes)

    shortened = shorten(translated, list(_limits(items, segments, translated)), search)
    found = (as_given(one, own, means.options) for one, own in zip(shortened, protections, strict=True))
    return [
        list(_parts(item.text.text, [(*segment, next(found)) for segment in own]))
        for item, own in zip(items, segments, strict=True)
    ]


def _protection(item: InlineItem, part: Span) -> Protection:
    """What the translation of a part has to keep."""
    text = item.text
    inside = [span for span in text.protected if part.begin <= span[0] and span[1] <= part.end]
    return Protection(item.patterns, tuple(dict.fromkeys(text.text[slice(*span)] for span in inside)))


def _segments(items: Sequence[InlineItem], means: Means) -> list[list[Segmented]]:
    """What is translated of each text: its lines, or the sentences of a line that has codes inside or a limit."""
    lines = [list(_lines(item)) for item in items]
    inner = [
        (number, line)
        for number, (item, own) in enumerate(zip(items, lines, strict=True))
        for line in own
        if item.max_length or any(line.begin < code.position < line.end for code in item.text.codes)
    ]
    written = [items[number].text.text[slice(*line)] for number, line in inner]
    found = {
        key: _moved(key[1].begin, line, sentences)
        for key, line, sentences in zip(inner, written, means.split(written), strict=True)
    }
    return [
        [
            segment
            for line in own
            for segment in found.get((number, line), [(line, Segment(item.text.text[slice(*line)], ""))])
        ]
        for number, (item, own) in enumerate(zip(items, lines, strict=True))
    ]


def _limits(
    items: Sequence[InlineItem], segments: Sequence[Sequence[Segmented]], translations: Sequence[Translation]
) -> Iterator[int]:
    """The most characters of each translation: its share of what its text may have; 0: any number."""
    found = iter(translations)
    for item, own in zip(items, segments, strict=True):
        lengths = [len(next(found).text) for _ in own]
        copied = len(item.text.text) - sum(span.end - span.begin for span, _ in own)
        left = max((item.max_length or 0) - copied, 0)
        yield from (left * length // max(sum(lengths), 1) for length in lengths)


def _moved(begin: int, line: str, sentences: Sequence[Sentence]) -> list[Segmented]:
    spans = sentence_spans(line, sentences)
    segments = [sentence.segment for sentence in sentences] if len(spans) > 1 else [Segment(line, "")]
    return [(span.moved(begin), segment) for span, segment in zip(spans, segments, strict=True)]


def _lines(item: InlineItem) -> Iterator[Span]:
    """Where the lines are that have something to translate, without the white space at their ends."""
    text, kept = item.text, atoms(item.text.text, item.text.protected, item.patterns)
    breaks = [match.span() for match in LINE_BREAK.finditer(text.text)]
    borders = [0, *(border for span in breaks for border in span), len(text.text)]
    for begin, end in zip(borders[::2], borders[1::2], strict=True):
        line = text.text[begin:end]
        span = Span(end - len(line.lstrip()), begin + len(line.rstrip()))
        if span.begin < span.end and _has_letters(text.text, kept, span):
            yield span


def _has_letters(text: str, kept: Sequence[tuple[int, int]], line: Span) -> bool:
    """Whether a line has letters outside of what is copied."""
    borders = [line.begin, *(min(max(border, line.begin), line.end) for span in kept for border in span)]
    pairs = zip(borders[::2], [*borders[1::2], line.end], strict=True)
    return any(character.isalpha() for begin, end in pairs for character in text[begin:end])


def _parts(text: str, translated: Sequence[tuple[Span, Segment, Translation]]) -> Iterator[Part]:
    """The parts of a whole text: what is translated, and what is between."""
    at, between = 0, ""
    for number, (span, segment, translation) in enumerate(translated):
        gap = text[at : span.begin]
        yield Part(Span(at, span.begin), between if number and not LINE_BREAK.search(gap) else gap)
        yield Part(span, translation.text, translation)
        at, between = span.end, separator(segment, translation.text)
    yield Part(Span(at, len(text)), text[at:])


def _finished(item: InlineItem, parts: Sequence[Part], inline: InlineText, options: DecodeConfig) -> InlineTranslation:
    """The translation of a whole text, with warnings about what it has not kept."""
    text, limit = item.text, item.max_length
    translations = [part.translation for part in parts if part.translation]
    warnings = [flag for translation in translations for flag in translation.warnings]
    if not any(flag.kind == "placeholder" for flag in warnings):
        warnings += inline_flags(text, inline.text, item.patterns, options)
    if is_crossing(text.codes):
        warnings.append(NESTED)
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
        sum(one.score for one in best) / max(len(best), 1),
        sum(one.log_prob for one in best),
        tuple(token for one in best for token in one.tokens),
        tuple(log_prob for one in best for log_prob in one.log_probs),
    )
    confidences = [line.confidence for line in lines if line.confidence is not None]
    terms = tuple(term for line in lines for term in line.terms)
    match = lines[0].match if len(lines) == 1 else None
    return Translation(source, (whole,), (), terms, min(confidences, default=None), match=match)
