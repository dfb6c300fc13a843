"""Excel (`.xlsx`): text of cells, comments, drawings, charts, headers and footers.

Formulas, numbers and the names of sheets and ranges stay as they are. A header of a table that formulas name stays too;
any other is translated together with the name of its column.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from dragoman.documents.core.document import Document, DocumentOptions, Translations
from dragoman.documents.office.drawingml import chart_slots, drawing_slots
from dragoman.documents.office.ooxml import notices_of, part_types, title_parts
from dragoman.documents.office.package import (
    Package,
    Part,
    changed_parts,
    check_whole,
    local,
    open_package,
    text_slot,
    units_of,
    write_package,
)
from dragoman.documents.office.paragraphs import Slot
from dragoman.documents.office.xlsx_text import (
    HeaderCell,
    header_slots,
    headers,
    names_in_formulas,
    related,
    rename_columns,
    shown_text,
    string_slot,
)

NAME = "an Excel workbook (.xlsx)"
_MAIN = r"(ms-excel|spreadsheetml)\.(sheet|template)(\.macroEnabled)?\.main\+xml"
_STRINGS = "spreadsheetml.sharedStrings+xml"
_MESSAGES = ("promptTitle", "prompt", "errorTitle", "error")
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
    headers: list[HeaderCell]
    names: set[str]
    """What formulas have in brackets."""


def read(path: Path, options: DocumentOptions) -> Document:
    """The text of a workbook."""
    with open_package(path, NAME) as package:
        check_whole(package)
        book = _workbook(package)
        units = list(units_of(package, _parts(package, book, options)))
        return Document(path, units, notices=(*notices_of(book.types), *_notices(package, book)))


def write(document: Document, translations: Translations, options: DocumentOptions, file: IO[bytes]) -> None:
    """The workbook with the translations in place of its cells."""
    with open_package(document.path, NAME) as package:
        book = _workbook(package)
        changed = changed_parts(package, _parts(package, book, options), translations)
        write_package(package, rename_columns(package, book.headers, changed, book.strings, document.remarks), file)


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
    return Workbook(types, sheets, strings, tables, names_in_formulas(package, types) if tables else set())


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
            if number not in named or shown_text(item) not in book.names:
                yield from string_slot(item, uses.get(number, f"string {number}"))

    return slots


def _sheet(label: str, book: Workbook) -> Callable[[Any], Iterator[Slot]]:
    named = {header.cell for header in book.headers if header.string is None and book.sheets[header.sheet] == label}

    def slots(root: Any) -> Iterator[Slot]:
        for cell in root.iterfind("{*}sheetData/{*}row/{*}c"):
            for inline in cell.iterchildren("{*}is"):
                if cell.get("r") not in named or shown_text(inline) not in book.names:
                    yield from string_slot(inline, f"{label}!{cell.get('r')}")
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
    """What a person should look at afterwards."""
    if any(_TEXT_FORMULA.search(package.read(part)) for part in book.sheets):
        yield "formulas that contain text: what they compare or show is not translated"
    if any(header.string is not None for header in book.headers) and book.names and book.strings is not None:
        items = [element for element in package.xml(book.strings).root if local(element) == "si"]
        shared = [header.string for header in book.headers if header.string is not None and header.string < len(items)]
        unchanged = sorted({shown_text(items[number]) for number in shared} & book.names)
        if unchanged:
            yield f"headers of tables that formulas name stay as they are: {', '.join(unchanged)}"
