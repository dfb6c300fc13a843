"""Lines → the sentences that an engine translates, and the translations of the sentences → those of the lines.

A line is divided at line breaks, between sentences, and where one is too long.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from dragoman.control.faults.faults import FLAGS, Languages, is_copy
from dragoman.control.languages import LanguageCheck
from dragoman.engine import Query
from dragoman.errors import ConfigError
from dragoman.system.groups import in_groups
from dragoman.text.segment import WHOLE_SHARE, Segment, divide, separator
from dragoman.text.terms.symbols import Table
from dragoman.text.tokens.marks import NO_MARKS, Marks
from dragoman.text.tokens.tokenizer import UNK, Tokenizer
from dragoman.text.words.normalise import UNSEEN, normalise
from dragoman.translation import Candidate, Flag, Span, Translation

# A retry splits no sentence of fewer tokens: what is left would be no clause.
MIN_PART_TOKENS = 8
# A line break inside of a str ends a sentence; the translation has a space there, and remains one line.
LINE_BREAK = re.compile("[\n\r\v\f\x85\u2028\u2029]+")


@dataclass(frozen=True, slots=True)
class Sentence(Query):
    """The query of a sentence, with its normalised text and the separator between it and the next of its line."""

    text: str = field(kw_only=True)
    separator: str = field(default="", kw_only=True)

    @property
    def segment(self) -> Segment:
        """The text and the separator alone."""
        return Segment(self.text, self.separator)


@dataclass(frozen=True, slots=True)
class Frame:
    """A line as texts that are translated, each by itself, and what is copied before, between and behind them."""

    before: str
    columns: tuple[tuple[str, str], ...] = ()
    """Each text, and what is copied between it and the next, or behind the last."""

    @property
    def text(self) -> str:
        """The whole line."""
        return self.before + "".join(text + behind for text, behind in self.columns)


@dataclass(slots=True, eq=False)
class Line:
    """A line on its way through a translator: what is given first, and what the stages add to it."""

    source: str
    target_prefix: str = ""
    """What its translation begins with."""
    patterns: tuple[str, ...] | None = None
    """Names of the patterns of its placeholders; None: those of the options."""
    literals: tuple[str, ...] = ()
    """Texts that its translation has as often as the line, as they are written."""
    keeps_entities: bool = False
    """Whether `&amp;` is copied, as in the text of a document; otherwise it is read as the character."""
    text: str = field(init=False)
    """What is translated: the source, with symbols for placeholders if the model knows symbols."""
    prefix: str = field(init=False)
    """The target prefix with the same symbols."""
    read: str | None = field(init=False, default=None)
    """The source as it was read, if that is not the source itself: its translation has to keep what is in this."""
    frame: Frame | None = field(init=False, default=None)
    """The parts of `text`, if it is not translated as a whole."""
    hidden: Table = field(init=False, default_factory=dict)
    """What each name replaces that the model sees in place of what it cannot read."""
    in_capitals: bool = field(init=False, default=False)
    """Whether the translation is written in capitals, as the source is."""
    table: Table = field(init=False, default_factory=dict)
    """What each symbol replaces."""
    languages: Languages = field(init=False, default=None)
    sentences: list[Sentence] = field(init=False, default_factory=list)
    counts: tuple[int, ...] = field(init=False, default=())
    """The number of sentences of each text of the frame."""
    parts: list[Translation] = field(init=False, default_factory=list)
    """The translations of the sentences."""
    translation: Translation = field(init=False)

    def __post_init__(self) -> None:
        self.text, self.prefix = self.source, self.target_prefix

    def again(self) -> "Line":
        """The line at the beginning of its way."""
        return Line(self.source, self.target_prefix, self.patterns, self.literals, self.keeps_entities)


def split(
    lines: Sequence[Line], tokenizer: Tokenizer, language: str, marks: Marks, max_tokens: int | None = None
) -> None:
    """Give each line its sentences; the first has the target prefix. Raises ConfigError for a prefix.

    The sentences are those of `split_texts`.
    """
    columns = [[line.text] if line.frame is None else [text for text, _ in line.frame.columns] for line in lines]
    texts = in_groups(lambda flat: split_texts(tokenizer, flat, language, max_tokens, marks), columns)
    for line, groups in zip(lines, texts, strict=True):
        line.sentences = [sentence for group in groups for sentence in group]
        line.counts = tuple(map(len, groups))
    if any(line.prefix for line in lines):
        _add_prefixes(lines, tokenizer, max_tokens)


def _add_prefixes(lines: Sequence[Line], tokenizer: Tokenizer, longest: int | None) -> None:
    distinct = list(dict.fromkeys(line.prefix for line in lines))
    tokens_of = dict(zip(distinct, map(tuple, tokenizer.encode(distinct, "target")), strict=True))
    for line in lines:
        tokens = tokens_of[line.prefix]
        if UNK in tokens:
            raise ConfigError(
                f"target_prefix {line.target_prefix!r}: the model has no token for a character; change it"
            )
        if longest and len(tokens) > longest:
            raise ConfigError(f"target_prefix: {len(tokens):,} tokens; give at most {longest:,}")
        line.sentences[:1] = [replace(first, prefix=tokens) for first in line.sentences[:1]]


def split_texts(
    tokenizer: Tokenizer, texts: Sequence[str], language: str, max_tokens: int | None, marks: Marks = NO_MARKS
) -> list[list[Sentence]]:
    """The sentences of each text, none for a blank one, each of up to `max_tokens`; without them each is one sentence.

    A short text of several sentences stays whole.
    """
    pieces = [_without_breaks(text) if max_tokens else [normalise(text)] for text in texts]
    ids = in_groups(lambda flat: tokenizer.encode(flat, "source"), pieces)
    return [
        list(_sentences(tokenizer, list(zip(some, ids_of_some, strict=True)), language, max_tokens, marks))
        for some, ids_of_some in zip(pieces, ids, strict=True)
    ]


def _without_breaks(text: str) -> list[str]:
    return [part for part in map(normalise, LINE_BREAK.split(text)) if part] if LINE_BREAK.search(text) else [text]


def _sentences(
    tokenizer: Tokenizer,
    pieces: Sequence[tuple[str, list[int]]],
    language: str,
    max_tokens: int | None,
    marks: Marks,
) -> Iterator[Sentence]:
    for number, (text, ids) in enumerate(pieces, 1):
        if not ids:
            continue
        whole = Sentence(ids, (), marks, text=normalise(text))
        *before, last = split_sentence(tokenizer, whole, language, max_tokens)
        yield from before
        yield last if number == len(pieces) else replace(last, separator=" ")


def split_sentence(tokenizer: Tokenizer, sentence: Sentence, language: str, max_tokens: int | None) -> list[Sentence]:
    """The sentences of a line, each of up to `max_tokens` tokens; a short line or a single sentence stays whole."""
    if not max_tokens or len(sentence.source) <= max_tokens * WHOLE_SHARE:
        return [sentence]
    counts = {sentence.text: len(sentence.source)}  # most lines are one sentence: they are not encoded twice

    def count(part: str) -> int:
        return counts.get(part) or len(tokenizer.encode([part], "source")[0])

    divided = divide(sentence.text, language, max_tokens, count)
    if len(divided) == 1:
        return [sentence]
    *parts, end = map(Segment.of, divided)
    parts.append(Segment(end.text, sentence.separator or end.separator))
    ids = tokenizer.encode([part.text for part in parts], "source")
    prefixes = [sentence.prefix, *[()] * (len(parts) - 1)]
    return [
        replace(sentence, source=source, prefix=prefix, text=part.text, separator=part.separator)
        for source, prefix, part in zip(ids, prefixes, parts, strict=True)
    ]


def halve(tokenizer: Tokenizer, sentence: Sentence, language: str) -> list[Sentence]:
    """The sentence in two parts or more, unless it is short."""
    return split_sentence(tokenizer, sentence, language, max(len(sentence.source) // 2, MIN_PART_TOKENS))


def sentence_spans(line: str, sentences: Sequence[Sentence]) -> list[Span]:
    """Where the sentences of a line are in it, as it was before it was normalised, without the spaces around them."""
    sizes = [visible(sentence.text) for sentence in sentences]
    if len(sizes) < 2 or sum(sizes) != visible(line):
        return [Span(len(line) - len(line.lstrip()), len(line.rstrip()))] if line.strip() else []
    spans, begin, seen = list[Span](), 0, 0
    for at, character in enumerate(line):
        size = visible(character)
        if size and not seen:
            begin = at
        seen += size
        if size and seen == sizes[len(spans)]:
            spans.append(Span(begin, at + 1))
            seen = 0
    return spans if len(spans) == len(sizes) else [Span(0, len(line))]


def visible(text: str) -> int:
    """The number of characters that normalising neither removes nor joins."""
    return len("".join(unicodedata.normalize("NFD", UNSEEN.sub("", text)).split()))


def join(lines: Sequence[Line], check: LanguageCheck | None) -> None:
    """Give each line the translation that those of its sentences make, with the warnings about whole lines."""
    for line in lines:
        line.translation = _joined(line, check)


def _joined(line: Line, check: LanguageCheck | None) -> Translation:
    """The translation of a whole line; a blank line, which has no sentences, has a blank translation."""
    sentences, text = line.sentences, line.text
    if not sentences:
        copied = Translation(text, (Candidate(line.frame.text if line.frame else "", 0.0, 0.0),))
        return replace(copied, warnings=tuple(check.source_flags(text))) if check and line.frame else copied
    whole = whole_translation(line, line.parts)
    warnings = list(whole.warnings)
    if is_copy(text, whole.text):
        warnings.append(FLAGS["copy"])
    if check:
        warnings += check.flags(text, [token for sentence in sentences for token in sentence.source], whole.text)
    if len(sentences) > len(line.counts):
        warnings.append(Flag("segmented", f"translated in {len(sentences)} parts"))
    return replace(whole, warnings=tuple(warnings)) if len(warnings) > len(whole.warnings) else whole


def whole_translation(line: Line, parts: Sequence[Translation]) -> Translation:
    """The translation of a line from those of its sentences, with what its frame has around them."""
    if line.frame is None:
        return join_translations(line.text, line.sentences, parts)
    columns, at = list[Translation](), 0
    for (text, _), count in zip(line.frame.columns, line.counts, strict=True):
        span = slice(at, at + count)
        blank = Translation(text, (Candidate("", 0.0, 0.0),))
        columns.append(join_translations(text, line.sentences[span], parts[span]) if count else blank)
        at += count
    warnings = dict.fromkeys(flag for column in columns for flag in column.warnings)
    terms = tuple(term for column in columns for term in column.terms)
    candidates = tuple(_framed(line.frame, ranked) for ranked in _by_rank(columns))
    return Translation(line.text, candidates, tuple(warnings), terms)


def _framed(frame: Frame, candidates: Sequence[Candidate]) -> Candidate:
    """The columns of one rank as a line."""
    pairs = zip(candidates, frame.columns, strict=True)
    return _together(frame.before + "".join(candidate.text + behind for candidate, (_, behind) in pairs), candidates)


def join_translations(text: str, sentences: Sequence[Sentence], translations: Sequence[Translation]) -> Translation:
    """The translation of `text` from those of its sentences, of which there is at least one; see `Candidate`."""
    if len(translations) == 1:
        candidates = translations[0].candidates
    else:
        candidates = tuple(_join(sentences, ranked) for ranked in _by_rank(translations))
    warnings = dict.fromkeys(flag for translation in translations for flag in translation.warnings)
    terms = tuple(term for translation in translations for term in translation.terms)
    return Translation(text, candidates, tuple(warnings), terms)


def _by_rank(translations: Sequence[Translation]) -> Iterator[list[Candidate]]:
    """The best candidates of all translations, then the second ones, …; a translation with fewer repeats its last."""
    lists = [translation.candidates for translation in translations]
    for rank in range(max(map(len, lists))):
        yield [candidates[min(rank, len(candidates) - 1)] for candidates in lists]


def _join(sentences: Sequence[Sentence], candidates: Sequence[Candidate]) -> Candidate:
    pairs = zip(sentences, candidates, strict=True)
    texts = (candidate.text + separator(sentence.segment, candidate.text) for sentence, candidate in pairs)
    return _together(normalise("".join(texts)), candidates)


def _together(text: str, candidates: Sequence[Candidate]) -> Candidate:
    """A text that these candidates make."""
    return Candidate(
        text,
        sum(candidate.score for candidate in candidates) / len(candidates),
        sum(candidate.log_prob for candidate in candidates),
        tuple(token for candidate in candidates for token in candidate.tokens),
        tuple(log_prob for candidate in candidates for log_prob in candidate.log_probs),
    )
