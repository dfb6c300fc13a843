"""A few thousand pairs of lines with their code points in one array, so that rules look at all of them at once.

Input: lists of lines. Output: `PairBlock`, whose arrays are computed when a rule first asks: `codes` [C] code points of
all lines, each line ended by one newline; `starts` [L] the index of each line's first character; `classes` [C] what
each character is; `flags` [L] the OR of a line's classes. A class is the script's number in the low byte and one bit
each for the properties below; it is looked up in a table that learns a character when it first occurs.
"""

import unicodedata
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dragoman.data.corpus.hashing import mixed
from dragoman.text.words.script import script_of

BLOCK_LINES = 4096

Classes = NDArray[np.uint32]
Lines = NDArray[np.bool_]

SCRIPT = 0xFF
LETTER, DIGIT, SPACE, CONTROL, ZERO_WIDTH, BAD_BYTE = (1 << bit for bit in range(8, 14))
SUSPECT, AMPERSAND, PLACEHOLDER, ADDRESS, WORD = (1 << bit for bit in range(14, 19))
_KNOWN = 1 << 31

_ZERO_WIDTH = "\u00ad\u061c\u180e\u200b\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2060\u2066\u2067\u2068\u2069\ufeff"
_TABLE: Classes = np.zeros(0x110000, np.uint32)
_FOLDED: Classes = np.arange(0x110000, dtype=np.uint32)
_SCRIPT_NUMBERS: dict[str, int] = {"": 0}


class TextSide:
    """One side of a block."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = lines

    @cached_property
    def codes(self) -> Classes:
        """[C] Code points of all lines, each ended by a newline."""
        text = "\n".join([*self.lines, ""])
        return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)

    @cached_property
    def lengths(self) -> NDArray[np.int64]:
        """[L] Characters of each line."""
        return np.fromiter(map(len, self.lines), np.int64, len(self.lines))

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """[L] Index in `codes` of each line's first character, or of its newline if it is empty."""
        ends = np.cumsum(self.lengths + 1)
        return np.concatenate([[0], ends[:-1]]).astype(np.int64)[: len(self.lines)]

    @cached_property
    def classes(self) -> Classes:
        """[C] The class of each character; 0 for the newlines that end the lines."""
        classes = _TABLE[self.codes]
        if not classes.all():
            for code in np.unique(self.codes[classes == 0]).tolist():
                _TABLE[code] = _class_of(chr(code))
                _FOLDED[code] = ord(lower) if len(lower := chr(code).lower()) == 1 else code
            classes = _TABLE[self.codes]
        classes[self.starts + self.lengths] = 0
        return classes

    @cached_property
    def flags(self) -> Classes:
        """[L] The properties that occur in each line; the low byte has no meaning."""
        return np.bitwise_or.reduceat(self.classes, self.starts) if len(self.lines) else np.zeros(0, np.uint32)

    @cached_property
    def letters(self) -> NDArray[np.int64]:
        """[L] Letters of each line."""
        return self.count((self.classes & LETTER) != 0)

    def count(self, chosen: NDArray[np.bool_]) -> NDArray[np.int64]:
        """[L] How many of the characters chosen by [C] each line holds."""
        if not len(self.lines):
            return np.zeros(0, np.int64)
        return np.add.reduceat(chosen, self.starts, dtype=np.int64)

    def letters_in(self, scripts: frozenset[str]) -> NDArray[np.int64]:
        """[L] Letters of each line that are in one of these scripts."""
        classes = self.classes  # first: it may number new scripts
        allowed = np.zeros(256, bool)
        allowed[[_script_number(script) for script in scripts]] = True
        return self.count(allowed[classes & SCRIPT])

    @cached_property
    def words(self) -> tuple[NDArray[np.uint64], NDArray[np.int64], NDArray[np.bool_]]:
        """[W] A hash of each word (letters, combining marks, digits; no case), its line, whether it is ASCII."""
        inside = (self.classes & WORD) != 0
        at = np.flatnonzero(inside)
        if not len(at):
            return np.zeros(0, np.uint64), np.zeros(0, np.int64), np.zeros(0, bool)
        begins = np.ones(len(at), bool)
        begins[1:] = at[1:] != at[:-1] + 1
        first = np.flatnonzero(begins)
        position = np.arange(len(at)) - np.repeat(first, np.diff(first, append=len(at)))
        codes = _FOLDED[self.codes[at]]
        parts = mixed(codes.astype(np.uint64) << np.uint64(32) | position.astype(np.uint64))
        ascii_only = np.bitwise_or.reduceat(codes, first) < 128
        line = np.searchsorted(self.starts, at[first], "right") - 1
        return mixed(np.add.reduceat(parts, first)), line, ascii_only

    @cached_property
    def digits(self) -> NDArray[np.uint64]:
        """[L] A hash of the digits and of what is between them: equal for the same numbers in the same order."""
        hashes = np.zeros(len(self.lines), np.uint64)
        at = np.flatnonzero(self.classes & DIGIT)
        if not len(at):
            return hashes
        line = np.searchsorted(self.starts, at, "right") - 1
        begins = np.ones(len(at), bool)
        begins[1:] = line[1:] != line[:-1]
        first = np.flatnonzero(begins)
        position = np.arange(len(at)) - np.repeat(first, np.diff(first, append=len(at)))
        gap = np.diff(at, prepend=0)
        between = np.where(gap == 2, self.codes[at - 1], np.where(gap == 1, 0, 1))  # one character, none, several
        between[first] = 1
        sequence = position.astype(np.uint64) << np.uint64(42) | between.astype(np.uint64) << np.uint64(21)
        hashes[line[first]] = np.add.reduceat(mixed(sequence | self.codes[at]), first)
        return hashes

    def has(self, flag: int) -> Lines:
        """[L] Whether a character of each line has this property."""
        return (self.flags & flag) != 0


class MalformedLine(NamedTuple):
    """A line of a `.tsv` or `.jsonl` file that holds no pair, and what is wrong with it."""

    text: str
    problem: str


class PairBlock:
    """Lines of source and target, which are lines `first`, `first` + 1, … of their files.

    `malformed` has the lines that hold no pair, by their index; their texts are empty on both sides.
    """

    def __init__(
        self,
        source: Sequence[str],
        target: Sequence[str],
        first: int = 1,
        malformed: Mapping[int, MalformedLine] | None = None,
    ) -> None:
        if len(source) != len(target):
            raise ValueError(f"{len(source)} source lines, but {len(target)} target lines")
        self.source, self.target = TextSide(source), TextSide(target)
        self.first, self.malformed = first, malformed or {}

    def __len__(self) -> int:
        return len(self.source.lines)


def _script_number(script: str) -> int:
    return _SCRIPT_NUMBERS.setdefault(script, len(_SCRIPT_NUMBERS))


def _class_of(character: str) -> int:
    """The class of a character: `_KNOWN`, its script's number, its properties."""
    category, code = unicodedata.category(character), ord(character)
    properties = (
        (LETTER, character.isalpha()),
        (DIGIT, character.isdecimal()),
        (SPACE, character.isspace()),
        (CONTROL, (category == "Cc" and character != "\t") or character in "\u2028\u2029"),
        (ZERO_WIDTH, character in _ZERO_WIDTH),
        (BAD_BYTE, category == "Cs"),
        (SUSPECT, 0x80 <= code < 0x250 or 0x2010 <= code < 0x2130 or code in _MOJIBAKE_CODES),
        (AMPERSAND, character == "&"),
        (PLACEHOLDER, character in "{%<$"),
        (ADDRESS, character in "/@"),
        (WORD, character.isalnum() or category[0] == "M"),
    )
    return _KNOWN | _script_number(script_of(character)) | sum(flag for flag, holds in properties if holds)


# Where mojibake shows besides Latin-1 and punctuation: box drawing, ligatures, the replacement character, Hangul and
# Chinese characters that stand for it in Korean encodings.
_MOJIBAKE_CODES = frozenset([*range(0x2500, 0x25A0), 0xFB01, 0xFB02, 0xFFFD, *map(ord, "占쏙옙")])
