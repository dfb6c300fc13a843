"""Values of a spreadsheet that something compares with: a list of allowed values, a filter, a formula, a rule.

A cell that has such a value stays, because what it is compared with stays: `IF(A1="Yes", …)`. Case makes no difference
to spreadsheets, and what a function looks for may have wildcards: `COUNTIF(A1:A9, "*late*")`. A list that refers to
cells changes with them.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import translate
from typing import Any

from dragoman.documents.office.ooxml import related
from dragoman.documents.office.package import Package, local

_LITERAL = re.compile(r'"((?:[^"]|"")*)"')
# What is compared in a formula: a text or an array of texts next to a sign, and every text in a function that looks for
# one.
_SIDE = r'("(?:[^"]|"")*+"|\{(?:[^{}"]|"(?:[^"]|"")*+")*+\})'
_COMPARED = re.compile(rf"(?:=|<>)\s*{_SIDE}|{_SIDE}\s*(?:=|<>)")
_LOOKING = re.compile(
    r"\b(?:COUNTIFS?|SUMIFS?|AVERAGEIFS?|MAXIFS|MINIFS|MATCH|XMATCH|VLOOKUP|HLOOKUP|XLOOKUP|LOOKUP|SWITCH|EXACT|FILTER)\(",
    re.IGNORECASE,
)


_CRITERION = re.compile(r"<>|<=|>=|[=<>]")
_ITSELF = re.compile(r"~([*?~])|\[")
LONGEST = 255
"""Spreadsheets compare no longer text with wildcards."""


class ComparedValues:
    """The texts with letters that something compares with, without regard to case; some have wildcards."""

    def __init__(self, values: Iterable[str]) -> None:
        self.shown = sorted({value for value in values if any(map(str.isalpha, value))})
        plain = [_CRITERION.sub("", value, count=1) if _CRITERION.match(value) else value for value in self.shown]
        self._texts = {text.casefold() for text in (*self.shown, *plain)}
        self._patterns = [_pattern(text) for text in plain if {"*", "?"} & set(text)]

    def __contains__(self, text: str) -> bool:
        folded = text.casefold()
        return folded in self._texts or (
            len(folded) <= LONGEST and any(pattern.fullmatch(folded) for pattern in self._patterns)
        )

    def notices(self) -> Iterator[str]:
        """What a person should know of them."""
        if self.shown:
            yield f"values that a list allows or a formula compares stay as they are: {', '.join(self.shown[:10])}"


def _pattern(text: str) -> re.Pattern[str]:
    """Of a text with wildcards: `*` any text, `?` a character, `~` before a sign that means itself."""
    return re.compile(translate(_ITSELF.sub(lambda match: f"[{match[1] or match[0]}]", text.casefold())))


def compared_values(package: Package, sheets: Sequence[str]) -> ComparedValues:
    """What the sheets of an Excel workbook, and the tables on them, compare with the values of cells."""
    tables = (table for sheet in sheets for table in related(package, sheet, "table").values())
    return ComparedValues(value for part in (*sheets, *tables) for value in _values(package.xml(part).root))


def compared_in(formula: str) -> Iterator[str]:
    """The texts that a formula compares with: those next to a sign, and all where a function looks for one."""
    if '"' in formula:
        for sides in _COMPARED.findall(formula):
            yield from literals("".join(sides))
        if _LOOKING.search(formula):
            yield from literals(formula)


def literals(formula: str) -> Iterator[str]:
    """All texts in quotation marks."""
    yield from map(_plain, _LITERAL.findall(formula))


def _values(root: Any) -> Iterator[str]:
    for element in root.iter("{*}dataValidation"):
        if element.get("type") == "list":
            for first in element.iter("{*}formula1"):
                text = "".join(first.itertext()).strip()
                if literal := _LITERAL.fullmatch(text):
                    yield from (value.strip() for value in _plain(literal[1]).split(","))
    for element in root.iter("{*}f", "{*}formula", "{*}formula1", "{*}formula2"):
        yield from compared_in(element.text or "")
    for element in root.iter("{*}filter", "{*}customFilter"):
        yield element.get("val", "")
    for element in root.iter("{*}cfRule"):
        if local(element) == "cfRule" and element.get("text"):
            yield element.get("text", "")


def _plain(literal: str) -> str:
    return literal.replace('""', '"')
