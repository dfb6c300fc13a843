"""Subword regularisation: random segmentations, so that training shows a word in more than one segmentation.

Input: normalised text and a random generator. Output: token ids. With a unigram model, one of all segmentations is
drawn (Kudo 2018, section 3); with a BPE model, merges are skipped at random (BPE-dropout, Provilkov et al. 2020,
algorithm 1).

SentencePiece can sample too, but not reproducibly: with the same `set_random_generator_seed` it draws other pieces in
another process (version 0.2.3, one thread, both kinds of models), so that a resumed run would differ and the processes
of a run would disagree. Here all randomness comes from the given `random.Random`. Validation and translation use
SentencePiece's own encoding, with which the tests compare this one.
"""

import random
import re
from bisect import bisect
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from heapq import heappop, heappush
from itertools import accumulate, chain, repeat
from math import exp, log, log1p

from dragoman.errors import ModelError
from dragoman.text.tokens.model_file import (
    ADD_DUMMY_PREFIX,
    BPE,
    BYTE,
    CHARACTER_MAP,
    MODEL_TYPE,
    NORMAL,
    NORMALIZER_SPEC,
    SPACE,
    TRAINER_SPEC,
    UNKNOWN,
    USER_DEFINED,
    model_pieces,
    section,
)

# Number and maximum length of the words whose segmentations are cached: text without spaces has long "words" that
# hardly ever occur again.
CACHE_SIZE, CACHED_LENGTH = 1 << 15, 32


@lru_cache(maxsize=4)
def sampler(serialized: bytes, rate: float) -> "Sampler":
    """The sampler of a SentencePiece model, cached."""
    return Sampler(serialized, rate)


class Sampler:
    """Draws segmentations. `rate` is α of a unigram model, or the probability that a BPE model skips a merge."""

    def __init__(self, serialized: bytes, rate: float) -> None:
        self.rate = rate
        self.ids: dict[str, int] = {}  # ids of the pieces into which text may be segmented
        self.scores: dict[str, float] = {}
        self.bytes: list[int] = []
        whole = []
        for position, piece in enumerate(model_pieces(serialized)):
            if piece.type in (NORMAL, USER_DEFINED):
                self.ids[piece.text] = position
            if piece.type == NORMAL:
                self.scores[piece.text] = piece.score
            elif piece.type == USER_DEFINED:
                whole.append(piece.text)
            elif piece.type == BYTE:
                self.bytes.append(position)
            elif piece.type == UNKNOWN:
                self.unknown = position
        kind = section(serialized, TRAINER_SPEC).get(MODEL_TYPE)
        normalizer = section(serialized, NORMALIZER_SPEC)
        # Whether the model has a normaliser of its own, whose output this sampler takes.
        self.normalises = bool(normalizer.get(CHARACTER_MAP))
        if not normalizer.get(ADD_DUMMY_PREFIX, 1):
            raise ModelError("tokenizer.sampling: this SentencePiece model puts no space before the text; set it to 0")
        self.longest = max(map(len, self.scores), default=1)
        self.unknown_score = min(self.scores.values(), default=0.0) - 10.0  # as in SentencePiece
        # User-defined symbols stay whole, longer ones first. The rest is segmented word by word, because no other piece
        # crosses the beginning of a word.
        symbols = "|".join(map(re.escape, sorted(whole, key=len, reverse=True)))
        self._parts = re.compile(f"({symbols})") if symbols else None
        self._words = re.compile(f"{SPACE}[^{SPACE}]*|[^{SPACE}]+")
        self._segment: Callable[[str, random.Random], list[int]] = self._skip_merges if kind == BPE else self._draw
        self._cached_merge = lru_cache(CACHE_SIZE)(self._merge)
        self._cached_lattice = lru_cache(CACHE_SIZE)(self._lattice)

    def encode(self, text: str, rng: random.Random) -> list[int]:
        """The token ids of a random segmentation of normalised text."""
        written = (SPACE + text.replace(" ", SPACE)).rstrip(SPACE)
        ids: list[int] = []
        for index, part in enumerate(self._parts.split(written) if self._parts else [written]):
            if index % 2:
                ids.append(self.ids[part])
            else:
                for word in self._words.findall(part):
                    ids += self._segment(word, rng)
        if self.bytes or self.unknown not in ids:
            return ids
        # Consecutive unknown characters are one token.
        return [token for token, last in zip(ids, [None, *ids], strict=False) if not token == last == self.unknown]

    def _to_ids(self, pieces: Iterable[str]) -> list[int]:
        ids: list[int] = []
        for piece in pieces:
            known = self.ids.get(piece)
            if known is not None:
                ids.append(known)
            else:
                ids += [self.bytes[byte] for byte in piece.encode()] if self.bytes else [self.unknown]
        return ids

    # --- unigram: forward probabilities of all segmentations, then one is drawn from the end ----------------

    def _draw(self, word: str, rng: random.Random) -> list[int]:
        lattice = self._cached_lattice(word) if len(word) <= CACHED_LENGTH else self._lattice(word)
        pieces, end = [], len(word)
        while end:
            starts, weights = lattice[end]
            index = bisect(weights, rng.random() * weights[-1], hi=len(weights) - 1) if len(starts) > 1 else 0
            pieces.append(word[starts[index] : end])
            end = starts[index]
        return self._to_ids(reversed(pieces))

    def _lattice(self, word: str) -> list[tuple[list[int], list[float]]]:
        """For each end position, the possible starts of a piece, with cumulative weights Σ P(segmentation)^α."""
        forward = [0.0]  # log of the sum over all segmentations of the text before a position
        lattice: list[tuple[list[int], list[float]]] = [([], [])]
        for end in range(1, len(word) + 1):
            starts, logs = [], []
            for start in range(max(0, end - self.longest), end):
                score = self.scores.get(word[start:end], self.unknown_score if start == end - 1 else None)
                if score is not None:
                    starts.append(start)
                    logs.append(forward[start] + self.rate * score)
            most = max(logs)
            weights = list(accumulate(exp(value - most) for value in logs))
            lattice.append((starts, weights))
            forward.append(most + log(weights[-1]))
        return lattice

    # --- BPE: merges by priority, each skipped at random ------------------------------------------------------------

    def _skip_merges(self, word: str, rng: random.Random) -> list[int]:
        random_skips = (rng.random() < self.rate for _ in repeat(None))
        if len(word) > CACHED_LENGTH:
            return self._merge(word, random_skips)[0]
        ids, decisions = self._cached_merge(word)
        # The number of merges before the first that is skipped: often that of the whole word, and its ids are known.
        made = log(1.0 - rng.random()) / log1p(-self.rate)
        if made >= decisions:
            return ids
        return self._merge(word, chain(repeat(False, int(made)), [True], random_skips))[0]

    def _merge(self, word: str, skips: Iterator[bool] | None = None) -> tuple[list[int], int]:
        """The ids of `word` and the number of possible merges; `skips` has for each whether it is skipped."""
        pieces = list(word)
        before, after = list(range(-1, len(word) - 1)), list(range(1, len(word) + 1))
        possible: list[tuple[float, int, str]] = []

        def offer(left: int) -> None:
            if left >= 0 and after[left] < len(word):
                merged = pieces[left] + pieces[after[left]]
                if (score := self.scores.get(merged)) is not None:
                    heappush(possible, (-score, left, merged))

        for left in range(len(word) - 1):
            offer(left)
        decisions, skipped = 0, []
        while possible:
            merge = heappop(possible)
            _, left, merged = merge
            right = after[left]
            if not pieces[left] or right >= len(word) or pieces[left] + pieces[right] != merged:
                continue  # one of the two has been merged with another piece
            decisions += 1
            if skips and next(skips):
                skipped.append(merge)
                continue
            pieces[left], pieces[right] = merged, ""
            after[left] = after[right]
            if after[left] < len(word):
                before[after[left]] = left
            while skipped:  # skipped in this step only: algorithm 1 draws again in each
                heappush(possible, skipped.pop())
            offer(before[left])
            offer(left)
        return self._to_ids(filter(None, pieces)), decisions
