"""A comment for translators → the most characters that it allows: "Max length: 20", "at most 20 characters"."""

import re

_LIMITS = (
    re.compile(
        r"\bmax(?:imum|\.)?[ _-]?(?:(?:string |text )?(?:length|len|width|size|chars?|characters?)\b)"
        r"(?: is| of)?\s{0,3}[:=]?\s{0,3}(\d{1,5})",
        re.IGNORECASE,
    ),
    re.compile(
        r"\b(?:max(?:imum|\.)?(?: of)?|at most|up to|no more than|limit(?:ed)?(?: to| of|:)?) (\d{1,5}) char", re.I
    ),
    re.compile(r"\b(\d{1,5}) (?:chars?|characters?) (?:max(?:imum)?\b|at most|or (?:less|fewer))", re.I),
    re.compile(r"\b(?:char(?:acter)?|length)[ _-]?limit\s{0,3}[:=]?\s{0,3}(\d{1,5})", re.I),
    re.compile(r"최대\s{0,3}(\d{1,5})\s{0,3}(?:자|글자)"),
)


def length_limit(comment: str) -> int | None:
    """The limit that a comment names, in characters of the translation."""
    for pattern in _LIMITS:
        if match := pattern.search(comment):
            return int(match[1]) or None
    return None
