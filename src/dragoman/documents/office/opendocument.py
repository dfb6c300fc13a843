"""OpenDocument spreadsheets and presentations (`.ods`, `.odp`): read and written as OpenDocument texts are (`odt`).

Of a spreadsheet the text of cells and comments, headers and footers; formulas with their results and what they compare,
numbers, dates, lists of allowed values and the names of sheets stay. Of a presentation the text of slides, notes and
masters.
"""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import IO, Any

from dragoman.documents.core.document import Document, DocumentOptions, Translations
from dragoman.documents.office.odt import OFFICE, STYLE, CellValues, cell_of, content_of
from dragoman.documents.office.package import Content, Package, Part, read_parts, write_parts
from dragoman.documents.office.xlsx_values import ComparedValues, compared_in, literals

_CALC = "{urn:org:documentfoundation:names:experimental:calc:xmlns:calcext:1.0}"
_TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
# Where the conditions of formats are, and the values of filters: an element and its attribute.
_CONDITIONS = ((f"{STYLE}map", f"{STYLE}condition"), (f"{_CALC}condition", f"{_CALC}value"))
_FILTERS = ((f"{_TABLE}filter-condition", f"{_TABLE}value"), (f"{_TABLE}filter-set-item", f"{_TABLE}value"))
_MEDIA = b"application/vnd.oasis.opendocument."


def read(path: Path, options: DocumentOptions) -> Document:
    """The texts of a spreadsheet or of a presentation."""
    return read_parts(path, *_kind(path))


def write(document: Document, translations: Translations, options: DocumentOptions, file: IO[bytes]) -> None:
    """The spreadsheet or the presentation with the translations in place of its texts."""
    write_parts(document, *_kind(document.path), translations, file)


def _kind(path: Path) -> tuple[str, Content]:
    if path.suffix.lower() in (".ods", ".ots"):
        name = "an OpenDocument spreadsheet (.ods)"
        return name, partial(_spreadsheet, name)
    name = "an OpenDocument presentation (.odp)"
    return name, partial(content_of, name=name, media=_MEDIA + b"presentation")


def _spreadsheet(name: str, package: Package) -> tuple[list[Part], list[str]]:
    """The parts of a spreadsheet, and what a person should know. Raises DataError."""
    parts, notices = content_of(package, name, _MEDIA + b"spreadsheet", _texts)
    return parts, [*notices, *_compared(package.xml("content.xml").root).notices()]


def _texts(root: Any) -> Callable[[Any], bool]:
    return partial(_is_text, _compared(root), CellValues())


def _compared(root: Any) -> ComparedValues:
    """What formulas and conditions of a part compare with the values of cells."""
    formulas = _attributes(root, (f"{_TABLE}table-cell", f"{_TABLE}formula"), *_CONDITIONS)
    allowed = _attributes(root, (f"{_TABLE}content-validation", f"{_TABLE}condition"))
    return ComparedValues(
        [
            *(value for formula in formulas for value in compared_in(formula)),
            *(value for condition in allowed for value in literals(condition)),
            *_attributes(root, *_FILTERS),
        ]
    )


def _attributes(root: Any, *places: tuple[str, str]) -> Iterator[str]:
    for tag, attribute in places:
        yield from (element.get(attribute, "") for element in root.iter(tag))


def _is_text(compared: ComparedValues, values: CellValues, paragraph: Any) -> bool:
    """Whether a paragraph is what people read: in no cell, in a comment, or in a cell whose value is its text."""
    cell = cell_of(paragraph)
    if cell is None:
        return True
    is_text = cell.get(f"{OFFICE}string-value") is None or values.lines(cell) is not None
    return (
        is_text
        and cell.get(f"{OFFICE}value-type", "string") == "string"
        and "".join(paragraph.itertext()) not in compared
    )
