"""Apple `.stringsdict`: the texts of plural rules and format strings, each written back where it was.

Rule types and value types are kept; `%#@name@` and other variables are copied. The plural categories are those of the
file: an app falls back to `other` for one that is missing.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import IO

from dragoman.documents.core.document import Document, DocumentOptions, Translations, Unit
from dragoman.documents.core.rewrite import written
from dragoman.documents.core.spans import UnitSpan
from dragoman.documents.core.splice import Decoded
from dragoman.documents.xml.check import write_checked
from dragoman.documents.xml.elements import Element, plain_text, read_elements
from dragoman.documents.xml.spans import Role, source_of, xml_pieces
from dragoman.documents.xml.text import escape, writable
from dragoman.errors import DataError
from dragoman.text.words.inline import InlineText

# Their strings say what a rule is, not what people read.
_KEPT = ("NSStringFormatSpecTypeKey", "NSStringFormatValueTypeKey")


def read(path: Path, options: DocumentOptions) -> Document:
    """The strings of the file that people read."""
    decoded, root = read_elements(str(path), path.read_bytes())
    top = next((child for child in root.children if child.name == "dict"), None)
    if root.name != "plist" or top is None:
        raise DataError(f"{path}:{root.line}: not a .stringsdict, but <{root.name}>; check the file")
    all_pieces: list[UnitSpan] = []
    units: list[Unit] = []
    for element, keys in _strings(decoded.text, top, ()):
        pieces = xml_pieces(decoded.text, element, _role, lines=True)
        all_pieces += pieces
        for number, piece in enumerate(pieces, 1):
            units.append(Unit(piece.inline, "/".join(keys if number == 1 else (*keys, str(number)))))
    return Document(path, units, (decoded, root, all_pieces))


def _strings(text: str, element: Element, keys: tuple[str, ...]) -> Iterator[tuple[Element, tuple[str, ...]]]:
    """The strings of a dictionary and of those in it, with the keys that lead to them."""
    key = ""
    for child in element.children:
        if child.name == "key":
            key = plain_text(text, child)
        elif child.name == "dict":
            yield from _strings(text, child, (*keys, key))
        elif child.name == "string" and key not in _KEPT:
            yield child, (*keys, key)


def _role(element: Element) -> tuple[Role, str]:
    return "alone", element.name


def write(document: Document, translations: Translations, options: DocumentOptions, file: IO[bytes]) -> None:
    """The .stringsdict file with the translations in place of its strings."""
    decoded: Decoded = document.skeleton[0]

    def write_text(part: str) -> str:
        return escape(writable(part), decoded.encoding)

    def write_piece(piece: UnitSpan, translation: InlineText) -> str:
        return written(piece, translation, write_text, source_of(decoded.text))

    write_checked(document, translations, file, write_piece, _all_pieces)


def _all_pieces(decoded: Decoded, root: Element) -> Iterator[UnitSpan]:
    """All texts, those without words too."""
    for top in (child for child in root.children if child.name == "dict"):
        for element, _ in _strings(decoded.text, top, ()):
            yield from xml_pieces(decoded.text, element, _role, lines=True, words=False)
