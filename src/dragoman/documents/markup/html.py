"""HTML: the text between block tags, the attributes that people read, `<title>` and the descriptions of `<meta>`.

Everything else stays byte for byte. Text of a translation is escaped, so that it never becomes a tag.
"""

import codecs
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import IO

from dragoman.documents.core.document import Document, DocumentOptions, Translations, Unit
from dragoman.documents.core.rewrite import check_pieces, splices, written
from dragoman.documents.core.spans import LineNumbers, UnitSpan
from dragoman.documents.core.splice import Decoded, Splice, decode, spliced
from dragoman.documents.markup.html_spans import attribute_spans, html_pieces, tokens
from dragoman.errors import DataError
from dragoman.text.words.inline import InlineText

_CHARSET = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([\w.:-]{1,40})", re.IGNORECASE)
# Browsers read these names as the larger character sets of Windows.
_WIDER = {"euc_kr": "cp949", "iso8859-1": "cp1252", "ascii": "cp1252", "gb2312": "gb18030", "shift_jis": "cp932"}


def read(path: Path, options: DocumentOptions) -> Document:
    """The units of an HTML file, in its own character encoding."""
    return parse(path, path.read_bytes())


def parse(path: Path, content: bytes) -> Document:
    """The texts of an HTML page by its bytes; `path` names it in errors."""
    decoded = decode(path, content, _encoding(path, content[:2048]))
    listed = html_pieces(decoded.text)
    lines = LineNumbers.of(decoded.text)
    units = [Unit(piece.inline, f"line {lines.at(piece.begin)}", piece.where) for piece in listed]
    return Document(path, units, (decoded, listed))


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


def write(document: Document, translations: Translations, options: DocumentOptions, file: IO[bytes]) -> None:
    """The page with the translations in place of its texts and, if there are any, their language in `<html>`."""
    decoded, listed = document.skeleton
    texts = list(translations)
    changes = splices(decoded.text, listed, texts, lambda *change: written_html(decoded, *change))
    if changes:
        changes = sorted([*changes, *_language(decoded.text, options.target)], key=lambda splice: splice.begin)
        _check(document, texts, decode(document.path, b"".join(spliced(decoded, changes)), decoded.encoding).text)
    file.writelines(spliced(decoded, changes))


def _check(document: Document, translations: list[InlineText | None], content: str) -> None:
    """Raise DataError unless the page has the translations, and the tags of its source."""
    decoded, listed = document.skeleton
    expected = [(piece, new or piece.inline) for piece, new in zip(listed, translations, strict=True)]
    check_pieces(document.path, expected, html_pieces(content))
    tags = [
        Counter((token.kind, token.name) for token in tokens(text) if token.name) for text in (decoded.text, content)
    ]
    if tags[0] != tags[1]:
        raise DataError(f"{document.path}: its translation has other tags; nothing was written, please report it")


def written_html(decoded: Decoded, piece: UnitSpan, text: InlineText, source: Callable[[int, int], str]) -> str:
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
