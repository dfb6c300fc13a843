"""XML files of strings in one language (Android, Apple): their units, and writing by splicing.

Read again, what is written has the letters that were to be written. Codes and white space are left out of the
comparison: a tag that is around a whole translation is outside of its unit.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from dragoman.documents.core.document import Document, Translations, Unit
from dragoman.documents.core.labels import length_limit
from dragoman.documents.core.spans import Item, UnitSpan
from dragoman.documents.core.splice import Decoded, Splice, UnreadableTranslation, spliced
from dragoman.documents.xml.elements import Element, read_elements
from dragoman.documents.xml.spans import Role, written_xml, xml_pieces
from dragoman.errors import DataError
from dragoman.text.words.inline import InlineText


@dataclass(frozen=True, slots=True)
class XmlStrings:
    """Which elements of a format are strings, by text and root: each with its name and its comment."""

    listed: Callable[[str, Element], Iterator[tuple[Element, str, str]]]
    role: Callable[[Element], tuple[Role, str]]
    """What an element in a string is, as `xml_pieces` takes it; so are `lines` and `texts`."""
    lines: bool = False
    texts: Callable[[str, int, int], Iterator[Item]] | None = None

    def pieces(self, text: str, element: Element, *, words: bool = True) -> list[UnitSpan]:
        return xml_pieces(text, element, self.role, lines=self.lines, words=words, texts=self.texts)

    def letters(self, decoded: Decoded, root: Element) -> Counter[str]:
        """The letters of all strings, of those without words too."""
        strings = [element for element, _, _ in self.listed(decoded.text, root)]
        return _letters(piece.inline for string in strings for piece in self.pieces(decoded.text, string, words=False))


def document_of(path: Path, decoded: Decoded, root: Element, strings: XmlStrings) -> Document:
    """The document of a file of strings: its units are named after their strings."""
    all_pieces: list[UnitSpan] = []
    units: list[Unit] = []
    for element, name, comment in strings.listed(decoded.text, root):
        for number, piece in enumerate(strings.pieces(decoded.text, element), 1):
            all_pieces.append(piece)
            location = name if number == 1 else f"{name} {number}"
            units.append(Unit(piece.inline, location, context=comment, max_length=length_limit(comment)))
    return Document(path, units, (decoded, root, all_pieces, strings))


def write_strings(
    document: Document,
    translations: Translations,
    file: IO[bytes],
    write_piece: Callable[[Decoded, UnitSpan, InlineText], str] = written_xml,
) -> None:
    """Write a file of strings. Raises DataError unless it has, read again, the letters that were to be written."""
    decoded, root, units, strings = document.skeleton
    pairs = zip(units, translations, strict=True)
    changed = [(piece, new) for piece, new in pairs if new is not None and new != piece.inline]
    splices = (Splice(piece.begin, piece.end, write_piece(decoded, piece, new)) for piece, new in changed)
    content = spliced(decoded, splices)
    if changed:
        expected = strings.letters(decoded, root)
        expected.subtract(_letters(piece.inline for piece, _ in changed))
        expected.update(_letters(new for _, new in changed))
        try:
            surplus = strings.letters(*read_elements(str(document.path), content))
        except DataError as error:
            raise _unreadable(document.path, str(error).partition("; ")[0]) from None
        surplus.subtract(expected)
        if wrong := "".join(letter for letter, count in surplus.items() if count):
            raise _unreadable(document.path, f"too many or too few of {wrong[:20]!r}")
    file.write(content)


def _unreadable(path: Path, why: str) -> UnreadableTranslation:
    return UnreadableTranslation(
        f"{path}: its translation could not be read again ({why}); nothing was written, please report it"
    )


def _letters(texts: Iterable[InlineText]) -> Counter[str]:
    return Counter(letter for inline in texts for letter in inline.text if letter.isalpha())
