"""Amounts: the numbers of a text by value, with sign and power of ten. `2 million` is `200만`, and `-5` is not `5`."""

import re
from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from typing import NamedTuple

from dragoman.text.words.number_words import AFTERNOON, AMBIGUOUS, COUNTED, LONGEST_BEFORE, Power, lead_at, power_at
from dragoman.text.words.numbers import Number, Value, are_other, differences, find_numbers, numbers_differ

# A minus belongs to a number after a space, a bracket or a sign, and not in a range or a name.
_MINUS = re.compile(r"(?:^|(?<=[\s(\[{=<>:,;/|~]))[-\u2212][$€£¥₩]?$")
# After a power from this on, a number without one belongs to the same amount: 5만 8,000.
LEAST_JOINED = 10_000
# Words for powers that may be another word, or that are a unit, and amounts that nobody writes.
NO_POWERS, MOST = frozenset(("k", "m", "dozen", "dozens")), 10**18
_RANGE_BEFORE = re.compile(r"\d\s?(?:[-~∼〜～–—/]|to|or|and|에서|내지|또는|이나|나)\s?[$€£¥₩]?$")
_RANGE = re.compile(r"\s?[~∼〜～]\s?|[-–—]")
_THOUSANDTHS = re.compile(r"\d{1,3}\.\d{3}")


class Amount(NamedTuple):
    """A number: its digits from `begin` to before `end`, with sign and powers of ten from `first` to `last`."""

    begin: int
    end: int
    value: Value
    has_power: bool
    """Whether a word for a power of ten follows."""
    first: int
    last: int
    other: Value | None = None
    """What it is if the word for a power of ten, which is `ambiguous`, is another word there."""
    ambiguous: str = ""
    in_range: bool = False
    """Whether it is one of the two numbers of a range, such as 2~3만, that have the same power."""

    def is_sure(self, text: str) -> bool:
        """Whether it surely is this number in `text`, and another way to write it is the same.

        `10k` may be a name, `2 dozen` is a number of dozens, and 5조 may be article 5.
        """
        if isinstance(self.value, str) or not -MOST < self.value < MOST:
            return False
        if self.other is not None or self.ambiguous in NO_POWERS:
            return False
        return self.in_range or not self.ends_range(text)

    def ends_range(self, text: str) -> bool:
        """Whether another number is before it, which may have the same power: `between 5 and 10 million`."""
        return bool(_RANGE_BEFORE.search(text, max(self.first - LONGEST_BEFORE, 0), self.first))


def find_amounts(text: str) -> list[Amount]:
    """The amounts of a text, in order."""
    amounts: list[Amount] = []
    numbers = find_numbers(text)
    at = 0
    while at < len(numbers):
        begin, end, value, has_power = numbers[at]
        minus = _MINUS.search(text, max(begin - 3, 0), begin)
        first, last, other, word = (minus.start() if minus else begin), end, None, ""
        if not isinstance(value, str):
            power = power_at(text, end)
            if power and not (power.word == "조" and text[begin - 1 : begin] == "제"):  # article 1
                if _THOUSANDTHS.fullmatch(text, begin, end):  # of a number with a power it is no thousand
                    value = Decimal(text[begin:end])
                has_power, other, word = True, value, power.word
                last, at, value = _multiplied(text, numbers, at, Decimal(value), power)
                other = other if last == power.end else None
                lead = lead_at(text, begin) if "가" <= power.word <= "힣" and not minus else None
                if lead and value < lead[2]:
                    first, value, other = lead[0], value + lead[1], None
            value = -value if minus else value
        other = other if word in AMBIGUOUS and not (word in COUNTED and COUNTED[word].match(text, last)) else None
        amount = Amount(begin, end, value, has_power, first, last, other, word)
        amounts[-1:] = [*_ranged(amounts[-1], amount, text)] if amounts else [amount]
        at += 1
    return amounts


def _ranged(before: Amount, amount: Amount, text: str) -> tuple[Amount, Amount]:
    """Two numbers, each with its power if they are a range that has it once: 2~3만 is from 20,000 to 30,000."""
    number = whole_number(text[amount.begin : amount.end])
    is_range = amount.has_power and not before.has_power and _RANGE.fullmatch(text, before.last, amount.first)
    if not (is_range and isinstance(before.value, int) and isinstance(amount.value, int)):
        return before, amount
    if not 0 < before.value < number or amount.value % number:
        return before, amount
    shared = before.value * (amount.value // number)
    return before._replace(value=shared, has_power=True, in_range=True), amount._replace(in_range=True)


def whole_number(digits: str) -> int:
    """A whole number that is written in digits alone; 0 for another, and for one that nobody writes."""
    return int(digits) if digits.isdecimal() and len(digits) <= len(str(MOST)) else 0


def _multiplied(
    text: str, numbers: Sequence[Number], at: int, unit: Decimal, power: Power | None
) -> tuple[int, int, int | Decimal]:
    """Where the amount ends that begins with a number and a power of ten, its last number, and its value.

    `1억 2천만` has two numbers, and `5 hundred thousand` two powers.
    """
    total, group, limit, last = Decimal(), Decimal(), 0, 0
    while True:
        if power:
            last, limit = power.end, power.value
            if power.is_small:
                group, unit = group + unit * power.value, Decimal()
                power = power_at(text, last)
                continue
            total, group, unit, power = total + (group + unit) * power.value, Decimal(), Decimal(), None
        if at + 1 == len(numbers) or not "가" <= text[last - 1] <= "힣":
            break
        begin, end, value, _ = numbers[at + 1]
        following = power_at(text, end)
        is_near = begin == last or (begin == last + 1 and text[last] == " ")
        if not is_near or isinstance(value, str) or not (following or limit >= LEAST_JOINED):
            break
        if value * (following.value if following and following.is_small else 1) >= limit:
            break
        at, unit, last, power = at + 1, Decimal(value), end, following
        if not power:
            break
    value = total + group + unit
    return last, at, int(value) if value == int(value) else value


def amounts_differ(source: str, target: str) -> bool:
    """Whether one side has a number that the other lacks, in whatever way both write it.

    As `numbers_differ`, but `2 million` is `200만`, and 15:30 is 3시 30분 in the afternoon.
    """
    if not numbers_differ(source, target):
        return False
    lost, added = differences(*([amount.value for amount in find_amounts(text)] for text in (source, target)))
    _forgive_afternoon(lost, added, target)
    _forgive_afternoon(added, lost, source)
    return are_other(lost, added)


def _forgive_afternoon(hours: Counter[Value], others: Counter[Value], text: str) -> None:
    """Take out hours from 13 to 23 that the other text has as an hour of the afternoon, and those of it."""
    for hour in [hour for hour in hours if not isinstance(hour, str) and 12 < hour < 24]:
        shared = min(hours[hour], others[hour - 12]) if AFTERNOON.search(text) else 0
        hours[hour] -= shared
        others[hour - 12] -= shared
    for counter in (hours, others):
        counter += Counter()  # without those of 0
