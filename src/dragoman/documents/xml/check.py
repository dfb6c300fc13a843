"""A document with one language, written by splicing into XML: read again, it has the letters that were to be written.

Codes and white space are left out of the comparison: a tag that is around a whole translation is outside of its unit.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path

from dragoman.documents.core.runs import Piece
from dragoman.documents.core.splice import Decoded
from dragoman.documents.xml.elements import Element, read_elements
from dragoman.errors import DataError
from dragoman.text.words.inline import InlineText


def check_letters(
    path: Path,
    old: Iterable[Piece],
    changed: Iterable[tuple[Piece, InlineText]],
    content: bytes,
    pieces: Callable[[Decoded, Element], Iterable[Piece]],
) -> None:
    """Raise DataError unless `content` has the letters of `old` with these changes; `pieces` are all its texts."""
    expected = _letters(piece.inline for piece in old)
    for piece, new in changed:
        expected.subtract(_letters([piece.inline]))
        expected.update(_letters([new]))
    try:
        found = _letters(piece.inline for piece in pieces(*read_elements(str(path), content)))
    except DataError as error:
        raise _unreadable(path, str(error).partition("; ")[0]) from None
    found.subtract(expected)
    if wrong := "".join(letter for letter, count in found.items() if count):
        raise _unreadable(path, f"too many or too few of {wrong[:20]!r}")


def _unreadable(path: Path, why: str) -> DataError:
    return DataError(f"{path}: its translation could not be read again ({why}); nothing was written, please report it")


def _letters(texts: Iterable[InlineText]) -> Counter[str]:
    return Counter(letter for each in texts for letter in each.text if letter.isalpha())
