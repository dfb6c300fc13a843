"""Markdown: paragraphs, headings, cells and lists as units with their markup as codes; code and settings stay.

What is written is parsed again. A unit that would change the blocks of the file, or whose markup would not be read as
it was meant, is written with more escapes, then with tags of HTML, and if that does not help stays untranslated.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import IO, Any

from dragoman.documents.core.document import Document, Request, Translations, Unit
from dragoman.documents.core.rewrite import splices, written
from dragoman.documents.core.runs import Lines, Piece, pieces
from dragoman.documents.core.splice import Decoded, Splice, decode, spliced
from dragoman.documents.markup.front_matter import front_matter, quoted
from dragoman.documents.markup.html import written_html
from dragoman.documents.markup.html_spans import found_in
from dragoman.documents.markup.markdown_blocks import Block, Blocks, parser
from dragoman.documents.markup.markdown_inline import items_of
from dragoman.text.words.inline import Code, InlineText

_ESCAPES = re.compile(
    r"""\\(?=[!-/:-@\[-`{-~]) | ` | (?<!\s)\*|\*(?!\s|$) | (?<![^\W_])_(?!\s|$)|(?<!\s)_(?![^\W_])
    | <(?=[A-Za-z/!?]) | &(?=\#?\w+;) | \[(?=[\^!]|[^\]]*\][\[(:]) | ~~ | ==
    | ^(?:[\#>+-](?=\s|$) | [-=+~:!]{2,} | \|)""",
    re.VERBOSE,
)
_NUMBER = re.compile(r"^(\d{1,9})([.)])(?=\s|$)")
_SPECIAL = re.compile(r"[\\`*_\[\]<>#|~$&{}:!]")
# How a unit is written, tried in this order: how much is escaped, and whether its styles are tags of HTML.
_WAYS = ((False, False), (True, False), (True, True))


@dataclass(frozen=True, slots=True)
class _Found:
    """The pieces of a file, the number of the block of each, and of its blocks the kind and the markup."""

    pieces: list[Piece]
    blocks: list[int]
    kinds: list[str]
    markup: list[Any]
    shape: list[Any]
    lost: list[str]

    def kind(self, index: int) -> str:
        """The kind of the block of a piece."""
        return self.kinds[self.blocks[index]] if self.blocks[index] >= 0 else "front matter"


def read(path: Path, request: Request) -> Document:
    """The units of a Markdown file."""
    return parse(path, path.read_bytes())


def parse(path: Path, content: bytes) -> Document:
    """The same of the content of a file; `path` is for errors."""
    decoded = decode(path, content)
    found = _found(decoded.text)
    lines = Lines.of(decoded.text)
    units = [Unit(each.inline, f"line {lines.at(each.begin)}", each.where) for each in found.pieces]
    return Document(path, units, (decoded, found), tuple(found.lost))


def _found(content: str) -> _Found:
    made = parser()
    skipped, front = front_matter(content)
    blocks = Blocks(made, content, skipped)
    found = [(piece, -1) for piece in front]
    kinds, markup = [], []
    for number, block in enumerate(blocks):
        inside, signature = _inside(made, content, block, blocks.env)
        found += [(piece, number) for piece in inside]
        kinds.append(block.kind)
        markup.append(signature)
    found.sort(key=lambda each: (each[0].begin, -each[0].end))
    return _Found([each[0] for each in found], [each[1] for each in found], kinds, markup, blocks.shape, blocks.lost)


def _inside(made: Any, content: str, block: Block, env: dict[str, Any]) -> tuple[list[Piece], list[Any]]:
    """The pieces of a block, and its markup in a form that a translation does not change."""
    if block.kind == "html_block":
        return found_in(content, *block.offsets), []
    if block.kind == "title":
        return [Piece(block.offsets[0], block.offsets[-1], InlineText(block.content), where="title")], []
    items, inner = items_of(made, block.content, env)
    at = block.offsets
    moved = [replace(item, begin=at[item.begin], end=at[item.end]) for item in items]
    moved = [item for item in moved if item.end > item.begin]
    found = [replace(piece, begin=at[piece.begin], end=at[piece.end]) for piece in inner]
    markup = [(item.kind, item.text) for item in items if item.kind != "text"]
    return [*found, *pieces(moved, content)], sorted(markup)


def write(document: Document, translations: Translations, request: Request, file: IO[bytes]) -> None:
    """The same file with the translations in place; what cannot be written is in `document.remarks`."""
    decoded, found = document.skeleton
    writer = _Writer(decoded, found, list(translations))
    changes = writer.changes()
    lines = Lines.of(decoded.text)
    for index in writer.given_up:
        document.remarks.append(
            f"line {lines.at(found.pieces[index].begin)}: not translated, because the markup around it would change"
        )
    file.writelines(spliced(decoded, changes))


class _Writer:
    """Finds a way to write each unit so that the file reads as it was meant."""

    def __init__(self, decoded: Decoded, found: _Found, translations: list[InlineText | None]) -> None:
        self.decoded, self.found, self.translations = decoded, found, translations
        self.indices = {id(piece): index for index, piece in enumerate(found.pieces)}
        self.ways = dict.fromkeys(range(len(translations)), 0)
        self.given_up: list[int] = []

    def changes(self) -> list[Splice]:
        """The replacements, after as many readings as are needed."""
        while True:
            changes = self._changes(len(self.translations))
            wrong = self._wrong(changes) if changes else []
            if not wrong:
                return changes
            for index in wrong:
                self.ways[index] += 1
                if self.ways[index] == len(_WAYS):
                    self.translations[index] = None
                    self.given_up.append(index)

    def _changes(self, count: int) -> list[Splice]:
        """The replacements by the first `count` translations."""
        some = [each if index < count else None for index, each in enumerate(self.translations)]
        return splices(self.decoded.text, self.found.pieces, some, self._write)

    def _read(self, changes: list[Splice]) -> _Found:
        content = b"".join(spliced(self.decoded, changes))[len(self.decoded.mark) :]
        return _found(content.decode(self.decoded.encoding))

    def _same(self, read: _Found) -> bool:
        return read.shape == self.found.shape and len(read.pieces) == len(self.found.pieces)

    def _wrong(self, changes: list[Splice]) -> list[int]:
        """The units that are not read as they were meant; if the blocks have changed, the first that does so."""
        read = self._read(changes)
        if not self._same(read):
            low, high = 0, len(self.translations)
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (middle, high) if self._same(self._read(self._changes(middle))) else (low, middle)
            return [low]
        broken = {number for number, each in enumerate(self.found.markup) if each != read.markup[number]}
        return [
            index
            for index, each in enumerate(self.translations)
            if each is not None
            and each.text != self.found.pieces[index].inline.text
            and (self.found.blocks[index] in broken or _words(each) != _words(read.pieces[index].inline))
        ]

    def _write(self, piece: Piece, text: InlineText, source: Callable[[int, int], str]) -> str:
        index = self.indices[id(piece)]
        escaped, tags = _WAYS[self.ways[index]]
        if piece.where == "front matter":
            return quoted(text.text, source(piece.begin, piece.begin + 1))
        if piece.where == "title":
            return text.text.replace('"', "'").replace("\n", " ")
        if piece.where == "text of an image":
            return _SPECIAL.sub(r"\\\g<0>", " ".join(text.text.split()))
        if piece.where or self.found.kind(index) == "html_block":
            return written_html(self.decoded, piece, text, source)
        instead = _markup(piece, self.decoded.text, tags)

        def escape(part: str) -> str:
            part = (_SPECIAL if escaped else _ESCAPES).sub(lambda match: "".join("\\" + c for c in match[0]), part)
            part = _NUMBER.sub(r"\1\\\2", part)
            return re.sub(r"(?<!\\)\|", r"\\|", part) if self.found.kind(index) == "cell" else part

        return written(piece, _tight(text), escape, lambda *span: instead.get(span) or source(*span))


def _markup(piece: Piece, content: str, tags: bool) -> dict[tuple[int, int], str]:
    """Codes that are written otherwise than in the source: `_` is no style next to letters, and a link by its own text
    has to name its label."""
    instead: dict[tuple[int, int], str] = {}
    for (kind, name), (begin, end) in piece.codes.items():
        text = content[begin:end]
        if re.fullmatch(r"[*_~]{1,2}", text):
            tag = name.rstrip("0123456789")
            html = f"<{tag}>" if kind == "open" else f"</{tag}>"
            instead[begin, end] = html if tags else text.replace("_", "*")
        elif kind == "close" and text in ("]", "][]"):
            label = content[piece.codes["open", name][1] : begin]
            instead[begin, end] = f"][{label}]"
    return instead


def _tight(text: InlineText) -> InlineText:
    """The same without white space just inside of a span, which Markdown would not read as one."""
    codes: list[Code] = []
    for code in text.codes:
        at = code.position
        while code.kind == "open" and text.text[at : at + 1] == " ":
            at += 1
        while code.kind == "close" and at and text.text[at - 1] == " ":
            at -= 1
        codes.append(replace(code, position=at))
    nested = all(one.position <= two.position for one, two in pairwise(codes))
    return InlineText(text.text, tuple(codes), text.protected) if nested else text


def _words(text: InlineText) -> list[str]:
    # The title of an admonition has no double quotes.
    return text.text.replace('"', "'").split()
