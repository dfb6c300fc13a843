"""The reference's beam search without tensors, over an engine that reports the logits of the next token.

CTranslate2's own search differs from the reference under some options (`docs/decisions/0019-parity.md`); with
`decode.exact` this one takes its place there. It is `decode.search` and `decode.constraints` for one sentence. The
logits come from forced decoding: the engine decodes a prefix, then continues greedily for a few tokens. Most hypotheses
continue as greedy search does, so the logits of the continuation are kept, and a search takes fewer calls than a
translation has tokens.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dragoman.config import DecodeConfig
from dragoman.decode.hypothesis import FORBIDDEN_IDS, Hypothesis, length_penalty
from dragoman.engine import Query
from dragoman.text.tokens.tokenizer import EOS

Tokens = tuple[int, ...]
Logits = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Continuation:
    """A query whose prefix is decoded and then continued up to `length` tokens."""

    query: Query
    length: int


@dataclass(frozen=True, slots=True)
class ForcedDecoding:
    """A prefix with its continuation, and the logits of each of these tokens, EOS among them: (V,)."""

    tokens: Tokens
    logits: Sequence[Logits]


Decode = Callable[[Sequence[Continuation]], Sequence[ForcedDecoding]]


@dataclass(slots=True)
class SentenceSearch:
    """The search of one sentence, whose translation has up to `limit` tokens."""

    query: Query
    limit: int
    options: DecodeConfig
    candidates: NDArray[np.int64] | None = None
    """The ids that the translation may use, ascending; None: all."""
    unfinished: list[tuple[Tokens, float]] = field(init=False)
    """Hypotheses and their log P, the best first."""
    finished: list[tuple[Tokens, float]] = field(init=False, default_factory=list)
    logits: dict[Tokens, Logits] = field(init=False, default_factory=dict)
    """What may follow: of the unfinished hypotheses, and of what they may become."""

    def __post_init__(self) -> None:
        self.unfinished = [(self.query.prefix, 0.0)]

    def continuations(self, lookahead: int) -> list[Continuation]:
        """What must be decoded before the next step."""
        source, marks = self.query.source, self.query.marks
        missing = [tokens for tokens, _ in self.unfinished if tokens not in self.logits]
        return [
            Continuation(Query(source, tokens, marks), min(len(tokens) + lookahead, self.limit) + 1)
            for tokens in missing
        ]

    def learn(self, decoded: ForcedDecoding) -> None:
        """Keep the logits of the continuation. The first time, log P of the prefix is summed."""
        start = len(self.unfinished[0][0])
        if not self.logits and start == len(self.query.prefix):
            forced = zip(self.query.prefix, decoded.logits, strict=False)
            self.unfinished = [(self.query.prefix, sum(float(self._log_probs(row)[token]) for token, row in forced))]
        for length in range(start, len(decoded.logits)):
            self.logits.setdefault(decoded.tokens[:length], decoded.logits[length])

    def advance(self) -> None:
        """Extend every hypothesis by one token; keep the `beam` best unfinished ones."""
        beam = self.options.beam
        extensions = [
            ((*tokens, token), log_prob + value)
            for tokens, log_prob in self.unfinished
            for token, value in self._extensions(tokens)
        ]
        extensions = sorted(extensions, key=lambda extension: -extension[1])[: 2 * beam]
        self.finished += [(tokens[:-1], log_prob) for tokens, log_prob in extensions[:beam] if tokens[-1] == EOS]
        self.unfinished = [extension for extension in extensions if extension[0][-1] != EOS][:beam]
        if len(self.finished) >= beam:
            self.unfinished = []
        started = {tokens for tokens, _ in self.unfinished}
        length = len(next(iter(started), ()))
        self.logits = {key: row for key, row in self.logits.items() if key[:length] in started}

    def log_prob(self, decoded: ForcedDecoding) -> float:
        """log P of the prefix as a whole translation, EOS included."""
        self.learn(decoded)
        [(tokens, log_prob)] = self.unfinished
        return log_prob + float(self._log_probs(self.logits[tokens])[EOS])

    def ends_behind_prefix(self) -> bool:
        """Whether EOS is, right after the prefix, among the `beam` likeliest tokens but not the likeliest."""
        best = [token for token, _ in self._extensions(self.query.prefix)[: self.options.beam]]
        return EOS in best[1:]

    def hypotheses(self) -> list[Hypothesis]:
        """The finished hypotheses, best score first, as `decode.search.rank` orders them."""
        likeliest = sorted(self.finished, key=lambda ended: -ended[1])[: self.options.beam]
        alpha = self.options.length_penalty
        ranked = [
            Hypothesis(tokens, log_prob, log_prob / length_penalty(len(tokens) + 1, alpha))
            for tokens, log_prob in likeliest
        ]
        return sorted(ranked, key=lambda hypothesis: -hypothesis.score)[: self.options.n_best]

    def _extensions(self, tokens: Tokens) -> list[tuple[int, float]]:
        """The likeliest tokens that may follow, likeliest first, and their log P: see `decode.constraints`."""
        log_probs = self._log_probs(self.logits[tokens])
        end = (EOS, float(log_probs[EOS]))
        if len(tokens) >= self.limit:
            return [end]
        if len(tokens) < self.options.min_length:
            log_probs[EOS] = -np.inf
        if n := self.options.no_repeat_ngram:
            log_probs[_repeating(tokens, n)] = -np.inf
        count = min(2 * self.options.beam if self.options.beam > 1 else 1, len(log_probs))
        best = np.argpartition(-log_probs, count - 1)[:count]
        best = best[np.lexsort((best, -log_probs[best]))]
        possible = [(int(token), float(log_probs[token])) for token in best if np.isfinite(log_probs[token])]
        return possible or [end]

    def _log_probs(self, logits: Logits) -> NDArray[np.float64]:
        values = logits.astype(np.float64)
        values[list(FORBIDDEN_IDS)] = -np.inf
        if self.candidates is not None:
            allowed = np.full_like(values, -np.inf)
            allowed[self.candidates] = values[self.candidates]
            values = allowed
        largest = values.max()
        return values - (largest + np.log(np.exp(values - largest).sum()))


def _repeating(tokens: Tokens, n: int) -> list[int]:
    """The tokens after which the last n tokens would equal n tokens before them."""
    last = tokens[len(tokens) - n + 1 :]
    return [tokens[end] for end in range(n - 1, len(tokens)) if tokens[end - n + 1 : end] == last]


def search_stepwise(search: SentenceSearch, decode: Decode, lookahead: int) -> None:
    """Search to the end, `lookahead` tokens at a time where greedy search goes the same way."""
    while search.unfinished:
        if wanted := search.continuations(lookahead):
            for decoded in decode(wanted):
                search.learn(decoded)
        search.advance()
