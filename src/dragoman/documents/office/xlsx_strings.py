"""Strings of a workbook ↔ tokens: shared ones, those of cells, and texts of attributes.

A shared string (`si`) and one in a cell (`is`) may have runs of several styles; a value (`v`) is plain text.
"""

import re
import unicodedata
from collections.abc import Iterator
from copy import deepcopy
from functools import partial
from typing import Any

from lxml import etree

from dragoman.documents.office.ooxml import XML_SPACE, RunStyle, style_key
from dragoman.documents.office.package import local
from dragoman.documents.office.paragraphs import Alone, Break, Slot, Token, Words, slot
from dragoman.documents.xml.text import writable

_IGNORED = frozenset({"charset", "family", "scheme"})
# How Excel writes what XML has not got; `_x005F_` is the underscore before such a code.
_ESCAPED = re.compile("_x([0-9A-Fa-f]{4})_")
PLAIN = RunStyle(())


def string_of(cell: Any) -> Any:
    """The string that a cell has itself, in `is` or as a value that is no result of a formula; None if it has none."""
    inline = next(cell.iterchildren("{*}is"), None)
    if inline is None and cell.get("t") == "str" and cell.find("{*}f") is None:
        return next(cell.iterchildren("{*}v"), None)
    return inline


def string_slot(item: Any, location: str) -> list[Slot]:
    """The slot of a string that is plain or has runs of several styles."""
    return slot(tokens_of(item), location, partial(_write, item))


def tokens_of(item: Any) -> list[Token]:
    """The tokens of a string. Its phonetic runs are no text of it."""
    out = list[Token]()
    if local(item) == "v":
        return list(lines_of(item.text))
    for child in item:
        if local(child) == "t":
            out += lines_of(child.text)
        elif local(child) == "r":
            properties = next(child.iterchildren("{*}rPr"), None)
            text = next((element.text for element in child.iterchildren("{*}t")), "")
            out += lines_of(text, RunStyle(style_key(properties, _IGNORED), properties))
    return out


def lines_of(text: str | None, style: RunStyle = PLAIN) -> Iterator[Token]:
    """The tokens of a text that is written as Excel writes it."""
    at, text = 0, text or ""
    controls = [match for match in _ESCAPED.finditer(text) if _is_control(chr(int(match[1], 16)), text[match.end() :])]
    for match in [*controls, None]:
        part = text[at : match.start() if match else len(text)]
        plain = _ESCAPED.sub(lambda code: chr(int(code[1], 16)), part).replace("\r", "")
        for index, line in enumerate(plain.split("\n")):
            if index:
                yield Break()
            if line:
                yield Words(line, style)
        if match:
            yield Alone((match[0],), match[0])
            at = match.end()


def _is_control(character: str, following: str) -> bool:
    """Whether a character, unlike a line break and a tab, has no place in a text: it is copied as it is written."""
    is_break = character == "\r" and following.startswith(("\n", "_x000A_", "_x000a_"))
    return unicodedata.category(character) in ("Cc", "Cs") and character not in "\t\n" and not is_break


def _write(item: Any, tokens: list[Token]) -> None:
    if local(item) == "v":
        item.text = "".join(map(written, tokens))
        return
    runs = list[tuple[str, Any]]()
    for token in tokens:
        text = written(token)
        style = token.style if isinstance(token, Words) else runs[-1][1] if runs else PLAIN
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
    for text, style in runs if not plain else [("".join(text for text, _ in runs), PLAIN)]:
        run = item if plain else etree.SubElement(item, f"{prefix}r")
        if style.properties is not None:
            run.append(deepcopy(style.properties))
        element = etree.SubElement(run, f"{prefix}t")
        element.text = text
        if text != " ".join(text.split()):
            element.set(XML_SPACE, "preserve")


def written(token: Token) -> str:
    """A token as a string has it."""
    if isinstance(token, Words):
        return _ESCAPED.sub(lambda match: f"_x005F{match[0]}", writable(token.text))
    return "\n" if isinstance(token, Break) else "".join(token.elements) if isinstance(token, Alone) else ""


def shown_text(item: Any) -> str:
    """The text of a string as a cell shows it."""
    return "".join(
        token.text if isinstance(token, Words) else "\n"
        for token in tokens_of(item)
        if isinstance(token, Words | Break)
    )
