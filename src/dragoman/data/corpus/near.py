"""Texts → fingerprints: equal numbers for repeats, similar signatures for near-duplicates.

Input: a list of lines (a block of a few thousand). Output: arrays with one row per line, the same on every machine.
Everything is computed over the characters of the whole block at once, with numpy.

Three levels, from strict to loose: `text_hashes` (the same text in any case and spacing), `letter_hashes` (the same
letters: digits, punctuation, spaces, accents and case differ) and `signatures` (MinHash, Broder 1997: the share of
equal entries estimates the Jaccard similarity of the sets of character 4-grams).
"""

import unicodedata
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman.data.corpus.folding import folded_lines
from dragoman.text.words.normalise import INVISIBLE

Hashes = NDArray[np.uint64]
Codes = NDArray[np.uint32]

# Letters per n-gram. Korean is compared in the letters of its syllables, so that both scripts have words of 4 to 8.
NGRAM = 4
# Entries of a signature, and how many of them form one key of a band: two texts of similarity s share a band with
# probability 1 - (1 - s³)⁸, which is 0.98 for s = 0.7 and 0.20 for s = 0.3.
ENTRIES, ROWS = 24, 3
BANDS = ENTRIES // ROWS
# Texts are near-duplicates from this similarity on.
NEAR = 0.7

_GOLDEN, _MIX1, _MIX2 = (np.uint64(n) for n in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))
_SPACE, _LETTER, _DROP = 1, 2, 4


def mixed(values: Hashes) -> Hashes:
    """Each number as another that looks random (the finaliser of splitmix64, Steele et al. 2014); a bijection."""
    with np.errstate(over="ignore"):
        values = (values ^ (values >> np.uint64(30))) * _MIX1
        values = (values ^ (values >> np.uint64(27))) * _MIX2
    return values ^ (values >> np.uint64(31))


def text_hashes(texts: Sequence[str]) -> Hashes:
    """Equal for texts that differ only in case, spaces, invisible characters or Unicode composition."""
    if not len(texts):
        return np.zeros(0, np.uint64)
    codes, bound = folded_lines(texts)
    ends = np.flatnonzero(codes == 10)
    lengths = np.diff(ends, prepend=-1)
    starts = ends + 1 - lengths
    with np.errstate(over="ignore"):
        position = (np.arange(len(codes)) - np.repeat(starts, lengths)).astype(np.uint64)
        parts = mixed((position << np.uint64(21) | codes) * _GOLDEN)
        parts[ends] = 0
        found = mixed(np.add.reduceat(parts, starts))
    if len(bound):
        found[bound] = _slow_text_hashes([texts[line] for line in bound.tolist()])
    return found


def _slow_text_hashes(texts: Sequence[str]) -> Hashes:
    """The same for lines that need a full normalisation."""
    codes, line = _characters("NFC", texts)
    space = _classes()[codes] & _SPACE > 0
    kept = ~space
    kept[1:] |= (line[1:] == line[:-1]) & ~space[:-1]  # of spaces the first of each run, and none that begins a line
    codes, line, space = np.where(space, np.uint32(32), codes)[kept], line[kept], space[kept]
    kept = ~space
    kept[:-1] |= line[1:] == line[:-1]  # none that ends a line
    codes, line = codes[kept], line[kept]
    return _hash_lines(codes, line, len(texts))


def letter_hashes(texts: Sequence[str]) -> Hashes:
    """Equal for texts with the same letters in the same order; a text without letters is hashed as a whole."""
    codes, line = _letters(texts)
    return _hash_lines(codes, line, len(texts))


def signatures(texts: Sequence[str]) -> NDArray[np.uint32]:
    """The MinHash signatures, one row of ENTRIES numbers per text; 0 everywhere for an empty text."""
    codes, line = _letters(texts)
    found = np.zeros((len(texts), ENTRIES), np.uint32)
    if not len(codes):
        return found
    lengths = np.bincount(line, minlength=len(texts))
    present = np.flatnonzero(lengths)
    starts = (np.cumsum(lengths) - lengths)[present]
    hashed = (mixed(_ngrams(codes, line)) >> np.uint64(32)).astype(np.uint32)
    with np.errstate(over="ignore"):
        for entry, (factor, shift) in enumerate(_permutations()):
            found[present, entry] = np.minimum.reduceat(hashed * factor ^ shift, starts)
    return found


def band_keys(signed: NDArray[np.uint32]) -> Hashes:
    """The BANDS keys of each signature, one row per text: near-duplicates share at least one, in the same column."""
    keys = np.zeros((len(signed), BANDS), np.uint64)
    with np.errstate(over="ignore"):
        for row in range(ROWS):
            keys = mixed(keys * _GOLDEN + signed[:, row::ROWS])
    return keys


def similarity(one: NDArray[np.uint32], other: NDArray[np.uint32]) -> NDArray[np.float64]:
    """Estimated similarity of the texts of two signatures, row by row."""
    return (one == other).mean(axis=-1)


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
        for asked, row in self.matches(signed):
            similar = similarity(signed[asked], self._signed[row])
            better = similar >= score[asked]
            # Of several matches of one text the last assignment counts; the order makes it the most similar one.
            order = np.lexsort((-row[better], similar[better]))
            asked, row, similar = asked[better][order], row[better][order], similar[better][order]
            best[asked], score[asked] = self._numbers[row], similar
        return best

    def all_near(self, signed: NDArray[np.uint32]) -> list[tuple[int, int]]:
        """All pairs of a row of `signed` and the number of a near-duplicate in this index."""
        found: set[tuple[int, int]] = set()
        for asked, row in self.matches(signed, 64):
            near = similarity(signed[asked], self._signed[row]) >= self.threshold
            found.update(zip(asked[near].tolist(), self._numbers[row[near]].tolist(), strict=True))
        return sorted(found)

    def matches(
        self, signed: NDArray[np.uint32], most: int = 8
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Rows of `signed` and rows of the index that share a key, at most `most` per key and run."""
        keys = _flat_keys(signed)
        asking = np.repeat(np.arange(len(signed)), BANDS)
        for sorted_keys, owners in self._sorted:
            at = np.searchsorted(sorted_keys, keys)
            for ahead in range(most):
                inside = at + ahead < len(sorted_keys)
                hit = np.flatnonzero(inside)[sorted_keys[at[inside] + ahead] == keys[inside]]
                if not len(hit):
                    break
                yield asking[hit], owners[at[hit] + ahead]


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
        return mixed(band_keys(signed) + np.arange(BANDS, dtype=np.uint64) * _GOLDEN).ravel()


# --- characters ----------------------------------------------------------------------------------------------------


def _characters(form: str, texts: Sequence[str]) -> tuple[Codes, NDArray[np.int64]]:
    """The folded characters of all texts without invisible ones, and the number of the text of each."""
    block = "\n".join(text.replace("\n", " ") if "\n" in text else text for text in texts)
    block = unicodedata.normalize(form, unicodedata.normalize(form, block).casefold())  # type: ignore[arg-type]
    codes = np.frombuffer(block.encode("utf-32-le", "surrogatepass"), np.uint32)
    ends = codes == 10
    line = np.cumsum(ends)
    kept = ~ends & (_classes()[codes] & _DROP == 0)
    return codes[kept], line[kept]


def _letters(texts: Sequence[str]) -> tuple[Codes, NDArray[np.int64]]:
    """The letters of all texts, Korean syllables as their letters; all characters of a text that has no letter."""
    codes, line = _characters("NFKD", texts)
    letter = _classes()[codes] & _LETTER > 0
    spoken = np.bincount(line[letter], minlength=len(texts)) > 0
    kept = letter | ~spoken[line]
    return codes[kept], line[kept]


def _hash_lines(codes: Codes, line: NDArray[np.int64], count: int) -> Hashes:
    """A 64-bit hash of the characters of each line and their order."""
    found = np.zeros(count, np.uint64)
    lengths = np.bincount(line, minlength=count)
    starts = np.cumsum(lengths) - lengths
    present = np.flatnonzero(lengths)
    if len(present):
        with np.errstate(over="ignore"):
            position = (np.arange(len(codes)) - starts[line]).astype(np.uint64)
            parts = mixed((position << np.uint64(21) | codes) * _GOLDEN)
            found[present] = np.add.reduceat(parts, starts[present])
    return mixed(found)


def _ngrams(codes: Codes, line: NDArray[np.int64]) -> Hashes:
    """A number for the NGRAM characters from each character on; zeros follow the last one of a line."""
    if not len(codes):
        return np.zeros(0, np.uint64)
    at = np.arange(len(codes)) + (NGRAM - 1) * line  # where each is if NGRAM - 1 zeros follow every line
    padded = np.zeros(at[-1] + NGRAM, np.uint64)
    padded[at] = codes
    grams = padded[at]
    with np.errstate(over="ignore"):
        for offset in range(1, NGRAM):
            grams = grams * _GOLDEN + padded[at + offset]
    return grams


@cache
def _permutations() -> list[tuple[np.uint32, np.uint32]]:
    """Of each entry an odd factor and a shift, which reorder all 32-bit numbers."""
    drawn = mixed(np.arange(1, 2 * ENTRIES + 1, dtype=np.uint64) * np.uint64(0xD1342543DE82EF95))
    numbers = (drawn >> np.uint64(32)).astype(np.uint32)
    return [(factor | np.uint32(1), shift) for factor, shift in numbers.reshape(ENTRIES, 2)]


@cache
def _classes() -> NDArray[np.uint8]:
    """What each character is: a space, a letter (or a sign that belongs to one), or dropped."""
    table = np.zeros(0x110000, np.uint8)
    for code in range(0x20000):  # what follows are rare ideographs, then characters without a class
        character = chr(code)
        if character.isspace():
            table[code] = _SPACE
        elif INVISIBLE.match(character):
            table[code] = _DROP
        elif unicodedata.category(character)[0] in "LM" and not 0x300 <= code <= 0x36F:  # accents are left out
            table[code] = _LETTER
    table[0x20000:0x40000] = _LETTER
    return table
