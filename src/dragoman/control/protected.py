"""Where strings that a translation copies are in a text. No torch."""

import re
from collections.abc import Collection


def occurrences(text: str, names: Collection[str]) -> list[tuple[int, int]]:
    """The spans of `names` in a text, in order, the longest where several begin; no part of a longer Latin word."""
    written = sorted(filter(None, names), key=len, reverse=True)
    if not written:
        return []
    return [match.span() for match in re.finditer("|".join(map(_pattern, written)), text)]


def _pattern(name: str) -> str:
    before = "(?<![A-Za-z0-9_])" if re.match("[A-Za-z0-9_]", name) else ""
    after = "(?![A-Za-z0-9_])" if re.search("[A-Za-z0-9_]$", name) else ""
    return before + re.escape(name) + after
