"""Apple `.stringsdict`: the texts of plural rules and format strings, each written back where it was.

Rule types and value types are kept; `%#@name@` and other variables are copied. The plural categories are those of the
file: an app falls back to `other` for one that is missing.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import IO

from dragoman.documents.core.document import Document, DocumentOptions, Translations
from dragoman.documents.xml.elements import Element, plain_text, read_elements
from dragoman.documents.xml.spans import Role
from dragoman.documents.xml.strings import XmlStrings, document_of, write_strings
from dragoman.errors import DataError

# Their strings say what a rule is, not what people read.
_UNTRANSLATED_KEYS = ("NSStringFormatSpecTypeKey", "NSStringFormatValueTypeKey")


def read(path: Path, options: DocumentOptions) -> Document:
    """The strings of the file that people read."""
    decoded, root = read_elements(str(path), path.read_bytes())
    if root.name != "plist" or root.child("dict") is None:
        raise DataError(f"{path}:{root.line}: not a .stringsdict, but <{root.name}>; check the file")
    return document_of(path, decoded, root, XmlStrings(_strings, _role, lines=True))


def _strings(text: str, element: Element, path: str = "") -> Iterator[tuple[Element, str, str]]:
    """The strings of a dictionary and of those in it, named by the keys that lead to them."""
    key = ""
    for child in element.children:
        if child.name == "key":
            key = plain_text(text, child)
        elif child.name == "dict":
            yield from _strings(text, child, f"{path}/{key}" if path else key)
        elif child.name == "string" and key not in _UNTRANSLATED_KEYS:
            yield child, f"{path}/{key}" if path else key, ""


def _role(element: Element) -> tuple[Role, str]:
    return "alone", element.name


def write(document: Document, translations: Translations, options: DocumentOptions, file: IO[bytes]) -> None:
    """The .stringsdict file with the translations in place of its strings."""
    write_strings(document, translations, file)
