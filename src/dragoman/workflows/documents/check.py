"""A written document is read again: its units must have the texts that were to be written, and as many inline codes.

A mistake of a format's escaping becomes an error that names the document, before the file gets its name. White space is
left out of the comparison, because formats fold it, and so are the borders of units: the sentence of several subtitles
is one unit or two depending on where it was divided.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from dragoman.documents import Document, DocumentOptions, Unit
from dragoman.documents.core.labels import without_mark
from dragoman.documents.core.splice import UnreadableTranslation
from dragoman.documents.formats import Kind, read_document
from dragoman.errors import DataError, DragomanError
from dragoman.text.words.inline import InlineText

# What a table adds to a text that a spreadsheet would run.
_QUOTED_FORMULA = re.compile(r"^'(?=[=+\-@＝＋－＠])")

Located = Iterator[tuple[str, InlineText]]


def check_written(
    path: Path, kind: Kind, request: DocumentOptions, document: Document, translations: Iterable[InlineText | None]
) -> None:
    """Raise DataError if the document at `path` does not have these translations of the units of `document`."""
    # What was written is in the target language, whatever language the document names; so is what `update` keeps.
    everything = replace(document.again or request, update=False, any_language=True)
    try:
        written = read_document(path, kind, everything).units
        whole = read_document(document.path, kind, everything).units if request.update else document.units
        compare_texts(_expected(document, whole, translations), _texts(written))
    except DragomanError as error:
        cause = str(error).replace(f"{path}: ", "").replace(f"{path}:", "line ")
        raise UnreadableTranslation(
            f"{document.path}: its translation could not be read again ({cause}); nothing was written, please report it"
        ) from None


def _texts(units: Iterable[Unit]) -> Located:
    """What a person reads of the units: the translation where a document has both languages."""
    return ((unit.location, unit.source if unit.existing is None else unit.existing) for unit in units)


def _expected(document: Document, whole: Iterable[Unit], translations: Iterable[InlineText | None]) -> Located:
    """The texts of all units, of which only those of `document` have new translations."""
    changed = zip(document.units, translations, strict=True)
    unit, new = next(changed, (None, None))
    for entry in whole:
        old = entry.source if entry.existing is None else entry.existing
        if unit is not None and (entry.source, entry.location, entry.context) == (
            unit.source,
            unit.location,
            unit.context,
        ):
            if new is not None and unit.label is not None:
                new = without_mark(unit.label, new)  # as it is read again
            yield entry.location, old if new is None else new
            unit, new = next(changed, (None, None))
        else:
            yield entry.location, old


def compare_texts(expected: Located, written: Located) -> None:
    """Raise DataError with the location of the first difference."""
    codes: tuple[Counter[str], Counter[str]] = Counter(), Counter()
    left = right = where = ""
    while True:
        if not left:
            where, left = _next(expected, codes[0], where)
        if not right:
            where_written, right = _next(written, codes[1], where)
        if not (left and right):
            break
        size = min(len(left), len(right))
        if left[:size] != right[:size]:
            raise DataError(f"{where}: {_difference(left, right)}")
        left, right = left[size:], right[size:]
    if left or right:
        raise DataError(f"{where if left else where_written}: {'lacks' if left else 'adds'} {(left or right)[:40]!r}")
    if codes[0] != codes[1]:
        raise DataError(f"{codes[1].total()} inline codes instead of {codes[0].total()}")


def _next(texts: Located, codes: Counter[str], where: str) -> tuple[str, str]:
    """The next text that is not empty, without white space; its codes are counted."""
    for location, inline in texts:
        codes.update(code.kind for code in inline.codes)
        if text := _QUOTED_FORMULA.sub("", "".join(inline.text.split())):
            return location, text
    return where, ""


def _difference(expected: str, written: str) -> str:
    """The first difference of two texts, with a few characters before it."""
    at = next(index for index, (a, b) in enumerate(zip(expected, written, strict=False)) if a != b)
    here = slice(max(0, at - 8), at + 24)
    return f"{written[here]!r} instead of {expected[here]!r}"
