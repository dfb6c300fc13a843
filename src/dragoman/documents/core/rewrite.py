"""Translations of the pieces of a run → splices: the same tags, breaks and protected spans around the new text."""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from dragoman.documents.core.document import Translations, Unit
from dragoman.documents.core.spans import LineNumbers, UnitSpan
from dragoman.documents.core.splice import Splice, check_letters
from dragoman.text.words.inline import InlineText


def written(
    piece: UnitSpan, translation: InlineText, escape: Callable[[str], str], source: Callable[[int, int], str]
) -> str:
    """A translation as the file has it: codes, breaks and protected spans as in `source(begin, end)`, text escaped."""
    assert translation.counted_codes == piece.inline.counted_codes, "a translation has the codes of its source"
    breaks = iter(piece.breaks)
    parts: list[str] = []

    def put(begin: int, end: int) -> None:
        for number, line in enumerate(translation.text[begin:end].split("\n")):
            if number:
                span = next(breaks, None)
                parts.append(" " if span is None else source(*span))
            parts.append(escape(line))

    at = 0
    marks = [(code.position, None, code) for code in translation.codes]
    marks += [(begin, end, None) for begin, end in translation.protected]  # type: ignore[misc]
    for begin, end, code in sorted(marks, key=lambda mark: mark[0]):
        put(at, begin)
        at = max(at, begin)
        if code is not None:
            parts.append(source(*piece.codes[code.kind, code.name]))
        elif end is not None and (span := piece.protected.get(translation.text[begin:end])) is not None:
            parts.append(source(*span))
            at = end
    put(at, len(translation.text))
    return "".join(parts)


def splices(
    content: str,
    pieces: Sequence[UnitSpan],
    translations: Translations,
    write: Callable[[UnitSpan, InlineText, Callable[[int, int], str]], str | None],
) -> list[Splice]:
    """The replacements for the units that change. A unit may be inside a code of another: an attribute of a tag.

    `write` writes a unit for the file; None leaves it as it is.
    """
    changed = [
        (piece, translation)
        for piece, translation in zip(pieces, translations, strict=True)
        if translation is not None and translation.text != piece.inline.text
    ]
    changed.sort(key=lambda pair: (pair[0].begin, -pair[0].end))
    inner: list[Splice] = []
    for piece, translation in changed:
        if piece.where and (text := write(piece, translation, lambda begin, end: content[begin:end])) is not None:
            inner.append(Splice(piece.begin, piece.end, text))
    starts = [splice.begin for splice in inner]

    def source(begin: int, end: int) -> str:
        parts, at = [], begin
        for splice in inner[bisect_left(starts, begin) : bisect_left(starts, end)]:
            parts += [content[at : splice.begin], splice.written]
            at = splice.end
        return "".join([*parts, content[at:end]])

    outer: list[Splice] = []
    for piece, translation in changed:
        if not piece.where and (text := write(piece, translation, source)) is not None:
            outer.append(Splice(piece.begin, piece.end, text))
    covered = iter(sorted(outer, key=lambda splice: splice.begin))
    return sorted([*outer, *_outside(inner, covered)], key=lambda splice: splice.begin)


def _outside(inner: Sequence[Splice], outer: Iterator[Splice]) -> Iterator[Splice]:
    """The inner splices that are in none of the outer ones. Both are in order."""
    current = next(outer, None)
    for splice in inner:
        while current is not None and current.end <= splice.begin:
            current = next(outer, None)
        if current is None or splice.begin < current.begin:
            yield splice


def located(content: str, pieces: Iterable[UnitSpan], before: str = "line ") -> list[Unit]:
    """The units of a text by their lines."""
    lines = LineNumbers.of(content)
    return [Unit(piece.inline, f"{before}{lines.at(piece.begin)}", piece.where) for piece in pieces]


def check_pieces(
    path: Path | str, pieces: Sequence[UnitSpan], translations: Translations, read_back: Iterable[UnitSpan]
) -> None:
    """Raise DataError unless the texts are those that were to be written; an attribute moves with its tag."""
    old = [(piece, new or piece.inline) for piece, new in zip(pieces, translations, strict=True)]
    new = [(piece, piece.inline) for piece in read_back]
    for where in (False, True):
        texts = [[text.text for piece, text in group if bool(piece.where) == where] for group in (old, new)]
        check_letters(path, *(sorted(group) if where else group for group in texts))
