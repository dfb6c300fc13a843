"""Text of Excel ↔ tokens: strings with runs (`si`, `is`, `text` of a comment), headers and footers with codes."""

import re
from collections.abc import Iterator
from copy import deepcopy
from functools import partial
from typing import Any

from lxml import etree

from dragoman.documents.office.ooxml import XML_SPACE, RunStyle, style_key
from dragoman.documents.office.paragraphs import slot
from dragoman.documents.office.parts import local
from dragoman.documents.office.tokens import Alone, Break, Copied, Slot, Token, Words
from dragoman.documents.xml.text import writable

_IGNORED = frozenset({"charset", "family", "scheme"})
# How Excel writes what XML has not got; `_x005F_` is the underscore before such a code.
_ESCAPED = re.compile("_x([0-9A-Fa-f]{4})_")


def string_slot(item: Any, location: str) -> list[Slot]:
    """The slot of a string that is plain or has runs of several styles."""
    return slot(tokens_of(item), location, partial(_write, item))


def tokens_of(item: Any) -> list[Token]:
    """The tokens of a string. Its phonetic runs are no text of it."""
    out = list[Token]()
    for child in item:
        if local(child) == "t":
            out += _lines(child.text, RunStyle(()))
        elif local(child) == "r":
            properties = next(child.iterchildren("{*}rPr"), None)
            text = next((element.text for element in child.iterchildren("{*}t")), "")
            out += _lines(text, RunStyle(style_key(properties, _IGNORED), properties))
    return out


def _lines(text: str | None, style: RunStyle) -> Iterator[Token]:
    plain = _ESCAPED.sub(lambda match: chr(int(match[1], 16)), text or "").replace("\r", "")
    for index, line in enumerate(plain.split("\n")):
        if index:
            yield Break()
        if line:
            yield Words(line, style)


def _write(item: Any, tokens: list[Token]) -> None:
    runs = list[tuple[str, Any]]()
    for token in tokens:
        text = token.text if isinstance(token, Words) else "\n" if isinstance(token, Break) else ""
        style = token.style if isinstance(token, Words) else runs[-1][1] if runs else RunStyle(())
        if runs and runs[-1][1] == style:
            runs[-1] = runs[-1][0] + text, style
        elif text:
            runs.append((text, style))
    for child in list(item):
        # Readings are of the characters of the source.
        if local(child) in ("t", "r", "rPh", "phoneticPr"):
            item.remove(child)
    prefix = item.tag[: item.tag.index("}") + 1] if "}" in item.tag else ""
    plain = all(style.properties is None for _, style in runs)
    for text, style in runs if not plain else [("".join(text for text, _ in runs), RunStyle(()))]:
        run = item if plain else etree.SubElement(item, f"{prefix}r")
        if style.properties is not None:
            run.append(deepcopy(style.properties))
        element = etree.SubElement(run, f"{prefix}t")
        element.text = _ESCAPED.sub(lambda match: f"_x005F{match[0]}", writable(text))
        if text != " ".join(text.split()):
            element.set(XML_SPACE, "preserve")


# Sections of a header; fields that show a number or a name; formatting: font, colour, size, style.
_SECTION = re.compile(r"(&[LCR])")
_CODES = re.compile(r'(&[PNDTGFAZ](?:[+-]\d+)?)|(&"[^"]*"|&K(?:[0-9A-Fa-f]{6}|\d\d[+-]\d{3})|&\d+|&[BIUSEXYOH])|(&&)')


def header_slots(element: Any, location: str) -> Iterator[Slot]:
    """The slots of a header or footer of a sheet, one for each of its sections."""
    pieces = _SECTION.split(element.text or "")

    def write(index: int, tokens: list[Token]) -> None:
        pieces[index] = _header(tokens)
        element.text = "".join(pieces)

    for index in range(0, len(pieces), 2):
        yield from slot(list(_header_tokens(pieces[index])), location, partial(write, index))


def _header_tokens(text: str) -> Iterator[Token]:
    at = 0
    for match in _CODES.finditer(text):
        yield from _lines(text[at : match.start()], RunStyle(()))
        at = match.end()
        if match[1]:
            yield Copied(match[1], (match[1],), match[1])
        elif match[2]:
            yield Alone((match[2],), match[2])
        else:
            yield Words("&", RunStyle(()))
    yield from _lines(text[at:], RunStyle(()))


def _header(tokens: list[Token]) -> str:
    out = ""
    for token in tokens:
        if isinstance(token, Words):
            text = writable(token.text).replace("&", "&&")
            # After a size, digits would be taken for a part of it.
            out += " " + text if text[:1].isdigit() and re.search(r"&\d+$", out) else text
        else:
            out += "\n" if isinstance(token, Break) else "".join(token.elements)
    return out
