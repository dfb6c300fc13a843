"""Text of Excel ↔ tokens: strings with runs (`si`, `is`, `text` of a comment), headers and footers with codes; tables.

The name of a table's column is the text of its header cell, and formulas may use that name.
"""

import html
import posixpath
import re
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from typing import Any

from lxml import etree

from dragoman.documents.office.ooxml import XML_SPACE, RunStyle, style_key
from dragoman.documents.office.package import Package, local
from dragoman.documents.office.paragraphs import Alone, Break, Copied, Slot, Token, Words, slot
from dragoman.documents.xml.text import writable
from dragoman.documents.xml.xml import Xml, parse_xml, serialise_xml

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


_BRACKETS = re.compile(r"\[@?([^\[\]]+)\]")
_CELL = re.compile(r"([A-Z]+)(\d+)")


@dataclass(frozen=True, slots=True)
class HeaderCell:
    """A header cell of a table: the number of its string, or None if the string is in the sheet."""

    table: str
    column: int
    sheet: str
    cell: str
    string: int | None


def shown_text(item: Any) -> str:
    """The text of a string as a cell shows it."""
    return "".join(
        token.text if isinstance(token, Words) else "\n"
        for token in tokens_of(item)
        if isinstance(token, Words | Break)
    )


def related(package: Package, part: str, kind: str) -> dict[str, str]:
    """The parts of a kind (`table`) to which a part refers, by the identifier of the relation."""
    folder, _, name = part.rpartition("/")
    relations = f"{folder}/_rels/{name}.rels"
    if relations not in package.parts:
        return {}
    targets = {
        relation.get("Id", ""): posixpath.normpath(posixpath.join("/" + folder, relation.get("Target", ""))).lstrip("/")
        for relation in package.xml(relations).root
        if relation.get("Type", "").endswith(f"/{kind}")
    }
    return {key: target for key, target in targets.items() if target in package.parts}


def headers(package: Package, sheets: list[str]) -> list[HeaderCell]:
    """The header cells of all tables."""
    out = list[HeaderCell]()
    for sheet in sheets:
        tables = related(package, sheet, "table")
        if not tables:
            continue
        cells = {cell.get("r"): cell for cell in package.xml(sheet).root.iter("{*}c")}
        for table in tables.values():
            root = package.xml(table).root
            corner = _CELL.match(root.get("ref", ""))
            columns = list(root.iterfind("{*}tableColumns/{*}tableColumn"))
            if corner is None or root.get("headerRowCount") == "0":
                continue
            for index in range(len(columns)):
                name = f"{_letters(_number(corner[1]) + index)}{corner[2]}"
                cell = cells.get(name)
                if cell is not None:
                    value = next((element.text for element in cell.iterchildren("{*}v")), None)
                    shared = cell.get("t") == "s" and value is not None and value.isdigit()
                    out.append(HeaderCell(table, index, sheet, name, int(value) if shared and value else None))
    return out


def names_in_formulas(package: Package, types: Mapping[str, str]) -> set[str]:
    """What formulas write in brackets, as they name the columns of tables, and the fields of pivot tables."""
    names = set[str]()
    for name, kind in types.items():
        if kind.startswith("spreadsheetml.") and kind.endswith("+xml") and "sharedStrings" not in kind:
            content = package.read(name).decode("utf-8", "replace")
            names |= {html.unescape(bracket).replace("'", "") for bracket in _BRACKETS.findall(content)}
        if "pivotCacheDefinition" in kind:
            names |= {field.get("name", "") for field in package.xml(name).root.iter("{*}cacheField")}
    return names


def rename_columns(
    package: Package, cells: list[HeaderCell], changed: dict[str, bytes], strings: str | None, remarks: list[str]
) -> dict[str, bytes]:
    """The changed parts with columns named as their header cells, each of them once in its table; `remarks` grow."""
    trees = dict[str, Xml]()

    def tree(part: str) -> Xml:
        if part not in trees:
            trees[part] = parse_xml(f"{package.path}: {part}", changed[part]) if part in changed else package.xml(part)
        return trees[part]

    touched = set[str]()
    for header, item, part in _items(cells, tree, strings):
        columns = list(tree(header.table).root.iterfind("{*}tableColumns/{*}tableColumn"))
        if part not in changed or shown_text(item) == _plain(columns[header.column].get("name", "")):
            continue
        others = (column for column in columns if column is not columns[header.column])
        taken = {_plain(column.get("name", "")).casefold() for column in others}
        name, number = shown_text(item), 1
        while name.casefold() in taken:
            number += 1
            name = f"{shown_text(item)} {number}"
        if number > 1:
            last = list(item.iter("{*}t"))[-1]
            last.text = f"{last.text} {number}"
            touched.add(part)
            remarks.append(f"{header.cell}: another column of the table is called the same, so this one is {name!r}")
        columns[header.column].set("name", name.replace("\n", "_x000a_"))
        touched.add(header.table)
    return changed | {part: serialise_xml(trees[part]) for part in touched}


def _items(cells: list[HeaderCell], tree: Any, strings: str | None) -> Iterator[tuple[HeaderCell, Any, str]]:
    """Each header with the element of its string and the part that has it."""
    items = [element for element in tree(strings).root if local(element) == "si"] if strings is not None else []
    for header in cells:
        if header.string is not None and strings is not None and header.string < len(items):
            yield header, items[header.string], strings
        elif header.string is None:
            for cell in tree(header.sheet).root.iter("{*}c"):
                if cell.get("r") == header.cell and (inline := next(cell.iterchildren("{*}is"), None)) is not None:
                    yield header, inline, header.sheet


def _plain(name: str) -> str:
    return re.sub("_x000[aA]_", "\n", name)


def _number(letters: str) -> int:
    number = 0
    for letter in letters:
        number = number * 26 + ord(letter) - 64
    return number


def _letters(number: int) -> str:
    letters = ""
    while number:
        number, rest = divmod(number - 1, 26)
        letters = chr(65 + rest) + letters
    return letters
