"""A document with one language, written by splicing into XML: read again, it has the letters that were to be written.

Codes and white space are left out of the comparison: a tag that is around a whole translation is outside of its unit.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import IO

from dragoman.documents.core.document import Document, Translations
from dragoman.documents.core.spans import UnitSpan
from dragoman.documents.core.splice import Decoded, Splice, spliced
from dragoman.documents.xml.elements import Element, read_elements
from dragoman.errors import DataError
from dragoman.text.words.inline import InlineText


def write_checked(
    document: Document,
    translations: Translations,
    file: IO[bytes],
    write_piece: Callable[[UnitSpan, InlineText], str],
    pieces: Callable[[Decoded, Element], Iterable[UnitSpan]],
) -> None:
    """Write a document of (text, root, units) with `write_piece` of each translation; see `check_letters`."""
    decoded, root, units = document.skeleton
    pairs = zip(units, translations, strict=True)
    changed = [(piece, new) for piece, new in pairs if new is not None and new != piece.inline]
    splices = (Splice(piece.begin, piece.end, write_piece(piece, new)) for piece, new in changed)
    content = b"".join(spliced(decoded, splices))
    if changed:
        check_letters(document.path, pieces(decoded, root), changed, content, pieces)
    file.write(content)


def check_letters(
    path: Path,
    old: Iterable[UnitSpan],
    changed: Iterable[tuple[UnitSpan, InlineText]],
    content: bytes,
    pieces: Callable[[Decoded, Element], Iterable[UnitSpan]],
) -> None:
    """Raise DataError unless `content` has the letters of `old` with these changes; `pieces` are all its texts."""
    expected = _letters(piece.inline for piece in old)
    for piece, new in changed:
        expected.subtract(_letters([piece.inline]))
        expected.update(_letters([new]))
    try:
        surplus = _letters(piece.inline for piece in pieces(*read_elements(str(path), content)))
    except DataError as error:
        raise _unreadable(path, str(error).partition("; ")[0]) from None
    surplus.subtract(expected)
    if wrong := "".join(letter for letter, count in surplus.items() if count):
        raise _unreadable(path, f"too many or too few of {wrong[:20]!r}")


def _unreadable(path: Path, why: str) -> DataError:
    return DataError(f"{path}: its translation could not be read again ({why}); nothing was written, please report it")


def _letters(texts: Iterable[InlineText]) -> Counter[str]:
    return Counter(letter for inline in texts for letter in inline.text if letter.isalpha())
