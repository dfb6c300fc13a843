"""HTML: the text between block tags, the attributes that people read, `<title>` and the descriptions of `<meta>`.

Everything else stays byte for byte. Text of a translation is escaped, so that it never becomes a tag. Tokens come with
their spans from the standard parser; no tree is built and nothing recurses: tags are matched inside a run of text only,
so unclosed and crossing ones do no harm. Of templates (`{{ name }}`, `{% if a < b %}`) expressions are copied as a part
of their sentence, and statements are borders.
"""

# ruff: noqa: SIM905
import codecs
import re
from bisect import bisect
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from html import unescape
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import IO

from dragoman.documents.core.document import Document, DocumentOptions, Translations
from dragoman.documents.core.labels import is_formula
from dragoman.documents.core.spans import (
    Item,
    Source,
    UnitSpan,
    check_pieces,
    located,
    pieces,
    splices,
    written,
)
from dragoman.documents.core.splice import Decoded, Splice, UnreadableTranslation, decode, read_again, spliced
from dragoman.documents.markup.templates import masked, read_value, templates, write_value
from dragoman.errors import DataError
from dragoman.system.parsing import WIDER
from dragoman.system.processes import check_work
from dragoman.text.words.inline import InlineText
from dragoman.text.words.language import primary_language, same_language

_CHARSET = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([\w.:-]{1,40})", re.IGNORECASE)
# Browsers read these names as the larger character sets of Windows.
_WIDER = {**WIDER, "iso8859-1": "cp1252", "ascii": "cp1252"}
# Tags inside sentences; any other is the border of a unit.
INLINE = frozenset(
    "a abbr acronym b bdi bdo big cite data del dfn em font i img input ins label mark nobr output q ruby s small span "
    "strike strong sub sup time tt u wbr br code kbd samp var svg math script style object".split()
)
# Their content is copied as a whole: shown to the model where it is text of the sentence, otherwise not.
SHOWN = frozenset("code kbd samp var tt".split())
OPAQUE = frozenset("script style pre textarea xmp iframe noframes noembed plaintext svg math ruby".split())
_VOID = frozenset("area base br col embed hr img input link meta param source track wbr".split())
# One ends where the next begins: a missing end tag is allowed.
_REPEATED = frozenset("p li dt dd tr td th option".split())
_ATTRIBUTES = frozenset("alt title placeholder aria-label aria-description aria-roledescription label".split())
_LANGUAGES = ("lang", "xml:lang")
_META = frozenset(
    "description title og:title og:description og:image:alt twitter:title twitter:description twitter:image:alt".split()
)
_ATTRIBUTE = re.compile(r"""([^\s/>"'=][^\s/>=]*)(?:\s*=\s*("[^"]*"|'[^']*'|[^\s>"']+))?""")
_REFERENCE = re.compile(r"&#?\w+;?")
_LINE_END = re.compile(r"\r\n|[\r\v\f\x1c-\x1e\x85\u2028\u2029]")
# What begins a tag, a comment or a declaration; and elements in which nothing does.
_OPENED, _RAW = re.compile(r"<[A-Za-z/!?]"), frozenset(("script", "style"))
# Characters that may be looked at for the ends of tags and comments that have none.
_MOST_LOOKED_AT = 300_000_000
# How many tokens the end of an inline element is looked for.
_REACH = 500


def read(path: Path, options: DocumentOptions) -> Document:
    """The units of an HTML file, in its own character encoding."""
    return parse(path, path.read_bytes(), options.source)


def parse(path: Path, content: bytes, language: str = "und") -> Document:
    """The texts of an HTML page by its bytes; `path` names it in errors. What is not in `language` stays."""
    decoded = decode(path, content, _encoding(path, content[:2048]))
    listed = html_pieces(decoded.text, language=language)
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
    space = "&nbsp;" if "&nbsp;" in decoded.text else "&#160;"
    escape = partial(escaped, encoding=decoded.encoding, space=space)
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
    write = partial(written_html, escape)
    changes = splices(decoded.text, listed, translations, write)
    if not changes:
        return []
    content = read_again(path, decoded, changes)
    check_pieces(path, listed, translations, html_pieces(content, language=options.source))
    if _tags(content) != _tags(decoded.text):
        raise UnreadableTranslation(f"{path}: its translation has other tags; nothing was written, please report it")
    languages = _languages(decoded.text, options.source)
    return splices(
        decoded.text,
        [*listed, *languages],
        [*translations, *(InlineText(options.target) for _ in languages)],
        write,
    )


def _tags(content: str) -> Counter[tuple[str, str]]:
    return Counter((token.kind, token.name) for token in tokens(content) if token.name)


def written_html(escape: Callable[..., str], piece: UnitSpan, text: InlineText, source: Source) -> str:
    """A translation as HTML: between the tags of its source, or as the value of an attribute."""
    if not piece.where:
        return written(piece, text, escape, source)
    if piece.where in _LANGUAGES:
        return f'"{text.text}"'
    quote = source(piece.begin, piece.begin + 1)
    quote = quote if quote in ("'", '"') else '"'
    return quote + write_value(text, piece.inline, partial(escape, quote=quote)) + quote


def escaped(text: str, encoding: str, quote: str = "", space: str = "&#160;") -> str:
    """Text without markup, in an attribute between `quote`s if given; what the encoding lacks becomes references.

    `space` is how a no-break space is written: not every page is XML, in which `&nbsp;` is not defined.
    """
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("\xa0", space)
    text = text.replace(quote, "&#39;" if quote == "'" else "&quot;") if quote else text
    return text.encode(encoding, "xmlcharrefreplace").decode(encoding)


def _languages(content: str, language: str) -> list[UnitSpan]:
    """The languages that the outermost element declares, and the elements with text that are in `language`."""
    listed = tokens(content)
    root = next((index for index, token in enumerate(listed) if token.kind == "start"), 0)
    root = root if listed[root].name == "html" else -1
    ends, skip, values = _Ends(content, listed, language), 0, list[UnitSpan]()
    for index, token in enumerate(listed):
        if index < skip or token.kind != "start":
            continue
        last = ends.of(index)
        skip = index if last is None else last + 1
        for name, begin, end in attribute_spans(content, token) if last is None else ():
            tag = content[begin:end].strip("\"' ")
            if name in _LANGUAGES and (index == root or _is_in(language, tag)) and not any(templates(tag)):
                values.append(UnitSpan(begin, end, InlineText(tag), where=name))
    return values


def _is_in(language: str, tag: str) -> bool:
    """Whether an element that declares this language is in `language`."""
    return language != "und" and same_language(primary_language(tag), primary_language(language))


@dataclass(frozen=True, slots=True)
class HtmlToken:
    """A tag, text or anything else of the file from `begin` to `end`."""

    kind: str
    begin: int
    end: int
    name: str = ""
    attributes: tuple[tuple[str, str], ...] = ()


class _Unfinished(Exception):
    """Ends the parsing at a tag that does not end."""


class _Tokens(HTMLParser):
    def __init__(self, content: str) -> None:
        super().__init__(convert_charrefs=False)
        self.content = content
        self.lines = [0, *(match.end() for match in re.finditer("\n", content))]
        self.found: list[HtmlToken] = []
        with suppress(_Unfinished):
            self.feed(content)
            self.close()

    def _add(self, kind: str, length: int, name: str = "", attributes: tuple[tuple[str, str], ...] = ()) -> None:
        line, column = self.getpos()
        begin = self.lines[line - 1] + column
        if kind == "text" and self.cdata_elem is None and _OPENED.match(self.content, begin):
            self.found.append(HtmlToken("other", begin, len(self.content)))
            raise _Unfinished  # as `_finished` reads it: to look for the end of each tag that follows is quadratic
        check_work()
        self.found.append(HtmlToken(kind, begin, begin + length, name, attributes))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._add("start", len(self.get_starttag_text() or ""), tag, tuple((n, v or "") for n, v in attrs))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._add("empty", len(self.get_starttag_text() or ""), tag, tuple((n, v or "") for n, v in attrs))

    def handle_endtag(self, tag: str) -> None:
        self._add("end", 0, tag)

    def handle_data(self, data: str) -> None:
        self._add("text", len(data))

    def handle_entityref(self, name: str) -> None:
        self._add("reference", 0)

    handle_charref = handle_entityref

    def handle_comment(self, data: str) -> None:
        self._add("other", 0)

    handle_pi = unknown_decl = handle_comment

    def handle_decl(self, decl: str) -> None:
        self._add("border", 0)


def tokens(content: str) -> list[HtmlToken]:
    """The tokens of a text, each up to the next: what the parser does not report belongs to the markup before it.

    Raises DataError for too many tags or comments without an end: the parser looks for that of each.
    """
    content = masked(content)
    last = content.rfind(">") + 1
    tags = content.count("<", last) * (len(content) - last)
    if max(tags, (content.count("<!--") - content.count("-->")) * len(content)) > _MOST_LOOKED_AT:
        raise DataError("too many tags or comments that do not end; it is damaged or made to do harm")
    listed = _finished(content, _Tokens(content).found)
    exact: list[HtmlToken] = []
    for token, following in pairwise([*listed, HtmlToken("", len(content), 0)]):
        end = following.begin
        if token.kind == "reference" and (match := _REFERENCE.match(content, token.begin, end)):
            token = HtmlToken("text", token.begin, match.end())
        elif token.kind != "text":
            token = HtmlToken(token.kind, token.begin, end, token.name, token.attributes)
        if token.end > end:
            token = HtmlToken("other", token.begin, end)
        exact.append(token)
        if token.end < end:
            exact.append(HtmlToken("other", token.end, end))
    return exact


def _finished(content: str, listed: list[HtmlToken]) -> list[HtmlToken]:
    """The tokens up to a tag or a comment that does not end, which takes the rest of the text, as in a browser."""
    raw = False
    for index, token in enumerate(listed):
        if token.name in _RAW:
            raw = token.kind == "start"
        elif token.kind == "text" and not raw and _OPENED.match(content, token.begin):
            return [*listed[:index], HtmlToken("other", token.begin, len(content))]
    return listed


def html_pieces(content: str, begin: int = 0, end: int | None = None, language: str = "und") -> list[UnitSpan]:
    """The units of a text, or of a part of it, in order; none of an element whose `lang` is another language."""
    part = content if begin == 0 and end is None else content[begin:end]
    units: list[UnitSpan] = []
    items: list[Item] = []
    listed = tokens(part)
    ends, skip = _Ends(part, listed, language), 0
    for index, token in enumerate(listed):
        if index < skip:
            continue
        last = ends.of(index) if token.kind == "start" else None
        units += attribute_pieces(part, token, language)
        if last is not None:
            inline = token.name in INLINE
            skip = last + 1
            new = _copied(part, listed[index:skip]) if inline else [_BORDER]
        else:
            new = list(_text_items(part, token)) if token.kind == "text" else [_item(part, token)]
        for item in new:
            if item is _BORDER:
                units += pieces(items, part)
                items = []
            else:
                items.append(item)
    units += pieces(items, part)
    units.sort(key=lambda piece: (piece.begin, -piece.end))
    return [piece.moved(begin) for piece in units] if begin else units


_BORDER = Item("break", 0, 0)


def _text_items(content: str, token: HtmlToken) -> Iterator[Item]:
    """A text between its templates: an expression is copied, a statement is a border."""
    text, at = content[token.begin : token.end], 0
    for template in templates(text):
        if at < template.begin:
            yield Item("text", token.begin + at, token.begin + template.begin, text[at : template.begin])
        span, at = (token.begin + template.begin, token.begin + template.end), template.end
        yield _BORDER if template.is_statement else Item("protected", *span, text[template.begin : at])
    if at < len(text):
        yield Item("text", token.begin + at, token.end, unescape(text) if text.startswith("&") else text[at:])


def _item(content: str, token: HtmlToken) -> Item:
    span = token.begin, token.end
    if token.kind == "other":
        return Item("alone", *span)
    if token.kind == "border" or token.name not in INLINE:
        return _BORDER
    if token.name == "br":
        return Item("break", *span, "\n")
    if token.kind == "empty" or token.name in _VOID:
        return Item("alone", *span, token.name)
    return Item("open" if token.kind == "start" else "close", *span, token.name)


class _Ends:
    """Where elements end, found once for all of them: a search for each would take too long where many never end."""

    def __init__(self, content: str, listed: list[HtmlToken], language: str) -> None:
        self.content, self.listed, self.language = content, listed, language
        self.borders = [at for at, token in enumerate(listed) if token.name and token.name not in INLINE]
        self.closed: dict[int, int] = {}
        opened: dict[str, list[int]] = {}
        for index, token in enumerate(listed):
            before = opened.setdefault(token.name, []) if token.kind in ("start", "end") else []
            if token.kind == "end" and before:
                self.closed[before.pop()] = index
            elif token.kind == "start":
                if before and token.name in _REPEATED:
                    self.closed[before.pop()] = index - 1
                before.append(index)

    def of(self, index: int) -> int | None:
        """The last token of an element that is copied as a whole; None if this start tag begins none."""
        token = self.listed[index]
        inline, name = token.name in INLINE, token.name
        fixed = is_fixed(token, self.language)
        if name in _VOID or not (fixed or name in OPAQUE or name in SHOWN or name in ("sup", "sub")):
            return None
        last = self.closed.get(index)
        if not inline:
            return len(self.listed) - 1 if last is None else last
        if last is None or last - index >= _REACH:
            return None
        border = bisect(self.borders, index)
        if name not in OPAQUE and border < len(self.borders) and self.borders[border] < last:
            return None
        return last if fixed or name not in ("sup", "sub") or self._is_mark(index, last) else None

    def _is_mark(self, first: int, last: int) -> bool:
        """Whether a raised or lowered text is the link to a note, which is no part of the sentence, or a number."""
        listed = self.listed[first:last]
        text = "".join(self.content[token.begin : token.end] for token in listed if token.kind == "text")
        return len(text) <= 6 and (any(token.name == "a" for token in listed) or not any(map(str.isalpha, text)))


def is_fixed(token: HtmlToken, language: str = "und") -> bool:
    """Whether an element asks to be left as it is, or is in another language; that of the page says nothing."""
    values = dict(reversed(token.attributes))
    tag = values.get("lang", "") or values.get("xml:lang", "")
    named = tag.strip()[:1].isalpha() and language != "und" and token.name not in ("html", "body", "head")
    other = named and not _is_in(language, tag.strip())
    return (
        other or values.get("translate", "").strip().lower() == "no" or "notranslate" in values.get("class", "").split()
    )


def _copied(content: str, listed: list[HtmlToken]) -> list[Item]:
    """An inline element as it is: its text is protected if it has no further tags."""
    first, last = listed[0], listed[-1]
    text = unescape(content[first.end : last.begin])
    visible = first.name not in OPAQUE and first.name not in ("sup", "sub")
    if visible and text.strip() == text != "" and "\n" not in text and all(t.kind == "text" for t in listed[1:-1]):
        return [
            Item("open", first.begin, first.end, first.name),
            Item("protected", first.end, last.begin, text),
            Item("close", last.begin, last.end, first.name),
        ]
    return [Item("alone", first.begin, last.end, first.name)]


def attribute_spans(content: str, token: HtmlToken) -> Iterator[tuple[str, int, int]]:
    """The name and the span of each attribute's value, quotes included, in the text of a start tag."""
    seen = set()
    begin = token.begin + 1 + len(token.name)
    for match in _ATTRIBUTE.finditer(masked(content[begin : token.end])):
        name = match[1].lower()
        if match[2] is not None and name not in seen:
            yield name, begin + match.start(2), begin + match.end(2)
        seen.add(name)


def attribute_pieces(content: str, token: HtmlToken, language: str = "und") -> Iterator[UnitSpan]:
    """The units in the attributes of a start tag."""
    if token.kind not in ("start", "empty") or is_fixed(token, language):
        return
    values = dict(token.attributes)
    names = _ATTRIBUTES
    if token.name == "meta" and (values.get("name") or values.get("property") or "").lower() in _META:
        names = frozenset(["content"])
    elif token.name == "input" and values.get("type", "").lower() in ("button", "submit", "reset"):
        names = names | {"value"}
    for name, begin, end in attribute_spans(content, token):
        raw = content[begin:end]
        raw = raw[1:-1] if raw[:1] in ("'", '"') else raw
        value = read_value(raw, lambda part: _LINE_END.sub("\n", unescape(part)))
        has_letters = any(map(str.isalpha, value.visible))
        if name in names and has_letters and not (name == "alt" and is_formula(value.text)):
            yield UnitSpan(begin, end, value, where=f"{name} of {token.name}")
