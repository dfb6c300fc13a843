"""How much each unit of a translation comes from each stretch of its source, by any engine.

The engine's attention says it, in one forced decoding of the translation (`Engine.attention`). Where an engine has none
that aligns, a stretch is erased from the source and the translation is scored again: what it loses comes from the
stretch (`control.glossary.erasure`), at the price of one scoring for each stretch. Only the stretches between codes are
erased, not each word: two for a tag, and one for what is before it.
"""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from dragoman.control.glossary.erasure import erasure_losses
from dragoman.control.inline.placement import Weights
from dragoman.control.search.sentences import visible
from dragoman.engine import Attention, Engine, Query, queries
from dragoman.system.groups import in_groups
from dragoman.text.tokens.marks import NO_MARKS, Marks
from dragoman.text.tokens.model_file import SPACE
from dragoman.text.tokens.tokenizer import Side, Tokenizer
from dragoman.text.words.normalise import normalise
from dragoman.translation import Span

# How fast the weight decreases with the difference of relative positions, where positions are all there is.
SHARPNESS = 8.0
# Attention to a source token that every target token attends to counts less, and a clear choice more.
SPREAD, CLARITY = 0.5, 1.5


@dataclass(frozen=True, slots=True)
class SentencePair:
    """A sentence and its translation, each with where its stretches and its units are."""

    source: str
    stretches: Sequence[Span]
    target: str
    units: Sequence[Span]


def by_attention(
    engine: Engine, tokenizer: Tokenizer, pairs: Sequence[SentencePair], marks: Marks = NO_MARKS
) -> list[Weights]:
    """(target units, stretches) for each pair: shares of 1; by erasure with an engine that has no attention."""
    targets = tokenizer.encode([pair.target for pair in pairs], "target")
    sources = tokenizer.encode([pair.source for pair in pairs], "source")
    full = [n for n, ids in enumerate(zip(sources, targets, strict=True)) if all(ids)]
    wanted = queries([sources[n] for n in full], marks)
    attentions = engine.attention(wanted, [targets[n] for n in full]) if full else []
    if attentions is None:
        return by_erasure(engine, tokenizer, pairs, marks)
    weights = [by_position(pair) for pair in pairs]
    for n, attention in zip(full, attentions, strict=True):
        pair = pairs[n]
        columns = raw_spans(pair.source, token_spans(tokenizer, normalise(pair.source), sources[n], "source"))
        rows = token_spans(tokenizer, pair.target, targets[n], "target")
        masses = _shares(pair.units, rows) @ clear_attention(attention) @ _shares(pair.stretches, columns).T
        weights[n] = _normalised(masses, weights[n])
    return weights


def clear_attention(attention: Attention) -> Weights:
    """Attention without what every target token attends to, each row a share of 1."""
    weights = attention.astype(float)
    weights = (weights / np.maximum(weights.sum(0, keepdims=True), 1e-6) ** SPREAD) ** CLARITY
    return weights / np.maximum(weights.sum(1, keepdims=True), 1e-9)


def by_erasure(
    engine: Engine, tokenizer: Tokenizer, pairs: Sequence[SentencePair], marks: Marks = NO_MARKS
) -> list[Weights]:
    """(target units, stretches) for each pair: shares of 1, those of `by_position` where an erasure changes nothing."""
    targets = tokenizer.encode([pair.target for pair in pairs], "target")
    sources = tokenizer.encode([pair.source for pair in pairs], "source")
    erased = [
        tokenizer.encode([pair.source[:begin] + pair.source[end:] for begin, end in pair.stretches], "source")
        for pair in pairs
    ]
    erasures = [
        [(Query(source, (), marks), [variant], target) for variant in variants]
        for source, variants, target in zip(sources, erased, targets, strict=True)
    ]
    return [
        _weights(pair, losses, token_spans(tokenizer, pair.target, target, "target"))
        for pair, losses, target in zip(
            pairs, in_groups(lambda flat: erasure_losses(engine, flat), erasures), targets, strict=True
        )
    ]


def _weights(pair: SentencePair, losses: Sequence[Sequence[float]], tokens: Sequence[Span]) -> Weights:
    usual = by_position(pair)
    if not losses or not tokens or not pair.units:
        return usual
    return _normalised(_shares(pair.units, tokens) @ np.clip(np.array(losses).T, 0.0, None), usual)


def _shares(spans: Sequence[Span], tokens: Sequence[Span]) -> Weights:
    """(spans, tokens): which share of the characters of each token is in each span."""
    if not spans:
        return np.zeros((0, len(tokens)))
    begins, ends = (np.array(side) for side in zip(*tokens, strict=True))
    borders = np.array([[begin, end] for begin, end in spans])
    overlap = np.minimum(borders[:, 1:], ends) - np.maximum(borders[:, :1], begins)
    return np.clip(overlap, 0, None) / np.maximum(ends - begins, 1)


def _normalised(masses: Weights, usual: Weights) -> Weights:
    """Rows as shares of 1, the usual ones where there is nothing."""
    total = masses.sum(1, keepdims=True)
    return np.where(total > 0, masses / np.where(total > 0, total, 1.0), usual)


def by_position(pair: SentencePair) -> Weights:
    """Units and stretches at the same relative position belong together, and what is written alike."""
    places = [
        np.array([(begin + end) / 2 for begin, end in spans]) / max(len(text), 1)
        for text, spans in ((pair.source, pair.stretches), (pair.target, pair.units))
    ]
    weights: Weights = np.exp(-SHARPNESS * np.abs(places[1][:, None] - places[0][None]))
    return weights / np.maximum(weights.sum(1, keepdims=True), 1e-9)


def token_spans(tokenizer: Tokenizer, text: str, ids: Sequence[int], side: Side) -> list[Span]:
    """The characters of `text`, which is normalised, that each of its tokens writes.

    A character of several tokens belongs to all of them. What a tokenizer writes differently counts as it writes it.
    """
    spans, at, pending = list[Span](), 0, b""
    for piece in tokenizer.pieces(ids, side):
        if piece.startswith("<0x") and len(piece) == 6:
            pending += bytes([int(piece[3:5], 16)])
            spans.append(Span(at, min(at + 1, len(text))))
            if at < len(text) and pending == text[at].encode():
                at, pending = at + 1, b""
            continue
        written = piece.lstrip(SPACE) if at == 0 else piece.replace(SPACE, " ")
        begin = at + len(written) - len(written.lstrip())
        at = min(at + len(written), len(text))
        spans.append(Span(min(begin, at), at))
    return spans


def raw_spans(text: str, spans: Sequence[Span]) -> list[Span]:
    """Where spans of the normalised text are in the text as it is, by counting what is visible."""
    normalised = normalise(text)
    if normalised == text:
        return list(spans)
    after = list(accumulate(map(visible, text)))
    before = [0, *accumulate(map(visible, normalised))]
    if not after or after[-1] != before[-1]:  # letters were composed: no character by itself is
        scale = len(text) / max(len(normalised), 1)
        return [Span(round(begin * scale), round(end * scale)) for begin, end in spans]
    return [
        Span(bisect_left(after, before[begin] + 1), bisect_left(after, before[end]) + 1) if end > begin else Span(0, 0)
        for begin, end in spans
    ]
