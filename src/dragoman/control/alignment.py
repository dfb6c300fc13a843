"""Which words of a source line the words of its translation come from, by any engine that can score. No torch.

A source word is erased and the translation is scored again: a target word is linked to the source word whose erasure
costs it most (`control.glossary.erasure`). Both engines compute the same, and an export needs nothing for it. The price
is one scoring for each word of the source.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import accumulate

from dragoman.config import DecodeConfig
from dragoman.control.glossary.erasure import erasure_losses
from dragoman.control.search.sentences import Sentence
from dragoman.engine import Engine
from dragoman.text.tokens.tokenizer import Side, Tokenizer
from dragoman.text.words.normalise import normalise
from dragoman.translation import Link, Span, Translation

SPACE = "▁"  # what SentencePiece writes for a space


def add_alignment(
    engine: Engine,
    tokenizer: Tokenizer,
    translations: list[Translation],
    parts: Sequence[Sequence[tuple[Sentence, Translation]]],
    options: DecodeConfig,
) -> list[Translation]:
    """The translations with their alignment, if `options` ask for it; `parts` are the sentences of each line."""
    if not options.alignment:
        return translations
    flat = [(sentence.segment.text, found.text) for line in parts for sentence, found in line]
    links = iter(align_texts(engine, tokenizer, flat))
    aligned = []
    for translation, line in zip(translations, parts, strict=True):
        each = [(sentence.segment.text, found.text, next(links)) for sentence, found in line]
        joined = tuple(_joined(normalise(translation.source), translation.text, each))
        aligned.append(replace(translation, alignment=joined))
    return aligned


def align_texts(engine: Engine, tokenizer: Tokenizer, pairs: Sequence[tuple[str, str]]) -> list[list[Link]]:
    """The links of each pair of normalised texts: each target word with at most one source word."""
    sources = [_words(tokenizer, source, "source") for source, _ in pairs]
    targets = [_words(tokenizer, target, "target") for _, target in pairs]
    erasures = [
        (ids, [[token for token, own in zip(ids, words, strict=True) if own != word]], target)
        for (ids, words, spans), (target, *_) in zip(sources, targets, strict=True)
        for word in range(len(spans))
    ]
    losses = iter(erasure_losses(engine, erasures))
    return [
        list(_strongest([next(losses) for _ in source[2]], source[2], target))
        for source, target in zip(sources, targets, strict=True)
    ]


Words = tuple[list[int], list[int], list[Span]]


def _words(tokenizer: Tokenizer, text: str, side: Side) -> Words:
    """The tokens of a text, the word that each belongs to, and where each word is; a word ends at a space."""
    [ids] = tokenizer.encode([text], side)
    texts = text.split()
    ends = accumulate(len(word) + 1 for word in texts)
    spans = [Span(end - 1 - len(word), end - 1) for word, end in zip(texts, ends, strict=True)]
    begins = accumulate(piece.count(SPACE) for piece in tokenizer.pieces(ids, side))
    return ids, [min(max(begin - 1, 0), len(texts) - 1) for begin in begins], spans


def _strongest(losses: Sequence[Sequence[float]], spans: Sequence[Span], target: Words) -> Iterator[Link]:
    """Each target word with the source word whose erasure costs it most; no link where none costs it anything.

    Of a single source word nothing would be left: every target word comes from it.
    """
    _, words, target_spans = target
    for word, span in enumerate(target_spans):
        totals = [sum(loss for loss, own in zip(row, words, strict=True) if own == word) for row in losses]
        if totals and (max(totals) > 0 or len(totals) == 1):
            yield Link(spans[totals.index(max(totals))], span)


def _joined(source: str, target: str, parts: Sequence[tuple[str, str, Sequence[Link]]]) -> Iterator[Link]:
    """The links of the parts of a line, moved to where the parts are in it."""
    begin = [0, 0]
    for *texts, links in parts:
        found = [max(whole.find(text, at), 0) for whole, text, at in zip((source, target), texts, begin, strict=True)]
        begin = [at + len(text) for at, text in zip(found, texts, strict=True)]
        yield from (Link(link.source.moved(found[0]), link.target.moved(found[1])) for link in links)


def pharaoh(translation: Translation) -> str:
    """The alignment by numbers of words from 0 on, separated by spaces, as `0-0 1-2`: the format of Pharaoh."""
    texts = normalise(translation.source), translation.text
    return " ".join(
        "-".join(str(text[: span.begin].count(" ")) for text, span in zip(texts, link, strict=True))
        for link in translation.alignment
    )
