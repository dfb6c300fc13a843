"""Markdown: paragraphs, headings, cells and lists as units with their markup as codes; code and settings stay.

What is written is parsed again. A unit that would change the blocks of the file, or whose markup would not be read as
it was meant, is written with more escapes, then with tags of HTML, and if that does not help stays untranslated.
"""

import re
from bisect import bisect_left
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import IO, Any

from dragoman.documents.core.document import Document, DocumentOptions, Translations
from dragoman.documents.core.spans import (
    Source,
    UnitSpan,
    line_numbers,
    located,
    pieces,
    splices,
    written,
)
from dragoman.documents.core.splice import Decoded, Splice, decode, spliced
from dragoman.documents.markup.front_matter import FRONT_MATTER, front_matter, quoted
from dragoman.documents.markup.html import escaped, html_pieces, written_html
from dragoman.documents.markup.markdown_blocks import Blocks, MarkdownBlock, items_of, parser
from dragoman.documents.markup.templates import write_value
from dragoman.text.words.inline import Code, InlineText

# What a translation is written with a backslash before, and addresses, which are written as they are.
_ESCAPES = re.compile(
    r"""(?P<address>(?i:\bhttps?)://[^\s<>`]+)
    | \\(?=[!-/:-@\[-`{-~]) | ` | (?<!\s)\*|\*(?!\s|$) | (?<![^\W_])_(?!\s|$)|(?<!\s)_(?![^\W_])
    | <(?=[A-Za-z/!?]) | &(?=\#?\w+;) | \[(?=[\^!]|[^\]]*\][\[(:]) | ~~ | ==
    | ^(?:[\#>+-](?=\s|$) | [-=+~:!]{2,} | \|)""",
    re.VERBOSE,
)
_NUMBER = re.compile(r"^(\d{1,9})([.)])(?=\s|$)")
_SPECIAL = re.compile(r"[\\`*_\[\]<>#|~$&{}:!]")
# Whether the line stays is up to the sentences, those of the source or of the translation.
_SOFT_BREAK = re.compile(r" ?\n[ \t]*")
# How a unit is written, tried in this order: how much is escaped, and whether its styles are tags of HTML.
_WAYS = ((False, False), (True, False), (True, True))


@dataclass(frozen=True, slots=True)
class _Parsed:
    """The pieces of a file, the number of the block of each, and of its blocks the kind and the markup."""

    pieces: list[UnitSpan]
    blocks: list[int]
    kinds: list[str]
    markup: list[Any]
    shape: list[Any]
    lost: list[str]

    def kind(self, index: int) -> str:
        return self.kinds[self.blocks[index]] if self.blocks[index] >= 0 else FRONT_MATTER


def read(path: Path, options: DocumentOptions) -> Document:
    """The units of a Markdown file."""
    return parse(path, path.read_bytes())


def parse(path: Path, content: bytes) -> Document:
    """The texts of a Markdown file by its bytes; `path` names it in errors."""
    decoded = decode(path, content)
    parsed = _parsed(decoded.text)
    return Document(path, located(decoded.text, parsed.pieces), (decoded, parsed), tuple(parsed.lost))


def _parsed(content: str) -> _Parsed:
    made = parser()
    skipped, front, left = front_matter(content)
    blocks = Blocks(made, content, skipped)
    spans = [(piece, -1) for piece in front]
    kinds, markup = [], []
    for number, block in enumerate(blocks):
        inside, signature = _inside(made, content, block, blocks.env)
        spans += [(piece, number) for piece in inside]
        kinds.append(block.kind)
        markup.append(signature)
    spans.sort(key=lambda pair: (pair[0].begin, -pair[0].end))
    return _Parsed(
        [span for span, _ in spans],
        [number for _, number in spans],
        kinds,
        markup,
        blocks.shape,
        [*left, *blocks.lost],
    )


def _inside(made: Any, content: str, block: MarkdownBlock, env: dict[str, Any]) -> tuple[list[UnitSpan], list[Any]]:
    """The pieces of a block, and its markup in a form that a translation does not change."""
    if block.kind == "html_block":
        return html_pieces(content, block.offsets[0], block.offsets[1]), []
    if block.kind == "title":
        return [UnitSpan(block.offsets[0], block.offsets[-1], InlineText(block.content), where="title")], []
    items, inner = items_of(made, block.content, env)
    at = block.offsets
    moved = [replace(item, begin=at[item.begin], end=at[item.end]) for item in items]
    moved = [item for item in moved if item.end > item.begin]
    attributes = [replace(piece, begin=at[piece.begin], end=at[piece.end]) for piece in inner]
    markup = [
        (item.kind, item.text)
        for item in items
        if item.kind != "text" and not _SOFT_BREAK.fullmatch(block.content, item.begin, item.end)
    ]
    return [*attributes, *pieces(moved, content)], sorted(markup)


def write(document: Document, translations: Translations, options: DocumentOptions, file: IO[bytes]) -> None:
    """The Markdown file with the translations in place; what cannot be written is in `document.remarks`."""
    decoded, parsed = document.skeleton
    writer = _Writer(decoded, parsed, list(translations))
    changes = writer.changes()
    line_of = line_numbers(decoded.text)
    for index in writer.given_up:
        document.remarks.append(
            f"line {line_of(parsed.pieces[index].begin)}: not translated, because the markup around it would change"
        )
    file.write(spliced(decoded, changes))


class _Writer:
    """Finds a way to write each unit so that the file reads as it was meant."""

    def __init__(self, decoded: Decoded, parsed: _Parsed, translations: list[InlineText | None]) -> None:
        self.decoded, self.parsed, self.translations = decoded, parsed, translations
        self.indices = {id(piece): index for index, piece in enumerate(parsed.pieces)}
        self.ways = dict.fromkeys(range(len(translations)), 0)
        self.given_up: list[int] = []
        self.escape = partial(escaped, encoding=decoded.encoding)

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
        some = [translation if index < count else None for index, translation in enumerate(self.translations)]
        return splices(self.decoded.text, self.parsed.pieces, some, self._write)

    def _read(self, changes: list[Splice]) -> _Parsed:
        content = spliced(self.decoded, changes)[len(self.decoded.mark) :]
        return _parsed(content.decode(self.decoded.encoding))

    def _same(self, read: _Parsed) -> bool:
        return read.shape == self.parsed.shape and len(read.pieces) == len(self.parsed.pieces)

    def _wrong(self, changes: list[Splice]) -> list[int]:
        """The units that are not read as they were meant; if the blocks have changed, the first that does so."""
        read = self._read(changes)
        if not self._same(read):
            counts = range(1, len(self.translations))
            return [bisect_left(counts, True, key=lambda count: not self._same(self._read(self._changes(count))))]
        broken = {number for number, signature in enumerate(self.parsed.markup) if signature != read.markup[number]}
        return [
            index
            for index, text in enumerate(self.translations)
            if text is not None
            and text.text != self.parsed.pieces[index].inline.text
            and (self.parsed.blocks[index] in broken or _words(text) != _words(read.pieces[index].inline))
        ]

    def _write(self, piece: UnitSpan, text: InlineText, source: Source) -> str:
        index = self.indices[id(piece)]
        cautious, tags = _WAYS[self.ways[index]]
        if piece.where == FRONT_MATTER:
            return quoted(text.text, source(piece.begin, piece.end), is_toml=self.decoded.text.startswith("+++"))
        if piece.where == "title":
            return text.text.replace('"', "'").replace("\n", " ")
        if piece.where == "text of an image":
            return write_value(text, piece.inline, lambda part: _SPECIAL.sub(r"\\\g<0>", part.replace("\n", " ")))
        if piece.where or self.parsed.kind(index) == "html_block":
            return written_html(self.escape, piece, text, source)
        instead = _markup(piece, self.decoded.text, tags)

        def escape(part: str) -> str:
            part = (_SPECIAL if cautious else _ESCAPES).sub(_with_backslashes, part)
            part = _NUMBER.sub(r"\1\\\2", part)
            return re.sub(r"(?<!\\)\|", r"\\|", part) if self.parsed.kind(index) == "cell" else part

        return written(piece, _tight(text), escape, lambda *span: instead.get(span) or source(*span))


def _with_backslashes(match: re.Match[str]) -> str:
    is_address = "address" in match.re.groupindex and match["address"]
    return match[0] if is_address else "".join("\\" + character for character in match[0])


def _markup(piece: UnitSpan, content: str, tags: bool) -> dict[tuple[int, int], str]:
    """Codes that are written otherwise than in the source: `_` is no style next to letters, and a link by its own text
    has to name its label."""
    instead: dict[tuple[int, int], str] = {}
    for (kind, name), (begin, end) in piece.codes.items():
        text = content[begin:end]
        if re.fullmatch(r"[*_~]{1,2}", text):
            tag = name.rstrip("0123456789")
            html = f"<{tag}>" if kind == "open" else f"</{tag}>"
            instead[begin, end] = html if tags else text.replace("_", "*")
        elif kind == "close" and text.rstrip() in ("]", "][]"):
            label = content[piece.codes["open", name][1] : begin]
            instead[begin, end] = f"][{label}]{text[len(text.rstrip()) :]}"
    return instead


def _tight(text: InlineText) -> InlineText:
    """A text without white space just inside of its spans, which Markdown would not read as spans."""
    codes: list[Code] = []
    for code in text.codes:
        at = code.position
        while code.kind == "open" and text.text[at : at + 1] == " ":
            at += 1
        while code.kind == "close" and at and text.text[at - 1] == " ":
            at -= 1
        codes.append(replace(code, position=at))
    nested = all(first.position <= second.position for first, second in pairwise(codes))
    return InlineText(text.text, tuple(codes), text.protected) if nested else text


def _words(text: InlineText) -> list[str]:
    # The title of an admonition has no double quotes.
    return text.text.replace('"', "'").split()
