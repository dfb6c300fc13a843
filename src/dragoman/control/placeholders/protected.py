"""Where a text has what a translation copies: placeholders, and strings that are protected. No torch."""

import re
from collections.abc import Collection, Sequence

from dragoman.text.terms.protect import as_word, find_placeholders

Spans = list[tuple[int, int]]


def atoms(text: str, given: Sequence[tuple[int, int]], patterns: Sequence[str] | None) -> Spans:
    """The spans that no code may divide: those `given`, and the placeholders that overlap none of them; in order."""
    found = [(one.begin, one.end) for one in find_placeholders(text, patterns)]
    borders = sorted(given)
    free = [one for one in found if not any(begin < one[1] and one[0] < end for begin, end in borders)]
    return sorted([*borders, *free])


def occurrences(text: str, names: Collection[str]) -> Spans:
    """The spans of `names` in a text, in order, the longest where several begin; no part of a longer Latin word."""
    written = sorted(filter(None, names), key=len, reverse=True)
    if not written:
        return []
    return [match.span() for match in re.finditer("|".join(map(as_word, written)), text)]
