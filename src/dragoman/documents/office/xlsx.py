"""Excel (`.xlsx`): text of cells, comments, drawings, charts, headers and footers.

Formulas, numbers, the names of sheets and ranges, and the values of cells that something compares
(`office.xlsx_values`) stay as they are. The name of a table's column is the text of its header cell, and formulas may
use that name. A header of a table that formulas name stays too; any other is translated together with the name of its
column (`office.xlsx_tables`).
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import IO, Any

from dragoman.documents.core.document import Document, DocumentOptions, Translations
from dragoman.documents.office.drawingml import GRAPHICS, drawing_slots, graphic_slots
from dragoman.documents.office.ooxml import notices_of, part_types, related, title_parts
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
from dragoman.documents.office.xlsx_strings import PLAIN, lines_of, shown_text, string_of, string_slot, written
from dragoman.documents.office.xlsx_tables import (
    COLUMN_NAME,
    TableCell,
    cells_of_tables,
    names_in_formulas,
    rename_columns,
)
from dragoman.documents.office.xlsx_values import ComparedValues, compared_values
from dragoman.documents.xml.text import writable

NAME = "an Excel workbook (.xlsx)"
_MAIN = r"(ms-excel|spreadsheetml)\.(sheet|template)(\.macroEnabled)?\.main\+xml"
_STRINGS = "spreadsheetml.sharedStrings+xml"
# The messages of a cell that allows some values only, and the most characters of each: [MS-OI29500], 2.1.613.
_MESSAGES = {"promptTitle": 32, "prompt": 255, "errorTitle": 32, "error": 224}
# A cell that shows a shared string, and a formula with a text in it.
_USE = re.compile(rb'<(?:\w+:)?c r="([A-Z]+\d+)"[^>]*\bt="s"[^>]*><(?:\w+:)?v>(\d+)<')
_TEXT_FORMULA = re.compile(rb'<(?:\w+:)?f[^>]*>[^<]*"[^"<]*[^\W\d_][^"<]*"')


@dataclass(frozen=True, slots=True)
class Workbook:
    """What the parts of a workbook are."""

    types: dict[str, str]
    sheets: dict[str, str]
    """The name of each sheet by its part, in the order of the workbook."""
    strings: str | None
    table_cells: list[TableCell]
    names: set[str]
    """What formulas have in brackets."""
    compared: ComparedValues
    """Values that a list allows, or that a formula or a filter compares with: cells that have them stay."""

    @property
    def headers(self) -> list[TableCell]:
        """The header cells of tables."""
        return [cell for cell in self.table_cells if cell.attribute == COLUMN_NAME]


def read(path: Path, options: DocumentOptions) -> Document:
    """The text of a workbook."""
    return read_parts(path, NAME, partial(_content, options=options))


def write(document: Document, translations: Translations, options: DocumentOptions, file: IO[bytes]) -> None:
    """The workbook with the translations in place of its cells."""
    with open_package(document.path, NAME) as package:
        book = _workbook(package)
        changed = changed_parts(package, _parts(package, book, options), translations, document.remarks)
        write_package(package, rename_columns(package, book.table_cells, changed, book.strings, document.remarks), file)


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
    tables = cells_of_tables(package, list(sheets))
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
        elif kind in GRAPHICS:
            yield name, graphic_slots(kind, where, options.target)
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
            if (item := string_of(cell)) is not None:
                text, place = shown_text(item), cell.get("r")
                if (place not in named or text not in book.names) and text not in book.compared:
                    yield from string_slot(item, f"{label}!{place}")
        for rule in root.iter("{*}dataValidation"):
            yield from message_slots(rule, label)
        for element in root.iterfind("{*}headerFooter/*"):
            yield from header_slots(element, f"{label}, {local(element)}")

    return slots


def message_slots(rule: Any, label: str) -> Iterator[Slot]:
    """The slots of the messages of a rule of which values cells allow."""
    cells = rule.get("sqref") or next((element.text for element in rule.iterchildren("{*}sqref")), "")
    for attribute, most in _MESSAGES.items():
        tokens = list(lines_of(rule.get(attribute)))
        length = sum(len(token.text) if isinstance(token, Words) else 1 for token in tokens)
        for text in slot(tokens, f"{label}!{cells}, {attribute}", partial(_write_message, rule, attribute)):
            outside = length - len(text.source.text)
            yield replace(text, context="message", max_length=most - outside)


def _write_message(rule: Any, attribute: str, tokens: list[Token]) -> None:
    rule.set(attribute, "".join(map(written, tokens)).replace("\n", "_x000a_"))


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
    if unchanged := sorted({header.text for header in book.headers} & book.names):
        yield f"headers of tables that formulas name stay as they are: {', '.join(unchanged)}"


# Sections of a header; fields that show a number or a name; formatting: font, colour, size, style.
_SECTION = re.compile(r'&&|&"[^"]*"|(&[LCR])')
_SECTIONS = {"&L": "left", "&C": "centre", "&R": "right"}
_CODES = re.compile(r'(&[PNDTGFAZ](?:[+-]\d+)?)|(&"[^"]*"|&K(?:[0-9A-Fa-f]{6}|\d\d[+-]\d{3})|&\d+|&[BIUSEXYOH])|(&&)')


# The most characters of a header with its codes.
_LONGEST_HEADER = 255


def header_slots(element: Any, location: str) -> Iterator[Slot]:
    """The slots of a header or footer of a sheet, one for each of its sections."""
    pieces = _sections(element.text or "")

    def write(index: int, tokens: list[Token]) -> None:
        pieces[index] = _header(tokens)
        element.text = "".join(pieces)

    slots = list[Slot]()
    for index in range(0, len(pieces), 2):
        # What is before the first code is in the centre.
        section = _SECTIONS[pieces[index - 1]] if index else "centre"
        slots += slot(list(_header_tokens(pieces[index])), f"{location}, {section}", partial(write, index))
    for text in slots:
        more = max(_LONGEST_HEADER - len(element.text), 0) // len(slots)
        yield replace(text, max_length=len(text.source.text) + more)


def _sections(text: str) -> list[str]:
    """The sections of a header, and the codes between them at odd places."""
    pieces, at = list[str](), 0
    for match in _SECTION.finditer(text):
        if match[1]:
            pieces += [text[at : match.start()], match[1]]
            at = match.end()
    return [*pieces, text[at:]]


def _header_tokens(text: str) -> Iterator[Token]:
    at = 0
    for match in _CODES.finditer(text):
        yield from lines_of(text[at : match.start()])
        at = match.end()
        if match[1]:
            yield Copied(match[1], (match[1],), match[1])
        elif match[2]:
            yield Alone((match[2],), match[2])
        else:
            yield Words("&", PLAIN)
    yield from lines_of(text[at:])


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
