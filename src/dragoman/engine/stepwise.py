"""The reference's beam search without tensors, over an engine that reports the logits of the next token. No torch.

CTranslate2's own search differs from the reference under some options (`docs/decisions/0019-parity.md`); there, this
one takes its place. It is `decode.search` and `decode.constraints` for one sentence. The logits come from forced
decoding: the engine decodes a prefix, then continues greedily for a few tokens. Most hypotheses continue as greedy
search does, so the logits of the continuation are kept, and a search takes fewer calls than a translation has tokens.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dragoman.config import DecodeConfig
from dragoman.decode.hypothesis import FORBIDDEN_IDS, Hypothesis, length_penalty
from dragoman.engine import Ids
from dragoman.text.tokens.marks import NO_MARKS, Marks
from dragoman.text.tokens.tokenizer import EOS

Tokens = tuple[int, ...]
Logits = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Request:
    """A source, a prefix of its translation, and the length up to which to continue it."""

    source_ids: Ids
    prefix: Tokens
    length: int
    marks: Marks = NO_MARKS


@dataclass(frozen=True, slots=True)
class Decoded:
    """The prefix of a request and its continuation, and the logits of each of these tokens, EOS among them: (V,)."""

    tokens: Tokens
    logits: Sequence[Logits]


Decode = Callable[[Sequence[Request]], Sequence[Decoded]]


@dataclass(slots=True)
class SentenceSearch:
    """The search of one sentence, whose translation begins with `target_prefix` and has up to `limit` tokens."""

    source_ids: Ids
    target_prefix: Tokens
    limit: int
    options: DecodeConfig
    candidates: NDArray[np.int64] | None = None
    """The ids that the translation may use, ascending; None: all."""
    marks: Marks = NO_MARKS
    unfinished: list[tuple[Tokens, float]] = field(init=False)
    """Hypotheses and their log P, the best first."""
    finished: list[tuple[Tokens, float]] = field(init=False, default_factory=list)
    logits: dict[Tokens, Logits] = field(init=False, default_factory=dict)
    """What may follow: of the unfinished hypotheses, and of what they may become."""

    def __post_init__(self) -> None:
        self.unfinished = [(self.target_prefix, 0.0)]

    def requests(self, lookahead: int) -> list[Request]:
        """What must be decoded before the next step."""
        missing = [tokens for tokens, _ in self.unfinished if tokens not in self.logits]
        lengths = [min(len(it) + lookahead, self.limit) + 1 for it in missing]
        return [Request(self.source_ids, it, n, self.marks) for it, n in zip(missing, lengths, strict=True)]

    def learn(self, decoded: Decoded) -> None:
        """Keep the logits of the continuation. The first time, log P of the prefix is summed."""
        start = len(self.unfinished[0][0])
        if not self.logits and start == len(self.target_prefix):
            forced = zip(self.target_prefix, decoded.logits, strict=False)
            self.unfinished = [(self.target_prefix, sum(float(self._log_probs(row)[token]) for token, row in forced))]
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

    def ends_behind_prefix(self) -> bool:
        """Whether EOS is, right after the prefix, among the `beam` likeliest tokens but not the likeliest."""
        best = [token for token, _ in self._extensions(self.target_prefix)[: self.options.beam]]
        return EOS in best[1:]

    def hypotheses(self) -> list[Hypothesis]:
        """Those found, best score first: see `decode.search.rank`."""
        likeliest = sorted(self.finished, key=lambda found: -found[1])[: self.options.beam]
        alpha = self.options.length_penalty
        found = [Hypothesis(it, log_prob, log_prob / length_penalty(len(it) + 1, alpha)) for it, log_prob in likeliest]
        return sorted(found, key=lambda hypothesis: -hypothesis.score)[: self.options.n_best]

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
        found = [(int(token), float(log_probs[token])) for token in best if np.isfinite(log_probs[token])]
        return found or [end]

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


def search_stepwise(searches: Sequence[SentenceSearch], decode: Decode, lookahead: int) -> None:
    """Search all sentences together, step by step."""
    while running := [search for search in searches if search.unfinished]:
        requests = [(search, request) for search in running for request in search.requests(lookahead)]
        if requests:
            decoded = decode([request for _, request in requests])
            for (search, _), one in zip(requests, decoded, strict=True):
                search.learn(one)
        for search in running:
            search.advance()
