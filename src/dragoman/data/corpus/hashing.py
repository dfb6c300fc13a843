"""Texts → hashes: equal numbers for repeats, the same on every machine.

Input: a list of lines (a block of a few thousand). Output: an array with a number for each line. Everything is computed
over the characters of the whole block at once, with numpy.

Two levels: `text_hashes` (equal texts in any case and spacing) and `letter_hashes` (equal letters: digits, punctuation,
spaces, accents and case may differ).
"""

import unicodedata
from collections.abc import Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from dragoman.text.words.normalise import INVISIBLE

Hashes = NDArray[np.uint64]
Codes = NDArray[np.uint32]

# 2⁶⁴ divided by the golden ratio: multiples of it are spread evenly over all 64-bit numbers (Knuth, section 6.4).
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX1, _MIX2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
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
        parts = mixed((position << np.uint64(21) | codes) * GOLDEN)
        parts[ends] = 0
        hashes = mixed(np.add.reduceat(parts, starts))
    if len(bound):
        hashes[bound] = _slow_text_hashes([texts[line] for line in bound.tolist()])
    return hashes


def _slow_text_hashes(texts: Sequence[str]) -> Hashes:
    """`text_hashes` of lines that need a full normalisation."""
    codes, line = _characters("NFC", texts)
    space = _classes()[codes] & _SPACE > 0
    stays = ~space
    stays[1:] |= (line[1:] == line[:-1]) & ~space[:-1]  # of spaces the first of each run, and none that begins a line
    codes, line, space = np.where(space, np.uint32(32), codes)[stays], line[stays], space[stays]
    stays = ~space
    stays[:-1] |= line[1:] == line[:-1]  # none that ends a line
    codes, line = codes[stays], line[stays]
    return _hash_lines(codes, line, len(texts))


def letter_hashes(texts: Sequence[str]) -> Hashes:
    """Equal for texts with the same letters in the same order; a text without letters is hashed as a whole."""
    codes, line = letters_of(texts)
    return _hash_lines(codes, line, len(texts))


def _characters(form: str, texts: Sequence[str]) -> tuple[Codes, NDArray[np.int64]]:
    """The folded characters of all texts without invisible ones, and the number of the text of each."""
    block = "\n".join(text.replace("\n", " ") if "\n" in text else text for text in texts)
    block = unicodedata.normalize(form, unicodedata.normalize(form, block).casefold())  # type: ignore[arg-type]
    codes = np.frombuffer(block.encode("utf-32-le", "surrogatepass"), np.uint32)
    ends = codes == 10
    line = np.cumsum(ends)
    stays = ~ends & (_classes()[codes] & _DROP == 0)
    return codes[stays], line[stays]


def letters_of(texts: Sequence[str]) -> tuple[Codes, NDArray[np.int64]]:
    """The letters of all texts, Korean syllables as their letters; all characters of a text that has no letter."""
    codes, line = _characters("NFKD", texts)
    letter = _classes()[codes] & _LETTER > 0
    spoken = np.bincount(line[letter], minlength=len(texts)) > 0
    stays = letter | ~spoken[line]
    return codes[stays], line[stays]


def pair_hashes(sources: Hashes, targets: Hashes) -> Hashes:
    """A hash of each pair from those of its sides, which count differently: a swapped pair is another pair."""
    return mixed(sources * np.uint64(3) + targets)


def _hash_lines(codes: Codes, line: NDArray[np.int64], count: int) -> Hashes:
    """A 64-bit hash of the characters of each line and their order."""
    hashes = np.zeros(count, np.uint64)
    lengths = np.bincount(line, minlength=count)
    starts = np.cumsum(lengths) - lengths
    present = np.flatnonzero(lengths)
    if len(present):
        with np.errstate(over="ignore"):
            position = (np.arange(len(codes)) - starts[line]).astype(np.uint64)
            parts = mixed((position << np.uint64(21) | codes) * GOLDEN)
            hashes[present] = np.add.reduceat(parts, starts[present])
    return mixed(hashes)


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


# --- case, spaces and composition, folded by a table of characters --------------------------------------------------

# The table learns characters when they first occur. It holds those whose folded form does not depend on their
# neighbours: in a line without combining characters and letters of decomposed Hangul, NFC changes each character alone,
# and so does case folding.
_LINE_END, _ONE_SPACE = ord("\n"), ord(" ")
# What the table says besides the folded character. Both are control characters, which are never the folded form of one.
_DROPPED, _BOUND = 1, 2
_TABLE: Codes = np.zeros(0x110000, np.uint32)


def folded_lines(texts: Sequence[str]) -> tuple[Codes, NDArray[np.int64]]:
    """The folded characters of each line and a newline; and which lines cannot be folded by a table, in order.

    Characters of the latter have no meaning. Invisible characters are left out, and so are spaces at both ends; runs of
    spaces are one.
    """
    text = "\n".join([*texts, ""])
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    folded = _TABLE[codes]
    if not folded.all():
        for code in np.unique(codes[folded == 0]).tolist():
            _TABLE[code] = _folded(chr(code))
        folded = _TABLE[codes]
    ends = np.flatnonzero(folded == _LINE_END)
    if len(ends) != len(texts):  # a line has a newline in it
        return np.full(len(texts), _LINE_END, np.uint32), np.arange(len(texts))
    bound = np.unique(np.searchsorted(ends, np.flatnonzero(folded == _BOUND)))
    return _with_single_spaces(_without(folded, folded == _DROPPED)), bound


def _with_single_spaces(folded: Codes) -> Codes:
    space = folded == _ONE_SPACE
    blank = space | (folded == _LINE_END)
    space[1:] &= blank[:-1]
    folded = _without(folded, space)
    last = np.zeros(len(folded), bool)
    last[:-1] = (folded[:-1] == _ONE_SPACE) & (folded[1:] == _LINE_END)
    return _without(folded, last)


def _without(codes: Codes, left_out: NDArray[np.bool_]) -> Codes:
    return codes[~left_out] if left_out.any() else codes


def _folded(character: str) -> int:
    """The table's entry of a character."""
    if character == "\n":
        return _LINE_END
    composed = unicodedata.normalize("NFC", character)
    folded = unicodedata.normalize("NFC", composed.casefold())
    bound = (
        len(composed) != 1
        or len(folded) != 1
        or unicodedata.category(character)[0] == "M"
        or unicodedata.category(folded)[0] == "M"
        or "\u1100" <= character <= "\u11ff"
        or character > "\uffff"
    )
    if bound:
        return _BOUND
    if folded.isspace():
        return _ONE_SPACE
    return _DROPPED if INVISIBLE.match(folded) else ord(folded)
