"""Runs: text with markup between two borders of blocks, as items in the order of the file ↔ units with codes.

A reader of marked-up text makes items with their spans in the file. Here tags are matched, white space and codes at the
edges stay outside, and the rest becomes the text of a unit. A translation is written with the same tags, breaks and
protected spans, as splices of the file.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from dragoman.documents.core.document import Translations, Unit
from dragoman.documents.core.splice import Splice, applied, check_letters
from dragoman.text.words.inline import Code, InlineText

_SPACE = re.compile(r"[ \t\r\n\f]+")
# The text of a file between two positions, with what has been replaced in it.
Source = Callable[[int, int], str]


@dataclass(frozen=True, slots=True)
class Item:
    """A part of a run from `begin` to `end` of the file.

    `text` is what a reader sees of a text, a protected span or a break ("\\n"), and the tag's name of an open or close.
    """

    kind: Literal["text", "protected", "break", "open", "close", "alone"]
    begin: int
    end: int
    text: str = ""
    exact: bool = False
    """Whether the white space of a text is the reader's, not the file's layout: several spaces, a tab."""


@dataclass(frozen=True, slots=True)
class UnitSpan:
    """A unit's text and where its parts are in the file."""

    begin: int
    end: int
    inline: InlineText
    codes: dict[tuple[str, str], tuple[int, int]] = field(default_factory=dict)
    """The span of each code, by kind and name."""
    protected: dict[str, tuple[int, int]] = field(default_factory=dict)
    breaks: list[tuple[int, int]] = field(default_factory=list)
    where: str = ""
    """What it is if it is no running text: an attribute's name."""

    def moved(self, by: int) -> "UnitSpan":
        """This span in a text in which everything is `by` characters later."""
        return replace(
            self,
            begin=self.begin + by,
            end=self.end + by,
            codes={name: (begin + by, end + by) for name, (begin, end) in self.codes.items()},
            protected={text: (begin + by, end + by) for text, (begin, end) in self.protected.items()},
            breaks=[(begin + by, end + by) for begin, end in self.breaks],
        )


def line_numbers(content: str) -> Callable[[int], int]:
    """A function from positions in a text to the numbers of their lines, from 1."""
    ends = [match.start() for match in re.finditer("\n", content)]
    return lambda position: bisect_left(ends, position) + 1


def whole_piece(items: Sequence[Item], content: str) -> UnitSpan:
    """All of a run as one unit, with the codes at its edges, as a translation has it."""
    return _piece(items, 0, _partners(items), content)


def pieces(items: Sequence[Item], content: str, *, words: bool = True) -> Iterator[UnitSpan]:
    """The units of one run of a file's text: one, or several if it has tags whose other half is elsewhere.

    Two breaks in a row outside of all tags separate units too. Without `words` those that have no letter are units too.
    """
    partners = _partners(items)
    begin = depth = 0
    last = ""
    for index, item in enumerate([*items, Item("open", 0, 0)]):
        if index in partners:
            depth += 1 if item.kind == "open" else -1
        border = item.kind in ("open", "close") and index not in partners
        if border or (item.kind == last == "break" and depth == 0):
            low, high = _trimmed(items, partners, begin, index)
            if has_words(items[low:high]) or (low < high and not words):
                yield _piece(items[low:high], low, partners, content)
            begin = index + 1
        if item.kind != "text" or item.text.strip():
            last = item.kind


def has_words(items: Iterable[Item]) -> bool:
    """Whether there is a letter to translate."""
    return any(character.isalpha() for item in items if item.kind == "text" for character in item.text)


def _partners(items: Sequence[Item]) -> dict[int, int]:
    """The indices of tags that open and close the same span. One that crosses another or has no partner is left out."""
    partners: dict[int, int] = {}
    opened: list[int] = []
    for index, item in enumerate(items):
        if item.kind == "open":
            opened.append(index)
        elif item.kind == "close" and opened and items[opened[-1]].text == item.text:
            partners[index] = opened.pop()
            partners[partners[index]] = index
        elif item.kind == "close":
            # It crosses what is open, or is a stray: none of them encloses a part of one unit.
            opened.clear()
    return partners


def _trimmed(items: Sequence[Item], partners: dict[int, int], low: int, high: int) -> tuple[int, int]:
    """The bounds without white space, breaks and codes at the edges, and without pairs around the whole or nothing."""
    while low < high:
        first, last = items[low], items[high - 1]
        if _is_blank(first):
            low += 1
        elif _is_blank(last):
            high -= 1
        elif first.kind == "open" and partners[low] == high - 1:
            low, high = low + 1, high - 1
        elif first.kind == "open" and all(map(_is_blank, items[low + 1 : partners[low]])):
            low = partners[low] + 1
        elif last.kind == "close" and all(map(_is_blank, items[partners[high - 1] + 1 : high - 1])):
            high = partners[high - 1]
        else:
            break
    return low, high


def _is_blank(item: Item) -> bool:
    return item.kind in ("alone", "break") or (item.kind == "text" and not item.text.strip())


def _piece(items: Sequence[Item], offset: int, partners: dict[int, int], content: str) -> UnitSpan:
    """The unit of these items, whose first is number `offset` of the run."""
    items = [*items]
    items[0] = _stripped(items[0], left=True)
    items[-1] = _stripped(items[-1], left=False)
    written = _Text()
    codes: list[Code] = []
    piece = UnitSpan(items[0].begin, items[-1].end, InlineText(""))
    protected: list[tuple[int, int]] = []
    numbers: dict[int, int] = {}
    starts: dict[str, int] = {}
    for index, item in enumerate(items, offset):
        if item.kind == "text":
            seen = item.text if item.exact else _SPACE.sub(" ", item.text)
            # White space at both sides of a code is shown once.
            is_inside = item.exact and not (codes and codes[-1].position == written.length)
            if seen[:1] == " " and written.last in ("", " ", "\n") and not is_inside:
                seen = seen.lstrip(" \t")
                if codes and codes[-1].kind != "open" and starts[codes[-1].name] == written.length:
                    _extend(piece.codes, item)
            written.add(seen)
        elif item.kind == "protected":
            # A formula over two lines is one line of the unit.
            seen = _SPACE.sub(" ", item.text)
            protected.append((written.length, written.length + len(seen)))
            piece.protected[seen] = (item.begin, item.end)
            written.add(seen)
        elif item.kind == "break":
            written.strip()
            _clamp(codes, written.length)
            written.add("\n")
            piece.breaks.append((item.begin, item.end))
        else:
            opener = min(index, partners.get(index, index))
            name = f"{item.text or 'x'}{numbers.setdefault(opener, len(numbers) + 1)}"
            piece.codes[item.kind, name] = (item.begin, item.end)
            starts.setdefault(name, written.length)
            codes.append(Code(written.length, item.kind, name, content[item.begin : item.end]))
    written.strip()
    _clamp(codes, written.length)
    return replace(piece, inline=InlineText("".join(written.parts), tuple(codes), tuple(protected)))


class _Text:
    """A text that grows by parts: a string of a megabyte would be copied for each."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.length = 0

    @property
    def last(self) -> str:
        """Its last character, if there is one."""
        return self.parts[-1][-1] if self.parts else ""

    def add(self, part: str) -> None:
        if part:
            self.parts.append(part)
            self.length += len(part)

    def strip(self) -> None:
        """Remove the spaces at its end."""
        while self.last == " ":
            part = self.parts.pop()
            self.length -= len(part)
            self.add(part.rstrip(" "))


def _extend(codes: dict[tuple[str, str], tuple[int, int]], text: Item) -> None:
    """Count the white space before this text, which the unit does not show twice, to the last code if that is next."""
    (kind, name), (begin, end) = next(reversed(codes.items()))
    space = len(text.text) - len(text.text.lstrip())
    if end == text.begin:
        if not text.text.strip():  # `\ ` of TeX has two characters for a space
            codes[kind, name] = (begin, text.end)
        elif len(text.text) == text.end - text.begin:
            codes[kind, name] = (begin, end + space)


def _stripped(item: Item, *, left: bool) -> Item:
    """A text without the white space at one side."""
    if item.kind != "text":
        return item
    text = item.text.lstrip() if left else item.text.rstrip()
    cut = len(item.text) - len(text)
    begin, end = (item.begin + cut, item.end) if left else (item.begin, item.end - cut)
    return replace(item, text=text, begin=begin, end=end)


def _clamp(codes: list[Code], limit: int) -> None:
    """Move the last codes to `limit` if they are after it: white space before a break or the end has gone."""
    for index in range(len(codes) - 1, -1, -1):
        if codes[index].position <= limit:
            break
        codes[index] = replace(codes[index], position=limit)


def written(piece: UnitSpan, translation: InlineText, escape: Callable[[str], str], source: Source) -> str:
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


def source_of(text: str) -> Source:
    """What a file has between two positions."""
    return lambda begin, end: text[begin:end]


def splices(
    content: str,
    pieces: Sequence[UnitSpan],
    translations: Translations,
    write: Callable[[UnitSpan, InlineText, Source], str],
) -> list[Splice]:
    """The replacements for the units that change, written by `write`.

    A unit may be inside a code of another: an attribute of a tag.
    """
    changed = [
        (piece, translation)
        for piece, translation in zip(pieces, translations, strict=True)
        if translation is not None and translation.text != piece.inline.text
    ]
    changed.sort(key=lambda pair: (pair[0].begin, -pair[0].end))
    first = source_of(content)
    inner = [Splice(piece.begin, piece.end, write(piece, text, first)) for piece, text in changed if piece.where]
    starts = [splice.begin for splice in inner]

    def source(begin: int, end: int) -> str:
        return applied(content, begin, end, inner[bisect_left(starts, begin) : bisect_left(starts, end)])

    outer = [Splice(piece.begin, piece.end, write(piece, text, source)) for piece, text in changed if not piece.where]
    begins = [splice.begin for splice in outer]
    before = ((splice, bisect_right(begins, splice.begin)) for splice in inner)
    free = (splice for splice, count in before if not count or outer[count - 1].end <= splice.begin)
    return [*outer, *free]


def located(content: str, pieces: Iterable[UnitSpan], before: str = "line ") -> list[Unit]:
    """The units of a text by their lines."""
    line_of = line_numbers(content)
    return [Unit(piece.inline, f"{before}{line_of(piece.begin)}", piece.where) for piece in pieces]


def check_pieces(
    path: Path | str, pieces: Sequence[UnitSpan], translations: Translations, read_back: Iterable[UnitSpan]
) -> None:
    """Raise DataError unless the texts are those that were to be written; an attribute moves with its tag."""
    old = [(piece, new or piece.inline) for piece, new in zip(pieces, translations, strict=True)]
    new = [(piece, piece.inline) for piece in read_back]
    for where in (False, True):
        texts = [[text.text for piece, text in group if bool(piece.where) == where] for group in (old, new)]
        check_letters(path, *(sorted(group) if where else group for group in texts))
