"""AsciiDoc (`.adoc`): titles, paragraphs, items, cells and captions; code, formulas, attributes and macros stay.

No parser of AsciiDoc for Python is maintained: lines are read here by the rules for blocks. What is written is read
again; a unit that would change the blocks stays untranslated. No other file is included.
"""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from dragoman.documents.core.document import Document, DocumentOptions, Translations
from dragoman.documents.core.spans import Item, Source, UnitSpan, line_numbers, located, pieces, splices, written
from dragoman.documents.core.splice import Splice, decode, read_again, spliced
from dragoman.text.words.inline import InlineText

_LINE = re.compile(r"[^\n]*\n|[^\n]+")
# Blocks that stay between two lines of the same signs: comments, code, literals, formulas, what is passed through.
_VERBATIM = re.compile(r"(?:/{4,}|-{4,}|\.{4,}|\+{4,}|`{3,}\w*)\s*$")
_BORDER = re.compile(r"(?:={4,}|\*{4,}|_{4,}|--|[|,:!]={3,}|'{3,}|<{3,}|-{3}|\*{3})\s*$")
# Comments, attributes, conditions and includes, block macros, attributes of a block, an anchor, a continuation.
_UNTRANSLATED_LINE = re.compile(r"//|:!?[\w-]+!?:|\w+::\S*\[.*\]\s*$|\[.*\]\s*$|\+\s*$|'''")
_STAYS = re.compile(
    r"\[(?:source|listing|literal|stem|latexmath|asciimath|pass|verse|%?autowidth)\b|\[,"
    r'|\[[^\]]*\bformat\s*=\s*"?(?:csv|tsv|dsv)\b'
)
_ENDS = re.compile(r"//|\[[^\]]*\]\s*$|\+\s*$|(?:ifdef|ifndef|ifeval|endif|include)::")
_TITLE = re.compile(r"(?:={1,6}|\#{1,6})[ \t]+(?=\S)|\.(?=[^\s.])")
_ITEM = re.compile(
    r"[ \t]*(?:\*{1,5}|-|\.{1,5}|\d{1,3}\.|[a-zA-Z]\.|<\d{1,2}>|<\.>)[ \t]+(?:\[[ x*]\][ \t]+)?(?=\S)"
    r"|(?:NOTE|TIP|IMPORTANT|WARNING|CAUTION):[ \t]+"
)
_TERM = re.compile(r"[ \t]*(?P<term>(?=[^\n]*(?:::|;;))\S[^\n]{0,200}?)(?P<sign>:{2,4}|;;)(?=\s)[ \t]*")
_CELL = re.compile(r"(?:(?<=\s)|^)(?:\d*\.?\d*[+*])?[<^>.]{0,3}[aehmsdl]?\|[ \t]*", re.MULTILINE)
_MARKUP = re.compile(
    r"""(?P<shown>`[^`\n]{1,300}` | \+{1,3}[^+\n]{1,300}\+{1,3} | \{[\w-]{1,60}\} | \#{2}[^#\n]{1,80}\#{2}
        | (?:kbd|btn|menu|icon|image|stem|latexmath|asciimath|pass|anchor|indexterm2?):[^\s\[]{0,200}\[[^\]]{0,300}\]
        | \(\([^()\n]{1,100}\)\) | &(?:\#\d{1,7}|\#x[0-9a-fA-F]{1,6}|\w{2,32}); | <<[^<>,\n]{1,200}>>
        | (?<![\w/])https?://[^\s\[\]<>]{1,300}(?!\[|[^\s\[\]<>]))
      | (?P<link>(?P<before>(?:(?:link|xref|mailto|footnote|footnoteref):[^\s\[]{0,300}|https?://[^\s\[\]<>]{1,300})\[)
          (?P<label>[^\]\n]{1,300})(?P<after>\])|(?P<open><<[^<>,\n]{1,200},[ ]*)(?P<text>[^<>\n]{1,300})(?P<end>>>))
      | (?P<bare>(?:link|xref):[^\s\[]{1,300}\[\]|\[\[[^\]\n]{1,80}\]\]|\[\#[^\]\n]{1,80}\])
      | (?P<strong>\*\*(?=[^\s*])[^*\n]{1,300}?\*\* | (?<![\w*])\*(?=[^\s*])[^*\n]{1,300}?(?<=[^\s*])\*(?![\w*]))
      | (?P<emphasis>__(?=[^\s_])[^_\n]{1,300}?__ | (?<![\w_])_(?=[^\s_])[^_\n]{1,300}?(?<=[^\s_])_(?![\w_]))
      | (?P<line>[ ]\+\r?\n) | (?P<role>\[\.[\w.-]{1,60}\](?=\#))""",
    re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class AsciiDocBlock:
    """A piece of text between two borders, and the sign before it, or "text"."""

    sign: str
    begin: int
    end: int


def read(path: Path, options: DocumentOptions) -> Document:
    """The units of an AsciiDoc file."""
    decoded = decode(path, path.read_bytes())
    blocks = list(_blocks(decoded.text))
    listed = _units(decoded.text, blocks)
    return Document(path, located(decoded.text, listed), (decoded, listed, [block.sign for block in blocks]))


def _units(content: str, blocks: Iterable[AsciiDocBlock]) -> list[UnitSpan]:
    runs = [list(_items(content, block.begin, block.end)) for block in blocks]
    return [piece for items in runs for piece in pieces(items, content)]


def _blocks(content: str) -> Iterator[AsciiDocBlock]:
    """The texts of a file: paragraphs, titles, items, terms and cells, in order."""
    until, sign, begin, end = "", "", -1, -1
    stays = table = header = defines = False
    for line in _LINE.finditer(content):
        at, text = line.start(), line[0].rstrip()
        if until:
            until = "" if text == until else until
            continue
        if begin >= 0 and text and not _begins(text, table):
            end = at + len(text)
            continue
        if begin >= 0:
            yield AsciiDocBlock(sign, begin, end)
            begin = -1
        header = header and bool(text)
        if _VERBATIM.match(text):
            until, stays = re.sub(r"\w+$", "", text), False
        elif _BORDER.match(text):
            is_table = re.fullmatch(r"[|,:!]={3,}", text) is not None
            table = table != is_table
            until = text if stays or (is_table and text[0] in ",:") else ""
            table, stays = table and not until, False
        elif not text or header:  # in the header are authors and versions
            stays = False
        elif _UNTRANSLATED_LINE.match(text):
            stays = stays or _STAYS.match(text) is not None
        elif table and _CELL.search(text):
            yield from _cells(content, at, at + len(text))
        elif (stays and not _TITLE.match(text)) or (text[0] in " \t" and not (_ITEM.match(text) or defines or table)):
            stays = True  # a literal paragraph
        else:
            match = _TITLE.match(text) or _ITEM.match(text)
            term = None if match else _TERM.match(f"{text} ")
            if term:
                yield AsciiDocBlock(term["sign"], at + term.start("term"), at + term.end("term"))
            skipped = match.end() if match else min(term.end(), len(text)) if term else len(text) - len(text.lstrip())
            sign, begin, end = (match[0].strip() if match else "text"), at + skipped, at + len(text)
            defines = begin >= end
            header = header or (sign == "=" and not content[:at].strip())
            if defines or (match and _TITLE.match(text)):
                if begin < end:
                    yield AsciiDocBlock(sign, begin, end)
                begin = -1
    if begin >= 0:
        yield AsciiDocBlock(sign, begin, end)


def _begins(text: str, table: bool) -> bool:
    """Whether a line ends the paragraph before it."""
    begins = any(pattern.match(text) for pattern in (_VERBATIM, _BORDER, _ITEM, _ENDS))
    return begins or _TERM.match(f"{text} ") is not None or (table and "|" in text)


def _cells(content: str, begin: int, end: int) -> Iterator[AsciiDocBlock]:
    marks = list(_CELL.finditer(content[begin:end]))
    for number, mark in enumerate(marks):
        last = marks[number + 1].start() if number + 1 < len(marks) else end - begin
        text = content[begin + mark.end() : begin + last]
        if "|" not in text and text.strip() and not re.search(r"[ael]\|\s*$", mark[0]):
            yield AsciiDocBlock("|", begin + mark.end(), begin + mark.end() + len(text.rstrip()))


def _items(content: str, begin: int, end: int) -> Iterator[Item]:
    at = begin
    for match in _MARKUP.finditer(content, begin, end):
        if match.start() > at:
            yield Item("text", at, match.start(), content[at : match.start()])
        at = match.end()
        low, high = match.span()
        if match["shown"]:
            yield Item("protected", low, high, match[0])
        elif match["strong"] or match["emphasis"]:
            size, name = 1 + (match[0][:2] in ("**", "__")), "strong" if match["strong"] else "em"
            yield Item("open", low, low + size, name)
            yield from _items(content, low + size, high - size)
            yield Item("close", high - size, high, name)
        elif match["link"]:
            inner = "label" if match["label"] is not None else "text"
            # A note is a sentence of its own: halves without partners are borders of units.
            names = ("note", "end of a note") if match[0].startswith("footnote") else ("a", "a")
            yield Item("open", low, match.start(inner), names[0])
            yield Item("text", *match.span(inner), match[inner])
            yield Item("close", match.end(inner), high, names[1])
        elif match["line"]:
            yield Item("break", low, high, "\n")
        else:
            yield Item("alone", low, high)
    if at < end:
        yield Item("text", at, end, content[at:end])


def write(document: Document, translations: Translations, options: DocumentOptions, file: IO[bytes]) -> None:
    """The file with the translations in place of its texts."""
    decoded, listed, signs = document.skeleton
    texts = list(translations)

    def changes(count: int) -> list[Splice]:
        some = [text if index < count else None for index, text in enumerate(texts)]
        return splices(decoded.text, listed, some, _written)

    def fits(count: int) -> bool:
        content = read_again(document.path, decoded, changes(count))
        blocks = list(_blocks(content))
        units = _units(content, blocks)
        return [block.sign for block in blocks] == signs and [
            "".join((new if index < count and new else old.inline).text.split())
            for index, (old, new) in enumerate(zip(listed, texts, strict=True))
        ] == ["".join(unit.inline.text.split()) for unit in units]

    line_of = line_numbers(decoded.text)
    while not fits(len(texts)):
        first = bisect_left(range(1, len(texts)), True, key=lambda count: not fits(count))
        texts[first] = None
        document.remarks.append(
            f"line {line_of(listed[first].begin)}: not translated, because the markup around it would change"
        )
    file.write(spliced(decoded, changes(len(texts))))


def _written(piece: UnitSpan, text: InlineText, source: Source) -> str:
    """A translation with its markup: next to a letter bold and italic text has its signs twice."""
    result = written(piece, text, str, lambda *span: f"\0{source(*span)}\1")
    parts = re.split("\0(.*?)\1", result, flags=re.DOTALL)
    for sign in "*_":
        signs = [index for index in range(1, len(parts), 2) if parts[index] == sign]
        for first, last in zip(signs[::2], signs[1::2], strict=False):
            if "".join(parts[:first])[-1:].isalnum() or "".join(parts[last + 1 :])[:1].isalnum():
                parts[first] = parts[last] = 2 * sign
    return "".join(parts)
