"""Lines → the sentences that an engine translates: at line breaks, between sentences, and where one is too long."""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import repeat

from dragoman.control.search.sentences import Sentence
from dragoman.text.segment import WHOLE_SHARE, Segment, segments
from dragoman.text.tokens.tokenizer import Tokenizer
from dragoman.text.words.normalise import INVISIBLE, normalise
from dragoman.translation import Span

# A retry splits no sentence of fewer tokens: what is left would be no clause.
MIN_PART_TOKENS = 8
# A line break inside of a str ends a sentence; the translation has a space there, and remains one line.
LINE_BREAK = re.compile("[\n\r\v\f\x85\u2028\u2029]+")


def encode_lines(
    tokenizer: Tokenizer,
    lines: Sequence[str],
    language: str,
    max_tokens: int | None,
    prefixes: Iterable[tuple[int, ...]] | None = None,
) -> list[list[Sentence]]:
    """The sentences of each line, none for a blank one, each of up to `max_tokens`.

    The first has the prefix of its line, if there are `prefixes`. Without `max_tokens` each line is one sentence.
    """
    texts = [_texts(line) if max_tokens else [normalise(line)] for line in lines]
    ids = iter(tokenizer.encode([text for several in texts for text in several], "source"))
    return [
        list(_sentences(tokenizer, several, ids, language, max_tokens, prefix))
        for several, prefix in zip(texts, prefixes or repeat(()), strict=False)
    ]


def _texts(line: str) -> list[str]:
    return [text for text in map(normalise, LINE_BREAK.split(line)) if text] if LINE_BREAK.search(line) else [line]


def _sentences(
    tokenizer: Tokenizer,
    texts: Sequence[str],
    ids: Iterator[list[int]],
    language: str,
    max_tokens: int | None,
    prefix: tuple[int, ...],
) -> Iterator[Sentence]:
    for number, text in enumerate(texts, 1):
        whole = Sentence(Segment(normalise(text), ""), next(ids), prefix if number == 1 else ())
        if not whole.source_ids:
            continue
        *before, last = split_sentence(tokenizer, whole, language, max_tokens)
        yield from before
        yield last if number == len(texts) else replace(last, segment=Segment(last.segment.text, " "))


def split_sentence(tokenizer: Tokenizer, sentence: Sentence, language: str, max_tokens: int | None) -> list[Sentence]:
    """The sentences of a line, each of up to `max_tokens` tokens; a short line or a single sentence stays whole."""
    if not max_tokens or len(sentence.source_ids) <= max_tokens * WHOLE_SHARE:
        return [sentence]
    text = sentence.segment.text
    known = {text: len(sentence.source_ids)}  # most lines are one sentence: they are not encoded twice

    def count(part: str) -> int:
        return known.get(part) or len(tokenizer.encode([part], "source")[0])

    parts = segments(text, language, max_tokens, count)
    if len(parts) == 1:
        return [sentence]
    *parts, end = parts
    parts.append(Segment(end.text, sentence.segment.separator or end.separator))
    ids = tokenizer.encode([part.text for part in parts], "source")
    first, *rest = map(Sentence, parts, ids)
    return [replace(first, target_prefix=sentence.target_prefix), *rest]


def halve(tokenizer: Tokenizer, sentence: Sentence, language: str) -> list[Sentence]:
    """The sentence in two parts or more, unless it is short."""
    return split_sentence(tokenizer, sentence, language, max(len(sentence.source_ids) // 2, MIN_PART_TOKENS))


def sentence_spans(line: str, sentences: Sequence[Sentence]) -> list[Span]:
    """Where the sentences of a line are in it, as it was before it was normalised, without the spaces around them."""
    sizes = [visible(sentence.segment.text) for sentence in sentences]
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
    return len("".join(unicodedata.normalize("NFD", INVISIBLE.sub("", text)).split()))
