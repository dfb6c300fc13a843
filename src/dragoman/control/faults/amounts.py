"""Amounts (`text.words.amounts`): whether a translation has those of its source.

`2 million` is `200만`, `1억 2천만` is `120,000,000`, `-5` is not `5`. What one side has in digits the other may have in
words (`text.words.number_words`): it is forgiven if the word is there. Of languages whose words are not known, a whole
number up to 12 may be missing, as in `text.words.numbers`.
"""

import re
from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from itertools import pairwise
from typing import NamedTuple

from dragoman.text.words.amounts import MOST, Amount, whole_number
from dragoman.text.words.number_words import (
    AFTER_MONTH,
    AFTERNOON,
    AMBIGUOUS,
    HALF,
    LANGUAGES,
    LONGEST_MONTH,
    MIDNIGHT,
    NEGATIVE,
    QUARTER,
    TEENS,
    TEENS_IN_DIGITS,
    TEENS_IN_WORDS,
    large_numbers,
    months,
    spoken,
)
from dragoman.text.words.numbers import Value, are_other, differences

# What is between the numbers of a list.
_BETWEEN = re.compile(r"\s*(?:[,;/·、|]|\s(?:and|or)\s|\s(?:및|또는|그리고)\s|[와과]\s)?\s*(?:(?:and|or|및)\s)?")
LEAST_LISTED = 3


class Differences(NamedTuple):
    """The values that a translation lacks and has too much, and whether those of a list are in another order."""

    lost: Counter[Value]
    added: Counter[Value]
    order: bool = False


SAME = Differences(Counter(), Counter())


def with_large_numbers(amounts: list[Amount], text: str) -> list[Amount]:
    """The amounts of a text, and its large numbers that are all in words, in order."""
    large = [Amount(begin, end, value, True, begin, end) for begin, end, value in large_numbers(text)]
    merged_amounts: list[Amount] = []
    for amount in sorted([*amounts, *large], key=lambda amount: (amount.first, amount.last)):
        if not merged_amounts or merged_amounts[-1].last <= amount.first:
            merged_amounts.append(amount)
    return merged_amounts


def compare(
    ours: Sequence[Amount], theirs: Sequence[Amount], source: str, text: str, languages: tuple[str, str] | None
) -> Differences:
    """What a translation has otherwise than its source; their texts are without placeholders."""
    values, others = [amount.value for amount in ours], [amount.value for amount in theirs]
    is_known = languages is not None and LANGUAGES.issuperset(languages)
    dated = months(source) if is_known else []
    if values == others and not dated and not impossible_dates(text):
        return SAME
    lost, added = differences(values, others)
    if lost or added or dated:
        _forgive(lost, added, ours, theirs, source, text)
        _forgive_ranges(lost, added, ours, source)
        _forgive_ranges(added, lost, theirs, text)
    if is_known and (lost or added or dated):
        _forgive_teens(lost, added, source, text)
        words, other_words = (spoken(_without_teens(*sides)) for sides in ((source, text), (text, source)))
        _drop(lost, other_words, text)
        _drop(added, words, source)
        for month in dated:
            if month not in others and month not in other_words:
                lost[month] += 1
    elif not are_other(lost, added):
        lost, added = Counter(), Counter()
    if not lost and not added:
        is_reordered = impossible_dates(text) > impossible_dates(source) or _is_reordered(source, ours, others)
        return Differences(lost, added, is_reordered)
    return Differences(lost, added)


def _drop(values: Counter[Value], words: frozenset[int], text: str) -> None:
    """Take out the values that a text says in words; once may be enough: 다섯 개씩 of five apples and five pears."""
    for value in list(values):
        is_there = value in words
        if not is_there and isinstance(value, Decimal) and abs(value) < MOST:
            is_there = bool((value * 2 % 1 == 0 and HALF.search(text)) or (value * 4 % 1 == 0 and QUARTER.search(text)))
        if is_there:
            del values[value]


def _forgive_teens(lost: Counter[Value], added: Counter[Value], source: str, text: str) -> None:
    """Take out the 10 of `10대`, once for each teenager of the other text."""
    for values, mine, other in ((lost, source, text), (added, text, source)):
        if values[10]:
            values[10] -= min(values[10], len(TEENS_IN_DIGITS.findall(mine)), len(TEENS.findall(other)))
            values += Counter()


def _without_teens(text: str, other: str) -> str:
    """A text without the word 십대, if the other has it in English: it is no 10 that this one lost."""
    return TEENS_IN_WORDS.sub(" ", text) if TEENS.search(other) else text


def _forgive(
    lost: Counter[Value],
    added: Counter[Value],
    ours: Sequence[Amount],
    theirs: Sequence[Amount],
    source: str,
    text: str,
) -> None:
    """Take out what is the same number in another form: a sign in words, an hour of the afternoon, `:00`."""
    for amounts, mine, other, there in ((ours, lost, added, text), (theirs, added, lost, source)):
        for amount in amounts:
            value = amount.value
            if not mine[value]:
                continue
            if isinstance(value, str):
                continue
            if value == 0 and amount.end - amount.begin > 1:
                mine[value] -= 1
            elif value == 0 and other[12] and MIDNIGHT.search(there):
                mine[0], other[12] = mine[0] - 1, other[12] - 1
            elif value < 0 and other[-value] and NEGATIVE.search(there):
                mine[value], other[-value] = mine[value] - 1, other[-value] - 1
            elif 12 < value < 24 and other[value - 12] and AFTERNOON.search(there):
                mine[value], other[value - 12] = mine[value] - 1, other[value - 12] - 1
            elif amount.other is not None and other[amount.other] and AMBIGUOUS[amount.ambiguous].search(there):
                mine[value], other[amount.other] = mine[value] - 1, other[amount.other] - 1
    for counter in (lost, added):
        counter += Counter()


def _forgive_ranges(mine: Counter[Value], other: Counter[Value], amounts: Sequence[Amount], text: str) -> None:
    """Take out the 2 of 2~3만, which the other text has as 20,000."""
    for first, last in pairwise(amounts):
        number = whole_number(text[last.begin : last.end])
        if not last.has_power or first.has_power or not mine[first.value] or not number:
            continue
        if isinstance(first.value, int) and isinstance(last.value, int) and last.ends_range(text):
            shared = first.value * last.value // number
            if other[shared]:
                mine[first.value], other[shared] = mine[first.value] - 1, other[shared] - 1
    for counter in (mine, other):
        counter += Counter()


# A date in Korean: 2024년 12월 25일.
_KOREAN_DATE = re.compile(r"(?<!\d)(\d{1,9})\s?월\s?(\d{1,9})\s?일")


def impossible_dates(text: str) -> int:
    """How many dates in Korean have no such month or day: `12월 2024일`."""
    return sum(int(month) > 12 or int(day) > 31 for month, day in _KOREAN_DATE.findall(text))


def _is_reordered(source: str, ours: Sequence[Amount], others: Sequence[Value]) -> bool:
    """Whether numbers that are a list in the source are in another order in its translation."""
    run: list[Value] = []
    for at, amount in enumerate(ours):
        before = ours[at - 1]
        listed = at and _BETWEEN.fullmatch(source[before.last : amount.first])
        if listed and AFTER_MONTH.search(source, max(before.first - LONGEST_MONTH, 0), before.first):  # May 5, 2024
            listed = None
        if not listed:
            if _is_other_order(run, others):
                return True
            run = []
        run.append(amount.value)
    return _is_other_order(run, others)


def _is_other_order(run: Sequence[Value], others: Sequence[Value]) -> bool:
    if len(run) < LEAST_LISTED or Counter(run) - Counter(others):
        return False
    rest = iter(others)
    return not all(value in rest for value in run)
