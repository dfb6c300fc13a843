"""HTML: the text between block tags, the attributes that people read, `<title>` and the descriptions of `<meta>`.

Everything else stays byte for byte. Text of a translation is escaped, so that it never becomes a tag.
"""

import codecs
import re
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import IO

from dragoman.documents.core.document import Document, DocumentOptions, Translations
from dragoman.documents.core.spans import Source, UnitSpan, check_pieces, located, splices, written
from dragoman.documents.core.splice import Decoded, Splice, decode, read_again, spliced
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
    return Document(path, located(decoded.text, listed), (decoded, listed))


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
    escape = partial(escaped, encoding=decoded.encoding)
    file.write(spliced(decoded, page_splices(document.path, decoded, listed, list(translations), options, escape)))


def page_splices(
    path: Path | str,
    decoded: Decoded,
    listed: Sequence[UnitSpan],
    translations: Sequence[InlineText | None],
    options: DocumentOptions,
    escape: Callable[..., str],
) -> list[Splice]:
    """The translations of a page and, if there are any, their language; `escape(text, quote="")` writes text.

    Raises DataError unless the page has, read again, the translations and the tags of its source.
    """
    changes = splices(decoded.text, listed, translations, lambda *change: written_html(escape, *change))
    if changes:
        changes += _language(decoded.text, options.target)
        content = read_again(path, decoded, changes)
        check_pieces(path, listed, translations, html_pieces(content))
        if _tags(content) != _tags(decoded.text):
            raise DataError(f"{path}: its translation has other tags; nothing was written, please report it")
    return changes


def _tags(content: str) -> Counter[tuple[str, str]]:
    return Counter((token.kind, token.name) for token in tokens(content) if token.name)


def written_html(escape: Callable[..., str], piece: UnitSpan, text: InlineText, source: Source) -> str:
    """A translation as HTML: between the tags of its source, or as the value of an attribute."""
    if not piece.where:
        return written(piece, text, escape, source)
    quote = source(piece.begin, piece.begin + 1)
    quote = quote if quote in ("'", '"') else '"'
    return quote + escape(text.text, quote=quote) + quote


def escaped(text: str, encoding: str, quote: str = "") -> str:
    """Text without markup, in an attribute between `quote`s if given; what the encoding lacks becomes references."""
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("\xa0", "&nbsp;")
    text = text.replace(quote, "&#39;" if quote == "'" else "&quot;") if quote else text
    return text.encode(encoding, "xmlcharrefreplace").decode(encoding)


def _language(content: str, target: str) -> list[Splice]:
    """The languages that the outermost element declares."""
    start = next((token for token in tokens(content) if token.kind == "start"), None)
    attributes = attribute_spans(content, start) if start is not None and start.name == "html" else ()
    return [Splice(begin, end, f'"{target}"') for name, begin, end in attributes if name in ("lang", "xml:lang")]
