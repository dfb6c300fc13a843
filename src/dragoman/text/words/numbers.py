"""Numbers of a text, for comparison across languages: digits of any script, whatever separates their groups.

`1,000`, `1.000`, `١٬٠٠٠` and `1000` are one number, `1,00,000` and `100,000`, and `12.5` and `12,50`; `2.30` may be
`2:30` elsewhere, two numbers next to each other. `127.0.0.1` is one, or its parts. Numbers up to 12 are often written
as words: `3월` is March. What a word for a power of ten means (`3만` is 30,000, `2 million` is `200만`) is in
`text.words.amounts`.
"""

import re
from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from itertools import pairwise
from typing import NamedTuple, NewType

# Digits of any script: with separators between groups of three (in India of two before the last three), and with a
# decimal point or comma. U+066C and U+066B are the comma and the point of Arabic and Persian.
_GROUPED = r"(?:\d{1,3}(?:[,.'’\u00a0\u2009\u202f\u066c]\d{3})+|\d{1,2}(?:,\d{2}){1,12},\d{3})(?!\d)"
_FRACTION = r"[.,\u066b](?P<{}>\d{{1,40}})(?![.,]?\d)"
_NUMBER = re.compile(
    rf"(?<![\d.])(?!{_GROUPED}(?!\.\d))(?P<parts>\d{{1,9}}(?:\.\d{{1,9}}){{2,7}})(?!\.?\d)"
    rf"|(?P<grouped>{_GROUPED})(?:{_FRACTION.format('rest')})?"
    rf"|(?<![\d.,])(?P<whole>\d{{1,40}}){_FRACTION.format('fraction')}|\d+"
)
_SEPARATORS = re.compile(r"\D")
# Numbers up to this are often written as words.
WORDS_UP_TO = 12
_LONGEST = 4000  # digits that are compared
_POWER = re.compile(
    r"\s?(?:[십백천만억조경十百千万萬亿億兆]|[a-zA-Z]{1,6}ill(?:i|ia)(?:on|rd|ard)|thousand|hundred|dozen)"
)

# As it is written: an address, a version or a date.
Dotted = NewType("Dotted", str)
Value = int | Decimal | Dotted


class Number(NamedTuple):
    """The characters from `begin` to before `end` of a text, and the number that they write."""

    begin: int
    end: int
    value: Value
    has_power: bool
    """Whether a word for a power of ten follows."""


def find_numbers(text: str) -> list[Number]:
    """The numbers of a text, in order."""
    return [
        Number(*match.span(), _value(match), bool(_POWER.match(text, match.end()))) for match in _NUMBER.finditer(text)
    ]


def differences(ours: Sequence[Value], theirs: Sequence[Value]) -> tuple[Counter[Value], Counter[Value]]:
    """What the second of two texts lacks of the numbers of the first, and what it has too much; in order of the texts.

    A decimal number is there if its two parts are next to each other, and one of more parts if all of them are there.
    """
    lost, added = Counter(ours) - Counter(theirs), Counter(theirs) - Counter(ours)
    _forgive_parts(lost, added, theirs)
    _forgive_parts(added, lost, ours)
    return lost, added


def numbers_differ(source: str, target: str) -> bool:
    """Whether one side has a number that the other lacks.

    A whole number up to 12 may be missing on one side, but not be another number on the other.
    """
    return are_other(*differences(*([_value(match) for match in _NUMBER.finditer(text)] for text in (source, target))))


def are_other(lost: Counter[Value], added: Counter[Value]) -> bool:
    """Whether these `differences` make other numbers; see `numbers_differ`."""
    return bool(lost and added) or not all(map(_may_be_a_word, lost or added))


def _may_be_a_word(number: Value) -> bool:
    return not isinstance(number, str) and number <= WORDS_UP_TO and number == int(number)


def _forgive_parts(decimals: Counter[Value], whole: Counter[Value], text: Sequence[Value]) -> None:
    """Take out numbers of several parts, and of the other these parts; those of a decimal are next to each other."""
    for number in [value for value in decimals.elements() if not isinstance(value, int)]:
        parts = [int(part) for part in (number if isinstance(number, str) else f"{number:f}").split(".")]
        together = isinstance(number, str) or any([*neighbours] == parts for neighbours in pairwise(text))
        if together and all(whole[part] >= parts.count(part) for part in parts):
            whole.subtract(parts)
            decimals[number] -= 1
    for counter in (decimals, whole):
        counter += Counter()  # without those of 0


def _value(match: re.Match[str]) -> Value:
    if match["parts"]:
        return Dotted(match["parts"])
    whole = _SEPARATORS.sub("", match["grouped"] or match["whole"] or match[0])[:_LONGEST]
    fraction = match["rest"] or match["fraction"]
    return Decimal(f"{whole}.{fraction}") if fraction else int(whole)
