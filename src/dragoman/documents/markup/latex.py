"""LaTeX: paragraphs, headings, items, captions and notes. Formulas, references, code and the preamble stay."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import IO

from dragoman.documents.core.document import Document, DocumentOptions, Translations
from dragoman.documents.core.rewrite import check_pieces, located, splices, written
from dragoman.documents.core.spans import UnitSpan
from dragoman.documents.core.splice import decode, read_again, spliced
from dragoman.documents.markup.latex_spans import Spans
from dragoman.errors import DataError
from dragoman.text.words.inline import InlineText

_ESCAPES = {
    "\\": "\\textbackslash{}",
    "^": "\\textasciicircum{}",
    "~": "\\textasciitilde{}",
    **{character: "\\" + character for character in "{}$&#%_"},
    "\xa0": "~",
    "“": "``",
    "”": "''",
    "—": "---",
    "–": "--",
}


def read(path: Path, options: DocumentOptions) -> Document:
    """The prose of a LaTeX file. Raises DataError for a file that is nested too deeply."""
    decoded = decode(path, path.read_bytes())
    listed = _pieces(path, decoded.text)
    return Document(path, located(decoded.text, listed), (decoded, listed))


def _pieces(path: Path, content: str) -> list[UnitSpan]:
    try:
        return Spans(content).found
    except RecursionError:
        raise DataError(f"{path}: nested too deeply; is it LaTeX?") from None


def write(document: Document, translations: Translations, options: DocumentOptions, file: IO[bytes]) -> None:
    """The LaTeX file with the translations in place of its prose."""
    decoded, listed = document.skeleton
    texts = list(translations)
    changes = splices(decoded.text, listed, texts, _written)
    if changes:
        again = _pieces(document.path, read_again(document.path, decoded, changes))
        check_pieces(document.path, listed, texts, again)
    file.writelines(spliced(decoded, changes))


def _written(piece: UnitSpan, text: InlineText, source: Callable[[int, int], str]) -> str:
    def code(begin: int, end: int) -> str:
        # The name of a macro ends where a letter does not follow.
        raw = source(begin, end)
        return raw + "{}" if re.search(r"\\[A-Za-z]+$", raw) else raw

    return written(piece, text, _escaped, code)


def _escaped(text: str) -> str:
    return "".join(_ESCAPES.get(character, character) for character in text)
