"""AsciiDoc (`.adoc`): titles, paragraphs, items, cells and captions; code, formulas, attributes and macros stay.

No parser of AsciiDoc for Python is maintained: lines are read here by the rules for blocks. What is written is read
again; a unit that would change the blocks stays untranslated. No other file is included.
"""

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from dragoman.documents.core.document import Document, DocumentOptions, Translations
from dragoman.documents.core.spans import Item, Source, UnitSpan, line_numbers, located, pieces, splices, written
from dragoman.documents.core.splice import Splice, applied, decode, read_again, spliced
from dragoman.text.words.inline import InlineText

_LINE = re.compile(r"[^\n]*\n|[^\n]+")
# Blocks that stay between two lines of the same signs: comments, code, literals, formulas, what is passed through.
_VERBATIM = re.compile(r"(?:/{4,}|-{4,}|\.{4,}|\+{4,}|`{3,}\w*)\s*$")
_BREAK = re.compile(r"(?:'{3,}|<{3,}|-{3}|\*{3})\s*$")
_BORDER = re.compile(r"(?:={4,}|\*{4,}|_{4,}|--|[|,:!]={3,}|'{3,}|<{3,}|-{3}|\*{3})\s*$")
# Comments, attributes, conditions and includes, block macros, attributes of a block, an anchor, a continuation.
_UNTRANSLATED_LINE = re.compile(r"//|:!?[\w-]+!?:|\w+::\S*\[.*\]\s*$|\[.*\]\s*$|\+\s*$|'''")
_STAYS = re.compile(
    r"\[(?:source|listing|literal|stem|latexmath|asciimath|pass|verse|%?autowidth)\b|\[,"
    r'|\[[^\]]*\bformat\s*=\s*"?(?:csv|tsv|dsv)\b'
)
_ENDS = re.compile(r"//|\[[^\]]*\]\s*$|\+\s*$|(?:ifdef|ifndef|ifeval|endif|include)::")
# The line under a title.
_UNDERLINE = re.compile(r"([=~^+-])\1+")
_TITLE = re.compile(r"(?:={1,6}|\#{1,6})[ \t]+(?=\S)|\.(?=[^\s.])")
_ITEM = re.compile(
    r"[ \t]*(?:\*{1,5}|-|\.{1,5}|\d{1,3}\.|[a-zA-Z]\.|<\d{1,2}>|<\.>)[ \t]+(?:\[[ x*]\][ \t]+)?(?=\S)"
    r"|(?:NOTE|TIP|IMPORTANT|WARNING|CAUTION):[ \t]+"
)
_TERM = re.compile(r"[ \t]*(?P<term>(?=[^\n]*(?:::|;;))\S[^\n]{0,200}?)(?P<sign>:{2,4}|;;)(?=\s)[ \t]*")
# The sign of a cell, with its format behind a space; comments and conditions between cells.
_CELL = re.compile(
    r"(?:(?<=[ \t])|^)(?:(?:\d+(?:\.\d+)?|\.\d+)[+*])?[<^>.]{0,3}[aehmsdl]?\|[ \t]*|(?<!\\)\|[ \t]*"
    r"|^(?://|(?:ifdef|ifndef|ifeval|endif|include)::).*$",
    re.MULTILINE,
)
# A paragraph of a cell.
_PARAGRAPH = re.compile(r"\S(?:[^\n]|\n(?!\s*(?:\n|\Z)))*(?<=\S)")
# Signs of code that are there twice next to a letter.
_CODE = re.compile(r"(?P<sign>[`+])[^`+]+(?P=sign)")
_TWICE = re.compile(r"([`+])\1+")
# What is behind the label of a link: the sign of a new window, and attributes.
_BEHIND_LABEL = re.compile(r"[\"^]{0,2}(?:,[ ]*[\w-]{1,30}=.*)?\Z")
_MARKUP = re.compile(
    r"""(?P<quote>(?<![A-Za-z0-9_])(?P<mark>["'])`(?=[^\s`](?:[^\n]|\n(?!\s*\n)){0,500}?(?<=[^\s`])`(?P=mark))
        | (?<=[^\s`])`["'](?![A-Za-z0-9_]))
      | (?P<shown>``[^`\n]{1,300}`` | (?<![A-Za-z0-9_`])`(?=\S)[^`\n]{1,300}(?<=\S)`(?![A-Za-z0-9_`])
        | (?<![A-Za-z0-9_+])\+{1,3}(?=\S)[^+\n]{1,300}(?<=\S)\+{1,3}(?![A-Za-z0-9_+])
        | \{[\w-]{1,60}\}(?!(?:[/\#?][^\s\[\]]{0,300})?\[[^\]\n]) | \#{2}[^#\n]{1,80}\#{2}
        | (?:kbd|btn|menu|icon|image|stem|latexmath|asciimath|pass|anchor|indexterm2?):[^\s\[]{0,200}\[[^\]]{0,300}\]
        | \(\([^()\n]{1,100}\)\) | &(?:\#\d{1,7}|\#x[0-9a-fA-F]{1,6}|\w{2,32}); | <<[^<>,\n]{1,200}>>
        | (?<![\w/])https?://[^\s\[\]<>]{1,300}(?!\[|[^\s\[\]<>]))
      | (?P<link>(?P<before>(?:(?:link|xref|mailto|footnote|footnoteref):[^\s\[]{0,300}|https?://[^\s\[\]<>]{1,300}
            |\{[\w-]{1,60}\}(?:[/\#?][^\s\[\]]{0,300})?)\["?)
          (?P<label>[^\]\n]{1,300})(?P<after>\])
        |(?P<open><<[^<>,\n]{1,200},[ ]*)(?P<text>[^<>\n]{1,300})(?P<end>>>))
      | (?P<bare>(?:link|xref):[^\s\[]{1,300}\[\]|\[\[[^\]\n]{1,80}\]\]|\[\#[^\]\n]{1,80}\])
      | (?P<strong>\*\*(?=[^\s*])[^*\n]{1,300}?\*\* | (?<![\w*])\*(?=[^\s*])[^*\n]{1,300}?(?<=[^\s*])\*(?![\w*]))
      | (?P<emphasis>__(?=[^\s_])[^_\n]{1,300}?__ | (?<![\w_])_(?=[^\s_])[^_\n]{1,300}?(?<=[^\s_])_(?![\w_]))
      | (?P<line>[ ]\+\r?\n) | (?P<role>\[\.[\w.-]{1,60}\](?=\#))""",
    re.VERBOSE,
)
_QUOTES = {'"`': "“", '`"': "”", "'`": "‘", "`'": "’"}


@dataclass(frozen=True, slots=True)
class AsciiDocBlock:
    """A piece of text between two borders, and the sign before it, or "text"; "under -" is a title over such a line."""

    sign: str
    begin: int
    end: int


def read(path: Path, options: DocumentOptions) -> Document:
    """The units of an AsciiDoc file."""
    decoded = decode(path, path.read_bytes())
    blocks = list(_blocks(decoded.text))
    listed = _units(decoded.text, blocks)
    return Document(path, located(decoded.text, listed), (decoded, listed, blocks))


def _units(content: str, blocks: Iterable[AsciiDocBlock]) -> list[UnitSpan]:
    runs = [list(_items(content, block.begin, block.end)) for block in blocks]
    return [piece for items in runs for piece in pieces(items, content)]


def _blocks(content: str) -> Iterator[AsciiDocBlock]:
    """The texts of a file: paragraphs, titles, items, terms and cells, in order."""
    until, sign, begin, end = "", "", -1, -1
    stays = header = defines = False
    opened: list[str] = []  # the blocks around a line
    lines = list(_LINE.finditer(content))
    for number, line in enumerate(lines):
        at, text = line.start(), line[0].rstrip()
        if until:
            until = "" if text == until else until
            continue
        if begin >= 0 and text and not _begins(text):
            end = at + len(text)
            continue
        if begin >= 0:
            yield AsciiDocBlock(sign, begin, end)
            begin = -1
        header = header and bool(text)
        above, below = (lines[near][0].rstrip() if 0 <= near < len(lines) else "" for near in (number - 1, number + 1))
        if _VERBATIM.match(text):
            until, stays = re.sub(r"\w+$", "", text), False
        elif _BORDER.match(text):
            if re.fullmatch(r"[|,:!]={3,}", text):
                until = text
                if not stays and text[0] not in ",:":
                    yield from _cells(content, line.end(), _table_end(lines, number + 1, text))
            elif stays:
                until = text
            elif not _BREAK.match(text):
                _toggle(opened, text)
            stays = False
        elif not text or header:  # in the header are authors and versions
            stays = False
        elif _UNTRANSLATED_LINE.match(text):
            stays = stays or _STAYS.match(text) is not None
        elif not (stays or opened) and _is_title(text, above, below):
            until = below
            header = header or (below[0] == "=" and not content[:at].strip())
            yield AsciiDocBlock(f"under {below[0]}", at, at + len(text))
        elif (stays and not _TITLE.match(text)) or (text[0] in " \t" and not (_ITEM.match(text) or defines)):
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


def _begins(text: str) -> bool:
    """Whether a line ends the paragraph before it."""
    begins = any(pattern.match(text) for pattern in (_VERBATIM, _BORDER, _ITEM, _ENDS))
    return begins or _TERM.match(f"{text} ") is not None


def _toggle(opened: list[str], border: str) -> None:
    """Close the block of a border, with those in it, or open it."""
    if border in opened:
        del opened[opened.index(border) :]
    else:
        opened.append(border)


def _is_title(text: str, above: str, below: str) -> bool:
    """Whether a line is a title because of the line below it, which has as many characters, or one more or less."""
    if abs(len(text) - len(below)) > 1 or not _UNDERLINE.fullmatch(below):
        return False
    is_attached = above == "+" or above.endswith(("::", ";;"))
    is_item = _ITEM.match(text) is not None and len(below) < 5
    is_text = re.search(r"\w", text) is not None and text[0] not in " \t." and not text.endswith(("::", ";;"))
    return is_text and not is_item and not is_attached and not _TITLE.match(text)


def _table_end(lines: Sequence[re.Match[str]], number: int, border: str) -> int:
    """Where a table ends whose first line has this number."""
    borders = (index for index in range(number, len(lines)) if lines[index][0].rstrip() == border)
    ending = next(borders, None)
    return lines[-1].end() if ending is None else lines[ending].start()


def _cells(content: str, begin: int, end: int) -> Iterator[AsciiDocBlock]:
    """The paragraphs of cells that have no other blocks."""
    marks = list(_CELL.finditer(content, begin, end))
    borders = [*(mark.start() for mark in marks[1:]), end]
    for mark, last in zip(marks, borders[: len(marks)], strict=True):
        text = content[mark.end() : last].strip()
        is_plain = mark[0].rstrip().endswith("|") and not re.search(r"[ael]\|\s*$", mark[0]) and "|" not in text
        if is_plain and not ("\n" in text and any(_begins(line) for line in text.split("\n") if line.strip())):
            for match in _PARAGRAPH.finditer(content, mark.end(), last):
                yield AsciiDocBlock("|", *match.span())


def _items(content: str, begin: int, end: int) -> Iterator[Item]:
    at = begin
    for match in _MARKUP.finditer(content, begin, end):
        if match.start() > at:
            yield Item("text", at, match.start(), content[at : match.start()])
        at = match.end()
        low, high = match.span()
        if match["quote"]:
            yield Item("text", low, high, _QUOTES[match[0]])
        elif match["shown"]:
            yield Item("protected", low, high, match[0])
        elif match["strong"] or match["emphasis"]:
            size, name = 1 + (match[0][:2] in ("**", "__")), "strong" if match["strong"] else "em"
            yield Item("open", low, low + size, name)
            yield from _items(content, low + size, high - size)
            yield Item("close", high - size, high, name)
        elif match["link"]:
            inner = "label" if match["label"] is not None else "text"
            first, last = match.span(inner)
            # A note is a sentence of its own: halves without partners are borders of units.
            names = ("note", "end of a note") if match[0].startswith("footnote") else ("a", "a")
            if inner == "label" and names[0] == "a" and (behind := _BEHIND_LABEL.search(content, first, last)):
                last = behind.start()
            yield Item("open", low, first, names[0])
            yield Item("text", first, last, content[first:last])
            yield Item("close", last, high, names[1])
        elif match["line"]:
            yield Item("break", low, high, "\n")
        else:
            yield Item("alone", low, high)
    if at < end:
        yield Item("text", at, end, content[at:end])


def write(document: Document, translations: Translations, options: DocumentOptions, file: IO[bytes]) -> None:
    """The file with the translations in place of its texts."""
    decoded, listed, blocks = document.skeleton
    texts = list(translations)
    titles = [block for block in blocks if block.sign.startswith("under")]

    def changes(count: int) -> list[Splice]:
        some = [text if index < count else None for index, text in enumerate(texts)]
        made = splices(decoded.text, listed, some, _written)
        return [*made, *_underlines(decoded.text, titles, made)]

    def fits(count: int) -> bool:
        content = read_again(document.path, decoded, changes(count))
        again = list(_blocks(content))
        return [block.sign for block in again] == [block.sign for block in blocks] and [
            _letters(new if index < count and new else old.inline)
            for index, (old, new) in enumerate(zip(listed, texts, strict=True))
        ] == [_letters(unit.inline) for unit in _units(content, again)]

    line_of = line_numbers(decoded.text)
    while not fits(len(texts)):
        first = bisect_left(range(1, len(texts)), True, key=lambda count: not fits(count))
        texts[first] = None
        document.remarks.append(
            f"line {line_of(listed[first].begin)}: not translated, because the markup around it would change"
        )
    file.write(spliced(decoded, changes(len(texts))))


def _letters(text: InlineText) -> str:
    """A text without white space, and signs of code once."""
    return _TWICE.sub(r"\1", "".join(text.text.split()))


def _underlines(content: str, titles: Sequence[AsciiDocBlock], made: Iterable[Splice]) -> Iterator[Splice]:
    """The lines under titles that change, as long as these: Asciidoctor counts characters."""
    begins = [title.begin for title in titles]
    inside = defaultdict[int, list[Splice]](list)
    for splice in made:
        inside[bisect_right(begins, splice.begin) - 1].append(splice)
    for number, title in enumerate(titles):
        changes = [splice for splice in inside[number] if splice.end <= title.end]
        line = _UNDERLINE.match(content, content.index("\n", title.end) + 1)
        if changes and line:
            length = len(applied(content, title.begin, title.end, changes).rstrip())
            yield Splice(*line.span(), line[1] * length)


def _written(piece: UnitSpan, text: InlineText, source: Source) -> str:
    """A translation with its markup: next to a letter bold and italic text and code have their signs twice."""
    result = written(piece, text, str, lambda *span: f"\0{source(*span)}\1")
    parts = re.split("\0(.*?)\1", result, flags=re.DOTALL)
    for sign in "*_":
        signs = [index for index in range(1, len(parts), 2) if parts[index] == sign]
        for first, last in zip(signs[::2], signs[1::2], strict=False):
            if "".join(parts[:first])[-1:].isalnum() or "".join(parts[last + 1 :])[:1].isalnum():
                parts[first] = parts[last] = 2 * sign
    for index in range(1, len(parts), 2):
        is_near = parts[index - 1][-1:].isalnum() or parts[index + 1][:1].isalnum()
        if is_near and _CODE.fullmatch(parts[index]):
            parts[index] = f"{parts[index][0]}{parts[index]}{parts[index][0]}"
    return "".join(parts)
