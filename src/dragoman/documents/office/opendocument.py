"""OpenDocument spreadsheets and presentations (`.ods`, `.odp`): read and written as OpenDocument texts are (`odt`).

Of a spreadsheet the text of cells and comments, headers and footers; formulas with their results, numbers, dates, lists
of allowed values and the names of sheets stay. Of a presentation the text of slides, notes and masters.
"""

from functools import partial
from pathlib import Path
from typing import IO, Any

from dragoman.documents.core.document import Document, DocumentOptions, Translations
from dragoman.documents.office.odt import content_of
from dragoman.documents.office.package import Content, local, read_parts, write_parts

_OFFICE = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}"
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
        return name, partial(content_of, name=name, media=_MEDIA + b"spreadsheet", is_text=_is_text)
    name = "an OpenDocument presentation (.odp)"
    return name, partial(content_of, name=name, media=_MEDIA + b"presentation")


def _is_text(paragraph: Any) -> bool:
    """Whether a paragraph is what people read: in no cell, in a comment, or in a cell whose value is its text."""
    for above in paragraph.iterancestors():
        if local(above) == "annotation":
            return True
        if local(above) in ("table-cell", "covered-table-cell"):
            value = above.get(f"{_OFFICE}string-value")
            return above.get(f"{_OFFICE}value-type", "string") == "string" and value is None
    return True
