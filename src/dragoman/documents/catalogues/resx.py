"""Resources of .NET (`.resx`, `.resw`): the strings, each written where it was; files, pictures and settings stay.

The mark of an accelerator key (`&Open`) is not translated, but set again. A string whose comment says `{Locked}` stays.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import IO

from dragoman.documents.core.document import Document, DocumentOptions, Translations
from dragoman.documents.core.labels import with_mark, without_marks
from dragoman.documents.xml.elements import Element, plain_text, read_elements
from dragoman.documents.xml.spans import Role
from dragoman.documents.xml.strings import XmlStrings, document_of, write_strings
from dragoman.errors import DataError


def read(path: Path, options: DocumentOptions) -> Document:
    """The strings of the file that people read."""
    decoded, root = read_elements(str(path), path.read_bytes())
    if root.name != "root":
        raise DataError(f"{path}:{root.line}: no resources of .NET, but <{root.name}>; check the file")
    document = document_of(path, decoded, root, XmlStrings(_strings, _role, lines=True))
    return without_marks(document)


def _strings(text: str, root: Element) -> Iterator[tuple[Element, str, str]]:
    """The values that are strings, with their names and comments."""
    for element in root.children:
        name, value, note = element.attributes.get("name", ""), element.child("value"), element.child("comment")
        comment = " ".join(plain_text(text, note).split()) if note else ""
        # What has a type is a number, a size, a picture; `>>` is before what only a designer reads.
        is_text = element.name == "data" and not {"type", "mimetype"} & element.attributes.keys()
        if is_text and value and not name.startswith(">>") and "{Locked}" not in comment:
            yield value, name, comment


def _role(element: Element) -> tuple[Role, str]:
    return "alone", element.name


def write(document: Document, translations: Translations, options: DocumentOptions, file: IO[bytes]) -> None:
    """The resources with the translations in place of their strings."""
    pieces = document.skeleton[2]
    marked = [new and with_mark(piece.inline, new) for piece, new in zip(pieces, translations, strict=True)]
    write_strings(document, marked, file)
