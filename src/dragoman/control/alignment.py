"""Which words of a source line the words of its translation come from, by any engine that can score.

A source word is erased and the translation is scored again: a target word is linked to the source word whose erasure
costs it most (Li et al. 2016). To erase each word by itself takes a scoring for each (`control.glossary.erasure`): that
is done only for an engine that has no attention.

Attention alone links more words wrongly than erasure, but what it confuses are few words. So words that no target word
attends to together are erased together, in four groups or in as many as have four words at most. A target word loses
by the erasure of the group that its source word is in, and which word of the group that is, attention says. This takes
a third of the scorings and links better (decision 72).
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import accumulate

import numpy as np

from dragoman.control.glossary.erasure import erasure_losses
from dragoman.control.inline.evidence import clear_attention
from dragoman.control.inline.placement import Weights
from dragoman.control.search.sentences import Line
from dragoman.engine import Attention, Engine, Ids, Query
from dragoman.system.groups import in_groups
from dragoman.text.tokens.marks import NO_MARKS, Marks
from dragoman.text.tokens.model_file import SPACE
from dragoman.text.tokens.tokenizer import Side, Tokenizer
from dragoman.text.words.normalise import normalise
from dragoman.translation import Link, Span, Translation

# Source words are erased in this many groups, or in more where one would have more than TOGETHER words.
GROUPS, TOGETHER = 4, 4

Words = tuple[list[int], list[int], list[Span]]


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
    full = [
        n for n, both in enumerate(zip(sources, targets, strict=True)) if all(ids and spans for ids, _, spans in both)
    ]
    wanted = [Query(sources[n][0], (), marks) for n in full]
    attentions = engine.attention(wanted, [targets[n][0] for n in full]) if full else []
    if attentions is None:
        return _by_each_word(engine, sources, targets, marks)
    shares = [_word_shares(rows, sources[n], targets[n]) for n, rows in zip(full, attentions, strict=True)]
    groups = [erased_together(share) for share in shares]
    variants = [_without(sources[n], of_pair) for n, of_pair in zip(full, groups, strict=True)]
    flat = [
        (Query(ids, (), marks), targets[n][0]) for n, of_pair in zip(full, variants, strict=True) for ids in of_pair
    ]
    scored = iter(engine.score([query for query, _ in flat], [target for _, target in flat]) if flat else [])
    links: list[list[Link]] = [[] for _ in pairs]
    for n, share, of_pair, erased in zip(full, shares, groups, variants, strict=True):
        rows = [next(scored)[: len(targets[n][0])] for _ in erased]
        strength = share * _losses(rows, targets[n])[:, _group_of(of_pair)] if rows else share
        links[n] = [*_chosen(np.where(strength.max(1, keepdims=True) > 0, strength, share), sources[n], targets[n])]
    return links


def erased_together(share: Weights) -> list[list[int]]:
    """The source words in groups: no word with one that the same target words attend to, as far as possible.

    `share` is how much each target word attends to each source word.
    """
    words = share.shape[1]
    count = min(words, max(GROUPS, -(-words // TOGETHER)))
    most = -(-words // count)
    groups = [[word] for word in range(count)]
    together = share[:, :count].T @ share  # (groups, words): how much a word is attended to with those of a group
    for word in range(count, words):
        free = [n for n, group in enumerate(groups) if len(group) < most]
        chosen = min(free, key=lambda n: (together[n, word], len(groups[n])))
        groups[chosen].append(word)
        together[chosen] += share[:, word] @ share
    return groups


def _without(source: Words, groups: Sequence[Sequence[int]]) -> list[Ids]:
    """The source without each group of its words; nothing of a single word, of which nothing would be left."""
    ids, words, _ = source
    if len(groups) < 2:
        return []
    erased = [{*group} for group in groups]
    return [[token for token, word in zip(ids, words, strict=True) if word not in group] or ids for group in erased]


def _group_of(groups: Sequence[Sequence[int]]) -> list[int]:
    """The group of each word."""
    return [group for _, group in sorted((word, n) for n, words in enumerate(groups) for word in words)]


def _word_shares(attention: Attention, source: Words, target: Words) -> Weights:
    """(target words, source words): how much each target word attends to each source word."""
    share: Weights = _members(target) @ clear_attention(attention) @ _members(source).T
    return share / np.maximum(share.sum(1, keepdims=True), 1e-9)


def _losses(rows: Sequence[Sequence[float]], target: Words) -> Weights:
    """(target words, groups): the nats that a word loses by each erasure, as compared with the kindest of them."""
    log_probs = np.array(rows)
    return _members(target) @ (log_probs.max(0) - log_probs).T


def _members(words: Words) -> Weights:
    """(words, tokens): whether a token is one of a word."""
    _, of_token, spans = words
    return np.equal.outer(np.arange(len(spans)), of_token).astype(float)


def _chosen(strength: Weights, source: Words, target: Words) -> Iterator[Link]:
    """Each target word with its strongest source word."""
    for span, row in zip(target[2], strength, strict=True):
        if row.max(initial=0.0) > 0:
            yield Link(source[2][int(row.argmax())], span)


def _by_each_word(engine: Engine, sources: Sequence[Words], targets: Sequence[Words], marks: Marks) -> list[list[Link]]:
    """The links of each pair by erasing each word of its source."""
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
