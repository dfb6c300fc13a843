"""HTML: the text between block tags, the attributes that people read, `<title>` and the descriptions of `<meta>`.

Everything else stays byte for byte. Text of a translation is escaped, so that it never becomes a tag.
"""

import codecs
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import IO

from dragoman.documents.core.document import Document, Request, Translations, Unit
from dragoman.documents.core.rewrite import check_pieces, splices, written
from dragoman.documents.core.runs import Lines, Piece
from dragoman.documents.core.splice import Decoded, Splice, decode, spliced
from dragoman.documents.markup.html_spans import attribute_spans, found_in, tokens
from dragoman.errors import DataError
from dragoman.text.words.inline import InlineText

_CHARSET = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([\w.:-]{1,40})", re.IGNORECASE)
# Browsers read these names as the larger character sets of Windows.
_WIDER = {"euc_kr": "cp949", "iso8859-1": "cp1252", "ascii": "cp1252", "gb2312": "gb18030", "shift_jis": "cp932"}


def read(path: Path, request: Request) -> Document:
    """The units of an HTML file, in its own character encoding."""
    return parse(path, path.read_bytes())


def parse(path: Path, content: bytes) -> Document:
    """The same of the content of a file; `path` is for errors."""
    decoded = decode(path, content, _encoding(path, content[:2048]))
    found = found_in(decoded.text)
    lines = Lines.of(decoded.text)
    units = [Unit(each.inline, f"line {lines.at(each.begin)}", each.where) for each in found]
    return Document(path, units, (decoded, found))


def _encoding(path: Path, head: bytes) -> str:
    match = _CHARSET.search(head)
    if match is None:
        return "utf-8"
    try:
        name = codecs.lookup(match[1].decode("ascii")).name
    except LookupError:
        raise DataError(f"{path}: unknown charset {match[1].decode()}; save the file as UTF-8") from None
    # A file that is read byte by byte up to here is not in UTF-16, whatever it declares.
    return "utf-8" if name.startswith("utf-16") else _WIDER.get(name, name)


def write(document: Document, translations: Translations, request: Request, file: IO[bytes]) -> None:
    """The same file with the translations in place and, if there are any, the language of `<html>`."""
    decoded, found = document.skeleton
    given = list(translations)
    changes = splices(decoded.text, found, given, lambda *each: written_html(decoded, *each))
    if changes:
        changes = sorted([*changes, *_language(decoded.text, request.target)], key=lambda splice: splice.begin)
        _check(document, given, decode(document.path, b"".join(spliced(decoded, changes)), decoded.encoding).text)
    file.writelines(spliced(decoded, changes))


def _check(document: Document, translations: list[InlineText | None], content: str) -> None:
    """Raise DataError unless the page has the translations, and the tags of its source."""
    decoded, found = document.skeleton
    expected = [(piece, new or piece.inline) for piece, new in zip(found, translations, strict=True)]
    check_pieces(document.path, expected, found_in(content))
    tags = [
        Counter((token.kind, token.name) for token in tokens(each) if token.name) for each in (decoded.text, content)
    ]
    if tags[0] != tags[1]:
        raise DataError(f"{document.path}: its translation has other tags; nothing was written, please report it")


def written_html(decoded: Decoded, piece: Piece, text: InlineText, source: Callable[[int, int], str]) -> str:
    """A translation as HTML: between the tags of its source, or as the value of an attribute."""
    if not piece.where:
        return written(piece, text, lambda part: escaped(decoded, part), source)
    quote = source(piece.begin, piece.begin + 1)
    quote = quote if quote in ("'", '"') else '"'
    return quote + escaped(decoded, text.text).replace(quote, "&#39;" if quote == "'" else "&quot;") + quote


def escaped(decoded: Decoded, text: str) -> str:
    """Text without markup; what the file's encoding has not got as a numeric reference."""
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("\xa0", "&nbsp;")
    return text.encode(decoded.encoding, "xmlcharrefreplace").decode(decoded.encoding)


def _language(content: str, target: str) -> list[Splice]:
    for token in tokens(content):
        if token.kind == "start" and token.name == "html":
            return [
                Splice(begin, end, f'"{target}"')
                for name, begin, end in attribute_spans(content, token)
                if name in ("lang", "xml:lang")
            ]
        if token.kind == "start":
            break
    return []
