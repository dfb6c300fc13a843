"""OpenDocument text (`.odt`): paragraphs, headings, tables, notes, annotations, headers and footers, charts, the title.

Tracked changes and other embedded objects stay as they are. Spans of one look are one style.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import IO, Any

from lxml import etree

from dragoman.documents.core.document import Document, DocumentOptions, Translations
from dragoman.documents.core.labels import is_formula
from dragoman.documents.office.ooxml import RunStyle
from dragoman.documents.office.package import SIGNED, Package, Part, local, read_parts, text_slot, write_parts
from dragoman.documents.office.paragraphs import Alone, Break, Close, Copied, Open, Slot, Token, Words, build, slot
from dragoman.documents.xml.text import writable
from dragoman.errors import DataError

NAME = "an OpenDocument text (.odt)"
_TYPE = b"application/vnd.oasis.opendocument.text"
_SVG = "{urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0}"
# What is read in place of a picture.
_ALTERNATIVES = {f"{_SVG}title": "title of an image", f"{_SVG}desc": "description of an image"}
_PRESENTATION = "{urn:oasis:names:tc:opendocument:xmlns:presentation:1.0}"
# Headers and footers of slides.
_DECLARED = (f"{_PRESENTATION}header-decl", f"{_PRESENTATION}footer-decl")
_MANIFEST = "META-INF/manifest.xml"
_CHART = "application/vnd.oasis.opendocument.chart"
_ROOTS = {"content.xml": "document-content", "styles.xml": "document-styles", "meta.xml": "document-meta"}
OFFICE = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}"
TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
STYLE = "{urn:oasis:names:tc:opendocument:xmlns:style:1.0}"
_WRAPPERS = {f"{TEXT}{name}" for name in ("a", "meta", "meta-field")}
_BREAKS = {f"{TEXT}{name}" for name in ("tab", "line-break")}
# What has text of its own and is no part of the sentence.
_WHOLE = {f"{TEXT}{name}" for name in ("note", "number", "script", "hidden-paragraph", "bibliography-mark")}
# Properties of a style that no reader sees, or that hold for one language.
_UNSEEN = set(
    "rsid paragraph-rsid language country language-asian country-asian language-complex country-complex".split()  # noqa: SIM905
)
# The names of the marks around what an annotation, a change or a bookmark is about, and what both marks have in common.
_RANGE = re.compile(r"(annotation)(?:-end)?|(.+)-(?:start|end)")
_IDENTIFIERS = (f"{TEXT}change-id", f"{TEXT}id", f"{TEXT}name", f"{OFFICE}name")
_SPACE = re.compile(r"[ \t\r\n]+")


def read(path: Path, options: DocumentOptions) -> Document:
    """The paragraphs of a text."""
    return read_parts(path, NAME, partial(content_of, name=NAME, media=_TYPE))


def write(document: Document, translations: Translations, options: DocumentOptions, file: IO[bytes]) -> None:
    """The OpenDocument text with the translations in place of its paragraphs."""
    write_parts(document, NAME, partial(content_of, name=NAME, media=_TYPE), translations, file)


def content_of(
    package: Package, name: str, media: bytes, texts: Callable[[Any], Callable[[Any], bool]] = lambda root: _is_any
) -> tuple[list[Part], list[str]]:
    """The parts of an OpenDocument file: of its paragraphs those that are text, its title. Raises DataError.

    `texts` makes of the root of a part the test of its paragraphs.
    """
    if "mimetype" not in package.parts or not package.read("mimetype").startswith(media):
        raise DataError(f"{package.path}: a zip archive, but not {name}: its mimetype is another one or missing")
    if _MANIFEST in package.parts and next(package.xml(_MANIFEST).root.iter("{*}encryption-data"), None) is not None:
        raise DataError(f"{package.path}: password-protected; save it without password")
    if "content.xml" not in package.parts:
        raise DataError(f"{package.path}: a zip archive, but not {name}: content.xml is missing")
    for part, root in _ROOTS.items():
        if part in package.parts and local(package.xml(part).root) != root:
            raise DataError(f"{package.path}: {part} is not of {name}; its outermost element should be {root}")
    slots: dict[str, Callable[[Any], Iterator[Slot]]] = {
        "content.xml": _body("", texts),
        "styles.xml": _body("style ", texts),
        "meta.xml": _meta,
    }
    slots |= {f"{folder}/content.xml": _chart(folder) for folder in _charts(package)}
    signed = [SIGNED] if "META-INF/documentsignatures.xml" in package.parts else []
    return [(part, make) for part, make in slots.items() if part in package.parts], signed


def _is_any(paragraph: Any) -> bool:
    return True


def _body(where: str, texts: Callable[[Any], Callable[[Any], bool]]) -> Callable[[Any], Iterator[Slot]]:
    def slots(root: Any) -> Iterator[Slot]:
        looks, is_text, values = looks_of(root), texts(root), CellValues()
        for number, element in enumerate(root.iter(f"{TEXT}p", f"{TEXT}h", *_ALTERNATIVES, *_DECLARED), 1):
            location = f"{where}paragraph {number}"
            if context := _ALTERNATIVES.get(element.tag):
                if not is_formula(element.text or ""):
                    yield from text_slot(element, location, context=context)
            elif element.tag in _DECLARED:
                yield from text_slot(element, location)
            elif is_text(element) and not _is_kept(element):
                yield from slot(tokens_of(element, looks), location, partial(_write, element, values))

    return slots


def _charts(package: Package) -> Iterator[str]:
    """The charts among the embedded objects, by the names of their folders."""
    entries = package.xml(_MANIFEST).root.iter("{*}file-entry") if _MANIFEST in package.parts else ()
    for entry in entries:
        attributes = {name.rpartition("}")[2]: value for name, value in entry.items()}
        if attributes.get("media-type", "").startswith(_CHART):
            folder = attributes.get("full-path", "").strip("/")
            if f"{folder}/content.xml" in package.parts:
                yield folder


def _chart(where: str) -> Callable[[Any], Iterator[Slot]]:
    """Titles and labels of a chart; its numbers, and the names of the cells that it is of, stay."""

    def slots(root: Any) -> Iterator[Slot]:
        looks, values = looks_of(root), CellValues()
        for number, element in enumerate(root.iter(f"{TEXT}p"), 1):
            cell = cell_of(element)
            if cell is None or cell.get(f"{OFFICE}value-type", "string") == "string":
                write = partial(_write, element, values)
                yield from slot(tokens_of(element, looks), f"{where}, paragraph {number}", write)

    return slots


def cell_of(paragraph: Any) -> Any:
    """The cell of a table in which a paragraph is; None if it is in none, or in a comment on one."""
    for above in paragraph.iterancestors():
        if local(above) in ("annotation", "table-cell", "covered-table-cell"):
            return None if local(above) == "annotation" else above
    return None


class CellValues:
    """Of the cells of a part, the values that are the text that the cell shows. Each cell is looked at once."""

    def __init__(self) -> None:
        self._lines: dict[Any, dict[Any, str] | None] = {}

    def lines(self, cell: Any) -> dict[Any, str] | None:
        """What the paragraphs of a cell show, if this is its value, otherwise None."""
        if cell not in self._lines:
            self._lines[cell] = _shown_lines(cell)
        return self._lines[cell]


def _shown_lines(cell: Any) -> dict[Any, str] | None:
    value = cell.get(f"{OFFICE}string-value")
    if value is None:
        return None
    lines = {paragraph: _shown_text(paragraph) for paragraph in cell.iterchildren(f"{TEXT}p")}
    return lines if value.split() == " ".join(lines.values()).split() else None


def _shown_text(paragraph: Any) -> str:
    return "".join(map(_shown, tokens_of(paragraph, {})))


def _shown(token: Token) -> str:
    if isinstance(token, Break):
        return "\t" if local(token.elements[0]) == "tab" else "\n"
    return token.text if isinstance(token, Words | Copied) else ""


def _write(paragraph: Any, values: CellValues, tokens: list[Token]) -> None:
    """Write a paragraph, and the value of its cell if that is its text."""
    cell = cell_of(paragraph)
    lines = None if cell is None else values.lines(cell)
    write_paragraph(paragraph, tokens)
    if lines is not None and paragraph in lines:
        lines[paragraph] = _shown_text(paragraph)
        cell.set(f"{OFFICE}string-value", "\n".join(lines.values()))


def _is_kept(paragraph: Any) -> bool:
    """Whether a paragraph is deleted text, or the result of a formula."""
    for above in paragraph.iterancestors():
        if local(above) == "tracked-changes":
            return True
        if local(above) == "annotation":
            return False
        if local(above) == "table-cell":
            return any(name.endswith("}formula") for name in above.attrib)
    return False


def _meta(root: Any) -> Iterator[Slot]:
    for element in root.iterfind("{*}meta/{http://purl.org/dc/elements/1.1/}title"):
        yield from text_slot(element, "title")


Looks = dict[str, tuple[Any, ...]]


def looks_of(root: Any) -> Looks:
    """What each automatic style of text looks like, by its name; empty if like the text around it."""
    looks = Looks()
    for style in root.iterfind("{*}automatic-styles/{*}style"):
        if style.get(f"{STYLE}family") == "text":
            properties = (
                (local(child), name.rpartition("}")[2], value) for child in style for name, value in child.items()
            )
            seen = {item for item in properties if item[1] not in _UNSEEN}
            parent = style.get(f"{STYLE}parent-style-name")
            looks[style.get(f"{STYLE}name", "")] = (*sorted(seen), *([("parent", parent)] if parent else []))
    return looks


def tokens_of(paragraph: Any, looks: Looks) -> list[Token]:
    """The tokens of a paragraph."""
    return list(_collapsed(_tokens(paragraph, RunStyle((), ()), looks)))


def _tokens(element: Any, style: RunStyle, looks: Looks) -> Iterator[Token]:
    if element.text:
        yield Words(element.text, style)
    for child in element:
        name = child.tag
        if name == f"{TEXT}span":
            yield from _tokens(child, _inner(style, child, looks), looks)
        elif name == f"{TEXT}s":
            count = child.get(f"{TEXT}c", "1")
            yield Words(" " * min(int(count), 999) if count.isdecimal() else " ", style, (child,))
        elif name in _BREAKS:
            yield Break((child,))
        elif name in _WRAPPERS:
            yield from (Open((child,), child, label=local(child)), *_tokens(child, style, looks), Close())
        elif name != f"{TEXT}soft-page-break":
            yield _whole(child)
        if child.tail:
            yield Words(child.tail, style)


def _inner(style: RunStyle, span: Any, looks: Looks) -> RunStyle:
    name = span.get(f"{TEXT}style-name", "")
    look = looks.get(name, (name,))
    return RunStyle((*style.key, look), (*style.properties, span)) if look else style


def _whole(element: Any) -> Token:
    name = local(element)
    shown = next(element.iterchildren(f"{TEXT}ruby-base"), element) if name == "ruby" else element
    seen = _SPACE.sub(" ", "".join(shown.itertext())).strip() if name else ""
    if seen and element.tag.startswith(TEXT) and element.tag not in _WHOLE:
        return Copied(seen, (element,), name)
    mark = _RANGE.fullmatch(name)
    identifier = next(filter(None, map(element.get, _IDENTIFIERS)), None)
    if mark is None or identifier is None:
        return Alone((element,), name)
    kind = mark[1] or mark[2]
    return Alone((element,), kind, (kind, identifier))


def _collapsed(tokens: Iterator[Token]) -> Iterator[Token]:
    """The tokens with white space as it is shown: once, and not at the beginning."""
    after_space = True
    for token in tokens:
        if isinstance(token, Words) and not token.elements:
            text = _SPACE.sub(" ", token.text)
            text = text.removeprefix(" ") if after_space else text
            token = replace(token, text=text)
            after_space = text.endswith(" ") if text else after_space
        elif isinstance(token, Words | Break | Copied):
            after_space = False
        if not isinstance(token, Words) or token.text:
            yield token


def write_paragraph(paragraph: Any, tokens: list[Token]) -> None:
    """Write the content of a paragraph."""
    last = " "

    def add(parent: Any, token: Words) -> None:
        nonlocal last
        for span in token.style.properties if isinstance(token.style, RunStyle) else ():
            parent = etree.SubElement(parent, span.tag, dict(span.items()))
        for piece in re.findall(" +|[^ ]+", token.text):
            if piece[0] != " ":
                _append_text(parent, piece)
            else:
                more = len(piece) - (last != " ")
                if last != " ":
                    _append_text(parent, " ")
                if more:
                    etree.SubElement(parent, f"{TEXT}s", {f"{TEXT}c": str(more)})
            last = piece[-1]

    def wrapped(element: Any) -> Any:
        nonlocal last
        last = "x"
        outer, span = element, element.getparent()
        while span is not None and span.tag == f"{TEXT}span":
            new = etree.Element(span.tag, dict(span.items()))
            outer.tail = None
            new.append(outer)
            outer, span = new, span.getparent()
        return outer

    build(paragraph, tokens, _clear, add, wrapped)


def _append_text(parent: Any, text: str) -> None:
    if len(parent):
        parent[-1].tail = (parent[-1].tail or "") + writable(text)
    else:
        parent.text = (parent.text or "") + writable(text)


def _clear(element: Any) -> None:
    """Take all content out of an element, not its attributes. What was inside stays whole."""
    element.text = None
    for child in list(element):
        element.remove(child)
