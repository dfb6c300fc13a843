"""Excel (`.xlsx`): text of cells, comments, drawings, charts, headers and footers.

Formulas, numbers, the names of sheets and ranges, and the values of cells that something compares
(`office.xlsx_values`) stay as they are. The name of a table's column is the text of its
header cell, and formulas may use that name. A header of a table that formulas name stays too; any other is translated
together with the name of its column.
"""

import html
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from itertools import dropwhile, product
from pathlib import Path
from string import ascii_uppercase
from typing import IO, Any

from lxml import etree

from dragoman.documents.core.document import Document, DocumentOptions, Translations
from dragoman.documents.office.drawingml import chart_slots, drawing_slots
from dragoman.documents.office.ooxml import XML_SPACE, RunStyle, notices_of, part_types, related, style_key, title_parts
from dragoman.documents.office.package import (
    Package,
    Part,
    changed_parts,
    local,
    open_package,
    read_parts,
    text_slot,
    write_package,
)
from dragoman.documents.office.paragraphs import Alone, Break, Copied, Slot, Token, Words, slot
from dragoman.documents.office.xlsx_values import ComparedValues, compared_values
from dragoman.documents.xml.text import writable
from dragoman.documents.xml.xml import Xml, parse_xml, serialise_xml

NAME = "an Excel workbook (.xlsx)"
_MAIN = r"(ms-excel|spreadsheetml)\.(sheet|template)(\.macroEnabled)?\.main\+xml"
_STRINGS = "spreadsheetml.sharedStrings+xml"
_MESSAGES = ("promptTitle", "prompt", "errorTitle", "error")
# A cell that shows a shared string, and a formula with a text in it.
_USE = re.compile(rb'<(?:\w+:)?c r="([A-Z]+\d+)"[^>]*\bt="s"[^>]*><(?:\w+:)?v>(\d+)<')
_TEXT_FORMULA = re.compile(rb'<(?:\w+:)?f[^>]*>[^<]*"[^"<]*[^\W\d_][^"<]*"')
_IGNORED = frozenset({"charset", "family", "scheme"})
# How Excel writes what XML has not got; `_x005F_` is the underscore before such a code.
_ESCAPED = re.compile("_x([0-9A-Fa-f]{4})_")


@dataclass(frozen=True, slots=True)
class HeaderCell:
    """A header cell of a table: the number of its string, or None if the string is in the sheet."""

    table: str
    column: int
    sheet: str
    cell: str
    string: int | None


@dataclass(frozen=True, slots=True)
class Workbook:
    """What the parts of a workbook are."""

    types: dict[str, str]
    sheets: dict[str, str]
    """The name of each sheet by its part, in the order of the workbook."""
    strings: str | None
    headers: list[HeaderCell]
    names: set[str]
    """What formulas have in brackets."""
    compared: ComparedValues
    """Values that a list allows, or that a formula or a filter compares with: cells that have them stay."""


def read(path: Path, options: DocumentOptions) -> Document:
    """The text of a workbook."""
    return read_parts(path, NAME, partial(_content, options=options))


def write(document: Document, translations: Translations, options: DocumentOptions, file: IO[bytes]) -> None:
    """The workbook with the translations in place of its cells."""
    with open_package(document.path, NAME) as package:
        book = _workbook(package)
        changed = changed_parts(package, _parts(package, book, options), translations)
        write_package(package, rename_columns(package, book.headers, changed, book.strings, document.remarks), file)


def _content(package: Package, options: DocumentOptions) -> tuple[Iterator[Part], Iterator[str]]:
    book = _workbook(package)
    return _parts(package, book, options), _notices(package, book)


def _workbook(package: Package) -> Workbook:
    types = part_types(package, _MAIN, NAME)
    main = next(name for name, kind in types.items() if re.match(_MAIN, kind))
    targets, sheets = related(package, main, "worksheet"), dict[str, str]()
    for sheet in package.xml(main).root.iterfind("{*}sheets/{*}sheet"):
        identifier = next((value for name, value in sheet.items() if name.endswith("}id")), "")
        if identifier in targets:  # not a sheet that is a chart
            sheets[targets[identifier]] = sheet.get("name", "")
    strings = next((name for name, kind in types.items() if kind == _STRINGS), None)
    tables = headers(package, list(sheets))
    return Workbook(
        types,
        sheets,
        strings,
        tables,
        names_in_formulas(package, types) if tables else set(),
        compared_values(package, list(sheets)),
    )


def _parts(package: Package, book: Workbook, options: DocumentOptions) -> Iterator[Part]:
    if book.strings is not None:
        yield book.strings, _strings(package, book)
    for name, label in book.sheets.items():
        yield name, _sheet(label, book)
    for name, kind in book.types.items():
        where = name.rpartition("/")[2].partition(".")[0]
        if kind == "spreadsheetml.comments+xml":
            yield name, _comments("comment", where, string_slot)
        elif kind == "ms-excel.threadedcomments+xml":
            yield name, _comments("threadedComment", where, text_slot)
        elif kind == "drawing+xml":
            yield name, drawing_slots(where, options.target)
        elif kind == "drawingml.chart+xml":
            yield name, chart_slots(where, options.target)
    yield from title_parts(book.types)


def _strings(package: Package, book: Workbook) -> Callable[[Any], Iterator[Slot]]:
    """The shared strings, but not those of the headers that formulas name."""
    uses = dict[int, str]()
    for part, label in book.sheets.items():
        for cell, number in _USE.findall(package.read(part)):
            uses.setdefault(int(number), f"{label}!{cell.decode()}")
    named = {header.string for header in book.headers}

    def slots(root: Any) -> Iterator[Slot]:
        items = [element for element in root if local(element) == "si"]
        for number, item in enumerate(items):
            text = shown_text(item)
            if (number not in named or text not in book.names) and text not in book.compared:
                yield from string_slot(item, uses.get(number, f"string {number}"))

    return slots


def _sheet(label: str, book: Workbook) -> Callable[[Any], Iterator[Slot]]:
    named = {header.cell for header in book.headers if header.string is None and book.sheets[header.sheet] == label}

    def slots(root: Any) -> Iterator[Slot]:
        for cell in root.iterfind("{*}sheetData/{*}row/{*}c"):
            for inline in cell.iterchildren("{*}is"):
                text = shown_text(inline)
                if (cell.get("r") not in named or text not in book.names) and text not in book.compared:
                    yield from string_slot(inline, f"{label}!{cell.get('r')}")
            if cell.get("t") == "str" and cell.find("{*}f") is None:
                for value in cell.iterchildren("{*}v"):
                    if (value.text or "") not in book.compared:
                        yield from slot(
                            list(_lines(value.text, RunStyle(()))),
                            f"{label}!{cell.get('r')}",
                            partial(_write_value, value),
                        )
        for rule in root.iterfind("{*}dataValidations/{*}dataValidation"):
            for attribute in _MESSAGES:
                yield from text_slot(rule, f"{label}!{rule.get('sqref')}", attribute, "message")
        for element in root.iterfind("{*}headerFooter/*"):
            yield from header_slots(element, f"{label}, {local(element)}")

    return slots


def _comments(name: str, where: str, make: Callable[[Any, str], list[Slot]]) -> Callable[[Any], Iterator[Slot]]:
    def slots(root: Any) -> Iterator[Slot]:
        for comment in root.iter(f"{{*}}{name}"):
            for text in comment.iterchildren("{*}text"):
                yield from make(text, f"{where}, {comment.get('ref')}")

    return slots


def _notices(package: Package, book: Workbook) -> Iterator[str]:
    """What a person should know, and look at afterwards."""
    yield from notices_of(book.types)
    yield from book.compared.notices()
    if any(_TEXT_FORMULA.search(package.read(part)) for part in book.sheets):
        yield "formulas that contain text: what they compare or show is not translated"
    if any(header.string is not None for header in book.headers) and book.names and book.strings is not None:
        items = [element for element in package.xml(book.strings).root if local(element) == "si"]
        shared = [header.string for header in book.headers if header.string is not None and header.string < len(items)]
        unchanged = sorted({shown_text(items[number]) for number in shared} & book.names)
        if unchanged:
            yield f"headers of tables that formulas name stay as they are: {', '.join(unchanged)}"


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
    runs = list[tuple[str, Any]]()
    for token in tokens:
        text = _written(token)
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
        element.text = text
        if text != " ".join(text.split()):
            element.set(XML_SPACE, "preserve")


def _written(token: Token) -> str:
    """A token as a string has it."""
    if isinstance(token, Words):
        return _ESCAPED.sub(lambda match: f"_x005F{match[0]}", writable(token.text))
    return "\n" if isinstance(token, Break) else "".join(token.elements) if isinstance(token, Alone) else ""


def _write_value(element: Any, tokens: list[Token]) -> None:
    element.text = "".join(map(_written, tokens))


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


def shown_text(item: Any) -> str:
    """The text of a string as a cell shows it."""
    return "".join(
        token.text if isinstance(token, Words) else "\n"
        for token in tokens_of(item)
        if isinstance(token, Words | Break)
    )


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
            columns = root.findall("{*}tableColumns/{*}tableColumn")
            if corner is None or root.get("headerRowCount") == "0":
                continue
            for index, letters in zip(range(len(columns)), _columns_from(corner[1]), strict=False):
                name = f"{letters}{corner[2]}"
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


def _columns_from(letters: str) -> Iterator[str]:
    """The name of a column and of all after it: Z, AA, …"""
    names = ("".join(name) for length in (1, 2, 3) for name in product(ascii_uppercase, repeat=length))
    return dropwhile(lambda name: name != letters, names)
