"""Which words of a source line the words of its translation come from, by any engine that can score.

A source word is erased and the translation is scored again: a target word is linked to the source word whose erasure
costs it most (`control.glossary.erasure`). Both engines compute the same, and an export needs nothing for it. The price
is one scoring for each word of the source.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import accumulate

from dragoman.control.glossary.erasure import erasure_losses
from dragoman.control.search.sentences import Line
from dragoman.engine import Engine, Query
from dragoman.system.groups import in_groups
from dragoman.text.tokens.marks import NO_MARKS, Marks
from dragoman.text.tokens.model_file import SPACE
from dragoman.text.tokens.tokenizer import Side, Tokenizer
from dragoman.text.words.normalise import normalise
from dragoman.translation import Link, Span, Translation


def align(lines: Sequence[Line], engine: Engine, tokenizer: Tokenizer, marks: Marks) -> None:
    """Give the translation of each line its alignment."""
    pairs = [
        [(sentence.text, part.text) for sentence, part in zip(line.sentences, line.parts, strict=True)]
        for line in lines
    ]
    aligned = in_groups(lambda flat: align_texts(engine, tokenizer, flat, marks), pairs)
    for line, of_line, links in zip(lines, pairs, aligned, strict=True):
        parts = [(*pair, of_pair) for pair, of_pair in zip(of_line, links, strict=True)]
        joined = tuple(_joined(normalise(line.text), line.translation.text, parts))
        line.translation = replace(line.translation, alignment=joined)


def align_texts(
    engine: Engine, tokenizer: Tokenizer, pairs: Sequence[tuple[str, str]], marks: Marks = NO_MARKS
) -> list[list[Link]]:
    """The links of each pair of normalised texts: each target word with at most one source word."""
    sources = [_words(tokenizer, source, "source") for source, _ in pairs]
    targets = [_words(tokenizer, target, "target") for _, target in pairs]
    erasures = [
        [
            (Query(ids, (), marks), [[token for token, other in zip(ids, words, strict=True) if other != word]], target)
            for word in range(len(spans))
        ]
        for (ids, words, spans), (target, *_) in zip(sources, targets, strict=True)
    ]
    losses = in_groups(partial(erasure_losses, engine), erasures)
    return [
        list(_strongest(of_pair, source[2], target))
        for of_pair, source, target in zip(losses, sources, targets, strict=True)
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
        totals = [sum(loss for loss, other in zip(row, words, strict=True) if other == word) for row in losses]
        if totals and (max(totals) > 0 or len(totals) == 1):
            yield Link(spans[totals.index(max(totals))], span)


def _joined(source: str, target: str, parts: Sequence[tuple[str, str, Sequence[Link]]]) -> Iterator[Link]:
    """The links of the parts of a line, moved to where the parts are in it."""
    begin = [0, 0]
    for *texts, links in parts:
        places = [max(whole.find(text, at), 0) for whole, text, at in zip((source, target), texts, begin, strict=True)]
        begin = [at + len(text) for at, text in zip(places, texts, strict=True)]
        yield from (Link(link.source.moved(places[0]), link.target.moved(places[1])) for link in links)


def pharaoh(translation: Translation) -> str:
    """The alignment by numbers of words from 0 on, separated by spaces, as `0-0 1-2`: the format of Pharaoh."""
    texts = normalise(translation.source), translation.text
    return " ".join(
        "-".join(str(len(text[: span.begin].split())) for text, span in zip(texts, link, strict=True))
        for link in translation.alignment
    )
