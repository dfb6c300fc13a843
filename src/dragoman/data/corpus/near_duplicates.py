"""Texts → signatures, which are similar for near-duplicates, and an index that finds them.

Input: a list of lines (a block of a few thousand). Output: arrays with one row per line, the same on every machine. A
signature is MinHash's (Broder 1997): the share of equal entries estimates the Jaccard similarity of the sets of
character 4-grams.
"""

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman.data.corpus.hashing import GOLDEN, Codes, Hashes, letters_of, mixed

# Letters per n-gram. Korean is compared in the letters of its syllables, so that both scripts have words of 4 to 8.
NGRAM = 4
# Entries of a signature, and how many of them form one key of a band: two texts of similarity s share a band with
# probability 1 - (1 - s³)⁸, which is 0.98 for s = 0.7 and 0.20 for s = 0.3.
ENTRIES, ROWS = 24, 3
BANDS = ENTRIES // ROWS
# Texts are near-duplicates from this similarity on.
NEAR = 0.7


def signatures(texts: Sequence[str]) -> NDArray[np.uint32]:
    """The MinHash signatures, one row of ENTRIES numbers per text; 0 everywhere for an empty text."""
    codes, line = letters_of(texts)
    signed = np.zeros((len(texts), ENTRIES), np.uint32)
    if not len(codes):
        return signed
    lengths = np.bincount(line, minlength=len(texts))
    present = np.flatnonzero(lengths)
    starts = (np.cumsum(lengths) - lengths)[present]
    hashed = (mixed(_ngrams(codes, line)) >> np.uint64(32)).astype(np.uint32)
    with np.errstate(over="ignore"):
        for entry, (factor, shift) in enumerate(_permutations()):
            signed[present, entry] = np.minimum.reduceat(hashed * factor ^ shift, starts)
    return signed


def band_keys(signed: NDArray[np.uint32]) -> Hashes:
    """The BANDS keys of each signature, one row per text: near-duplicates share at least one, in the same column."""
    keys = np.zeros((len(signed), BANDS), np.uint64)
    with np.errstate(over="ignore"):
        for row in range(ROWS):
            keys = mixed(keys * GOLDEN + signed[:, row::ROWS])
    return keys


def similarity(signed: NDArray[np.uint32], others: NDArray[np.uint32]) -> NDArray[np.float64]:
    """Estimated similarity of the texts of two signatures, row by row."""
    return (signed == others).mean(axis=-1)


class NearIndex:
    """Texts that later texts are compared with: a test set against the training text, or a corpus against itself.

    It takes about 230 bytes per text, and adds no more than `capacity` texts.
    """

    def __init__(self, threshold: float = NEAR, capacity: int = 1_000_000) -> None:
        self.threshold, self.capacity = threshold, capacity
        self._signed = np.zeros((0, ENTRIES), np.uint32)
        self._numbers = np.zeros(0, np.int64)
        self._size = 0
        self._sorted: list[tuple[Hashes, NDArray[np.int64]]] = []  # of each run: band keys and rows, in order

    def __len__(self) -> int:
        return self._size

    def add(self, signed: NDArray[np.uint32], numbers: NDArray[np.int64]) -> None:
        """Add texts by their signatures; `numbers` are what `find` returns for them, line numbers for example."""
        space = self.capacity - len(self)
        signed, numbers = signed[:space], numbers[:space]
        if not len(signed):
            return
        rows = np.arange(len(self), len(self) + len(signed))
        self._size += len(signed)
        self._signed = _with_space_for(self._signed, self._size)
        self._numbers = _with_space_for(self._numbers, self._size)
        self._signed[rows], self._numbers[rows] = signed, numbers
        keys, owners = _flat_keys(signed), np.repeat(rows, BANDS)
        while self._sorted and len(self._sorted[-1][0]) <= len(keys):  # few runs, each longer than the next
            more_keys, more_owners = self._sorted.pop()
            keys, owners = np.concatenate([more_keys, keys]), np.concatenate([more_owners, owners])
        order = np.argsort(keys, kind="stable")
        self._sorted.append((keys[order], owners[order]))

    def find(self, signed: NDArray[np.uint32]) -> NDArray[np.int64]:
        """For each signature the number of a near-duplicate in this index, or -1."""
        best = np.full(len(signed), -1, np.int64)
        score = np.full(len(signed), self.threshold)
        for query, row in self.matches(signed):
            similar = similarity(signed[query], self._signed[row])
            better = similar >= score[query]
            # Of several matches of one text the last assignment counts; the order makes it the most similar one.
            order = np.lexsort((-row[better], similar[better]))
            query, row, similar = query[better][order], row[better][order], similar[better][order]
            best[query], score[query] = self._numbers[row], similar
        return best

    def all_near(self, signed: NDArray[np.uint32]) -> list[tuple[int, int]]:
        """All pairs of a row of `signed` and the number of a near-duplicate in this index."""
        pairs: set[tuple[int, int]] = set()
        for query, row in self.matches(signed, 64):
            near = similarity(signed[query], self._signed[row]) >= self.threshold
            pairs.update(zip(query[near].tolist(), self._numbers[row[near]].tolist(), strict=True))
        return sorted(pairs)

    def matches(
        self, signed: NDArray[np.uint32], most: int = 8
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Rows of `signed` and rows of the index that share a key, at most `most` per key and run."""
        keys = _flat_keys(signed)
        queries = np.repeat(np.arange(len(signed)), BANDS)
        for sorted_keys, owners in self._sorted:
            at = np.searchsorted(sorted_keys, keys)
            for ahead in range(most):
                inside = at + ahead < len(sorted_keys)
                hit = np.flatnonzero(inside)[sorted_keys[at[inside] + ahead] == keys[inside]]
                if not len(hit):
                    break
                yield queries[hit], owners[at[hit] + ahead]


def _with_space_for(array: NDArray[Any], rows: int) -> NDArray[Any]:
    """`array`, or a copy twice as long if it has fewer rows."""
    if rows <= len(array):
        return array
    longer = np.zeros((max(rows, 2 * len(array)), *array.shape[1:]), array.dtype)
    longer[: len(array)] = array
    return longer


def _flat_keys(signed: NDArray[np.uint32]) -> Hashes:
    """All band keys in one row; a column has its own part of the numbers."""
    with np.errstate(over="ignore"):
        return mixed(band_keys(signed) + np.arange(BANDS, dtype=np.uint64) * GOLDEN).ravel()


def _ngrams(codes: Codes, line: NDArray[np.int64]) -> Hashes:
    """A number for the NGRAM characters from each character on; zeros follow the last one of a line."""
    at = np.arange(len(codes)) + (NGRAM - 1) * line  # where each is if NGRAM - 1 zeros follow every line
    padded = np.zeros(at[-1] + NGRAM, np.uint64)
    padded[at] = codes
    grams = padded[at]
    with np.errstate(over="ignore"):
        for offset in range(1, NGRAM):
            grams = grams * GOLDEN + padded[at + offset]
    return grams


@cache
def _permutations() -> list[tuple[np.uint32, np.uint32]]:
    """Of each entry an odd factor and a shift, which reorder all 32-bit numbers."""
    drawn = mixed(np.arange(1, 2 * ENTRIES + 1, dtype=np.uint64) * np.uint64(0xD1342543DE82EF95))
    numbers = (drawn >> np.uint64(32)).astype(np.uint32)
    return [(factor | np.uint32(1), shift) for factor, shift in numbers.reshape(ENTRIES, 2)]
