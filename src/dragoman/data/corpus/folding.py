"""Case, spaces and composition folded over many lines at once, by a table of characters.

Input: lines. Output: the code points of their folded forms, each line ended by a newline. The table learns characters
when they first occur. It holds those whose folded form does not depend on their neighbours: in a line without combining
characters and letters of decomposed Hangul, NFC changes each character alone, and so does case folding.
"""

import unicodedata
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dragoman.text.words.normalise import INVISIBLE

Codes = NDArray[np.uint32]

_END, _SPACE = ord("\n"), ord(" ")
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
    ends = np.flatnonzero(folded == _END)
    if len(ends) != len(texts):  # a line has a newline in it
        return np.full(len(texts), _END, np.uint32), np.arange(len(texts))
    bound = np.unique(np.searchsorted(ends, np.flatnonzero(folded == _BOUND)))
    return _with_single_spaces(_without(folded, folded == _DROPPED)), bound


def _with_single_spaces(folded: Codes) -> Codes:
    space = folded == _SPACE
    blank = space | (folded == _END)
    space[1:] &= blank[:-1]
    folded = _without(folded, space)
    last = np.zeros(len(folded), bool)
    last[:-1] = (folded[:-1] == _SPACE) & (folded[1:] == _END)
    return _without(folded, last)


def _without(codes: Codes, left_out: NDArray[np.bool_]) -> Codes:
    return codes[~left_out] if left_out.any() else codes


def _folded(character: str) -> int:
    """The table's entry of a character."""
    if character == "\n":
        return _END
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
        return _SPACE
    return _DROPPED if INVISIBLE.match(folded) else ord(folded)
