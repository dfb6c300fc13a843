"""Values of an Excel workbook that something compares with: a list of allowed values, a filter, a formula, a rule.

A cell that has such a value stays, because what it is compared with stays: `IF(A1="Yes", …)`. A list that refers to
cells changes with them.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from dragoman.documents.office.package import Package, local

_LITERAL = re.compile(r'"((?:[^"]|"")*)"')
# What is compared in a formula: a text next to a sign, and every text in a function that looks for one.
_COMPARED = re.compile(r'(?:=|<>)\s*"((?:[^"]|"")*)"|"((?:[^"]|"")*)"\s*(?:=|<>)')
_LOOKING = re.compile(
    r"\b(?:COUNTIFS?|SUMIFS?|AVERAGEIFS?|MAXIFS|MINIFS|MATCH|XMATCH|VLOOKUP|HLOOKUP|XLOOKUP|LOOKUP|SWITCH|EXACT|FILTER)\(",
    re.IGNORECASE,
)


def compared_values(package: Package, sheets: Sequence[str]) -> set[str]:
    """The texts with letters that the sheets compare with the values of cells."""
    values = {value for sheet in sheets for value in _values(package.xml(sheet).root)}
    return {value for value in values if any(map(str.isalpha, value))}


def _values(root: Any) -> Iterator[str]:
    for element in root.iter("{*}dataValidation"):
        if element.get("type") == "list":
            for first in element.iter("{*}formula1"):
                text = "".join(first.itertext()).strip()
                if literal := _LITERAL.fullmatch(text):
                    yield from (value.strip() for value in _plain(literal[1]).split(","))
    for element in root.iter("{*}f", "{*}formula"):
        formula = element.text or ""
        if '"' in formula:
            yield from (_plain(first or second) for first, second in _COMPARED.findall(formula))
            if _LOOKING.search(formula):
                yield from map(_plain, _LITERAL.findall(formula))
    for element in root.iter("{*}filter", "{*}customFilter"):
        yield element.get("val", "")
    for element in root.iter("{*}cfRule"):
        if local(element) == "cfRule" and element.get("text"):
            yield element.get("text", "")


def _plain(literal: str) -> str:
    return literal.replace('""', '"')
