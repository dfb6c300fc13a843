"""Numbers of a text, for comparison across languages: digits of any script, whatever separates their groups.

`1,000`, `1.000` and `1000` are one number. Numbers up to 12 are often written as words: `3월` is March. A number with a
word for a power of ten (`3만` is 30,000, `2 million` is `200만`) is written differently on purpose: a difference is
reported but never corrected.
"""

import re
from collections import Counter
from typing import NamedTuple

# Digits of any script, with separators of thousands between groups of three.
_NUMBER = re.compile(r"\d{1,3}(?:[,.'’\u00a0\u2009\u202f]\d{3})+(?!\d)|\d+")
_SEPARATORS = re.compile(r"\D")
# Numbers up to this are often written as words.
WORDS_UP_TO = 12
_LONGEST = 4000  # digits that are compared
_POWER = re.compile(
    r"\s?(?:[십백천만억조경十百千万萬亿億兆]|[a-zA-Z]{1,6}ill(?:i|ia)(?:on|rd|ard)|thousand|hundred|dozen)"
)


class Number(NamedTuple):
    """The characters from `begin` to before `end` of a text, and the number that they write."""

    begin: int
    end: int
    value: int
    has_power: bool
    """Whether a word for a power of ten follows."""


def find_numbers(text: str) -> list[Number]:
    """The numbers of a text, in order."""
    return [
        Number(*match.span(), _value(match[0]), bool(_POWER.match(text, match.end())))
        for match in _NUMBER.finditer(text)
    ]


def numbers_of(text: str) -> Counter[int]:
    """The numbers of a text, and how often each occurs."""
    return Counter(map(_value, _NUMBER.findall(text)))


def numbers_differ(source: str, target: str) -> bool:
    """Whether one side has a number that the other lacks.

    A number up to 12 may be missing on one side, but not be another number on the other.
    """
    return counts_differ(numbers_of(source), numbers_of(target))


def counts_differ(ours: Counter[int], theirs: Counter[int]) -> bool:
    """Whether the numbers of two texts differ, by how often each occurs; see `numbers_differ`."""
    if ours == theirs:
        return False
    more, fewer = ours - theirs, theirs - ours
    return bool(more and fewer) or any(number > WORDS_UP_TO for number in (more or fewer))


def _value(written: str) -> int:
    return int(_SEPARATORS.sub("", written)[:_LONGEST])
