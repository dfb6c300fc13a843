"""Word (`.docx`): paragraphs of the document, its headers, footers, notes, comments, text boxes, charts and diagrams.

A paragraph (`w:p`) becomes tokens (`documents.office.paragraphs`) and is written in the direction of its language.
Tracked deletions, instructions of fields and equations stay as they are.
"""

import re
from collections.abc import Callable, Collection, Iterator
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any

from lxml import etree

from dragoman.documents.core.document import Document, DocumentOptions, Translations
from dragoman.documents.office.drawingml import GRAPHICS, graphic_slots
from dragoman.documents.office.ooxml import (
    XML_SPACE,
    RunStyle,
    described,
    is_east_asian,
    language_tag,
    notices_of,
    part_types,
    slots_in,
    style_key,
    title_parts,
)
from dragoman.documents.office.package import Package, Part, local, read_parts, text_slot, write_parts
from dragoman.documents.office.paragraphs import Alone, Break, Close, Copied, Open, Slot, Token, Words, build, slot
from dragoman.documents.xml.text import writable
from dragoman.text.words.script import is_right_to_left

# Run properties that no reader sees, or that hold for one language.
IGNORED = frozenset({"lang", "noProof", "rPrChange", "ins", "del", "bCs", "iCs", "szCs", "webHidden", "snapToGrid"})
PROPERTIES = {"pPr", "sdtPr", "sdtEndPr", "smartTagPr", "customXmlPr", "dirPr", "bdoPr", "rPr"}
WRAPPERS = {"hyperlink", "ins", "moveTo", "smartTag", "sdt", "customXml", "dir", "bdo"}
DROPPED = {"proofErr", "lastRenderedPageBreak", "softHyphen"}
BREAKS = {"tab", "ptab", "br", "cr"}
# The marks around what a comment, a bookmark, a permission or a move is about; both have the same `w:id`.
_RANGE = re.compile(r"(\w+?)(Range)?(Start|End)")
# Fields whose result is a number, a date or a name: it is copied. That of any other field is translated.
COMPUTED = frozenset(
    """= ADVANCE AUTHOR AUTONUM AUTONUMLGL AUTONUMOUT BARCODE CREATEDATE DATE DISPLAYBARCODE EDITTIME EQ FILENAME
    FILESIZE FORMCHECKBOX LASTSAVEDBY LISTNUM MERGEFIELD MERGEREC MERGESEQ NOTEREF NUMCHARS NUMPAGES NUMWORDS PAGE
    PAGEREF PRINTDATE REVNUM SAVEDATE SECTION SECTIONPAGES SEQ SYMBOL TIME USERINITIALS USERNAME""".split()  # noqa: SIM905
)


@dataclass(frozen=True, slots=True, eq=False)
class _Mark:
    """The begin, the separator or the end of a field."""

    kind: str
    element: Any


def tokens_of(container: Any) -> list[Token]:
    """The tokens of a paragraph, or of a wrapper in it."""
    out = list[Token | _Mark]()
    for child in container:
        name = local(child)
        if name == "r":
            out += _run(child)
        elif name in WRAPPERS:
            inner = next(child.iterchildren("{*}sdtContent"), child) if name == "sdt" else child
            out += [Open((child,), inner, label=name), *tokens_of(inner), Close()]
        elif name == "fldSimple":
            out += _simple_field(child)
        elif name not in PROPERTIES and name not in DROPPED:
            out.append(_alone(child))
    return _with_fields(out)


def _alone(element: Any) -> Alone:
    mark, identifier = _RANGE.fullmatch(local(element)), element.get(f"{_prefix(element)}id")
    if mark is None or identifier is None:
        return Alone((element,), local(element))
    return Alone((element,), mark[1], (mark[1], identifier))


def _prefix(element: Any) -> str:
    """The namespace of an element as the names of its attributes begin."""
    return str(element.tag[: element.tag.find("}") + 1]) if isinstance(element.tag, str) else ""


def _run(run: Any) -> Iterator[Token | _Mark]:
    properties = next(run.iterchildren("{*}rPr"), None)
    style = RunStyle(style_key(properties, IGNORED, frozenset({"hint"})), properties)
    hidden = properties is not None and any(map(_hides, properties))
    for child in run:
        name = local(child)
        if name == "t" and not hidden:
            preserved = child.get(XML_SPACE) == "preserve"
            text = (child.text or "").translate(_SPACES)
            yield Words(text if preserved else text.strip(" "), style, (child,))
        elif name == "noBreakHyphen":
            yield Words("\u2011", style, (child,))
        elif name in BREAKS and not hidden:
            yield Break((child,))
        elif name == "fldChar":
            yield _Mark(child.get(child.tag.replace("fldChar", "fldCharType"), ""), child)
        elif name == "ruby":
            base = "".join(part.text or "" for part in child.iterfind(".//{*}rubyBase//{*}t"))
            yield Copied(base, (child,), name) if base.strip() else Alone((child,), name)
        elif name not in PROPERTIES and name not in DROPPED:
            yield Alone((child,), name)


def _hides(element: Any) -> bool:
    return local(element) in ("vanish", "specVanish") and element.get(f"{_prefix(element)}val") not in _OFF


_OFF = {"0", "false", "off"}
_SPACES = {ord(space): " " for space in "\t\n\r"}


def _simple_field(element: Any) -> list[Token]:
    inner = tokens_of(element)
    if _computed(element.get(element.tag.replace("fldSimple", "instr"), "")):
        return [_kept(inner, (element,))]
    return [Open((element,), element, label="field"), *inner, Close()]


def _computed(instruction: str) -> bool:
    words = instruction.split()
    return bool(words) and (words[0].upper() in COMPUTED or words[0].startswith("="))


def _kept(tokens: list[Token], elements: tuple[Any, ...]) -> Token:
    seen = (token for token in tokens if isinstance(token, Words | Copied | Break))
    text = "".join(" " if isinstance(token, Break) else token.text for token in seen)
    return Copied(text.strip(), elements, "field") if text.strip() else Alone(elements, "field")


def _with_fields(tokens: list[Token | _Mark]) -> list[Token]:
    """Fields that begin and end here as one token or as a span; what is left of others stays as it is."""
    out = list[Token | _Mark]()
    for token in tokens:
        out.append(token)
        if isinstance(token, _Mark) and token.kind == "end":
            begins = [at for at, mark in enumerate(out) if isinstance(mark, _Mark) and mark.kind == "begin"]
            if begins:
                out[begins[-1] :] = _field(out[begins[-1] :])
    # A field that ends in a later paragraph: up to its separator nothing is text of the document.
    inside, rest = False, list[Token]()
    for token in out:
        inside = token.kind == "begin" if isinstance(token, _Mark) else inside
        if isinstance(token, _Mark):
            rest.append(Alone((token.element,), "field"))
        else:
            rest.append(Alone(token.elements, "field") if inside and isinstance(token, Words) else token)
    return rest


def _field(tokens: list[Token | _Mark]) -> list[Token]:
    middle = next((i for i, token in enumerate(tokens) if isinstance(token, _Mark) and token.kind == "separate"), None)
    if middle is None:
        return [Alone(_elements(tokens), "field")]
    result = [token for token in tokens[middle + 1 : -1] if not isinstance(token, _Mark)]
    head = _elements(tokens[: middle + 1])
    instruction = "".join(token.text or "" for token in head if local(token) == "instrText")
    if _computed(instruction) or not any(isinstance(token, Words) and token.text.strip() for token in result):
        return [_kept(result, _elements(tokens))]
    return [Open(head, label="field"), *result, Close(_elements(tokens[-1:]))]


def _elements(tokens: list[Token | _Mark]) -> tuple[Any, ...]:
    """What tokens were read from; a wrapper with all that is inside of it."""
    out, wrapped = list[Any](), list[bool]()
    for token in tokens:
        outside = not any(wrapped)
        if isinstance(token, Open):
            wrapped.append(token.into is not None)
        elif isinstance(token, Close):
            wrapped.pop()
        if outside:
            out += [token.element] if isinstance(token, _Mark) else token.elements
    return tuple(out)


def write_paragraph(paragraph: Any, tokens: list[Token], language: str) -> None:
    """Write the content of a paragraph. Elements of a run get a run of their own with its properties."""

    def add_text(parent: Any, token: Words) -> None:
        parent.append(_text_run(paragraph, token, language))

    _set_direction(paragraph, language)
    build(paragraph, tokens, _clear, add_text, _in_run)


# What follows `w:bidi` in paragraph properties, and `w:rtl` in those of a run.
_AFTER_BIDI = frozenset(
    """adjustRightInd snapToGrid spacing ind contextualSpacing mirrorIndents suppressOverlap jc textDirection
    textAlignment textboxTightWrap outlineLvl divId cnfStyle rPr sectPr pPrChange""".split()  # noqa: SIM905
)
_AFTER_RTL = frozenset({"cs", "em", "lang", "eastAsianLayout", "specVanish", "oMath", "rPrChange"})


def _set_direction(paragraph: Any, language: str) -> None:
    """Write a paragraph from right to left if its language is, and only then."""
    prefix = _prefix(paragraph)
    properties = next(paragraph.iterchildren(f"{prefix}pPr"), None)
    if properties is None and is_right_to_left(language):
        properties = etree.Element(f"{prefix}pPr")
        paragraph.insert(0, properties)
    if properties is not None:
        _set_flag(properties, f"{prefix}bidi", _AFTER_BIDI, is_right_to_left(language))


def _set_flag(properties: Any, tag: str, after: Collection[str], is_set: bool) -> None:
    """Set a property that is there or not, before those of `after`, or take it away."""
    for child in list(properties.iterchildren(tag)):
        properties.remove(child)
    if is_set:
        later = [at for at, child in enumerate(properties) if local(child) in after]
        properties.insert(later[0] if later else len(properties), etree.Element(tag))


def _clear(container: Any) -> None:
    for child in list(container):
        if local(child) not in PROPERTIES and local(child) != "sdtContent":
            container.remove(child)


def _in_run(element: Any) -> Any:
    """An element as a paragraph can hold it."""
    run = element.getparent()
    if run is None or local(run) != "r":
        return element
    new = etree.Element(run.tag)
    new.extend(deepcopy(properties) for properties in run.iterchildren("{*}rPr"))
    new.append(element)
    element.tail = None
    return new


def _text_run(paragraph: Any, token: Words, language: str) -> Any:
    prefix = _prefix(paragraph)
    run = etree.Element(f"{prefix}r")
    style = token.style if isinstance(token.style, RunStyle) else RunStyle(())
    properties = deepcopy(style.properties) if style.properties is not None else etree.Element(f"{prefix}rPr")
    _set_flag(properties, f"{prefix}rtl", _AFTER_RTL, is_right_to_left(language))
    _set_language(properties, prefix, language)
    run.append(properties)
    text = etree.SubElement(run, f"{prefix}t")
    text.text = writable(token.text)
    if token.text != " ".join(token.text.split()):
        text.set(XML_SPACE, "preserve")
    return run


# What follows `w:lang` in run properties.
_AFTER_LANGUAGE = {"eastAsianLayout", "specVanish", "oMath", "rPrChange"}


def _set_language(properties: Any, prefix: str, language: str) -> None:
    """Name the language of a run, and that its signs are those of an East Asian font, or not."""
    asian = is_east_asian(language)
    fonts = list(properties.iterchildren(f"{prefix}rFonts"))
    if asian and not fonts:
        fonts = [etree.Element(f"{prefix}rFonts")]
        properties.insert(len(list(properties.iterchildren(f"{prefix}rStyle"))), fonts[0])
    for child in fonts:
        if asian:
            child.set(f"{prefix}hint", "eastAsia")
        else:
            child.attrib.pop(f"{prefix}hint", None)
    element = next(properties.iterchildren(f"{prefix}lang"), None)
    if element is None:
        element = etree.Element(f"{prefix}lang")
        others = enumerate(properties)
        later = [at for at, child in others if local(child) in _AFTER_LANGUAGE or not str(child.tag).startswith(prefix)]
        properties.insert(later[0] if later else len(properties), element)
    attribute = "eastAsia" if asian else "bidi" if is_right_to_left(language) else "val"
    element.set(f"{prefix}{attribute}", language_tag(language))


NAME = "a Word document (.docx)"
_MAIN = r"(ms-word|wordprocessingml)\.(document|template)(\.macroEnabled(Template)?)?\.main\+xml"
# Types of parts with paragraphs, and what a person calls them.
_STORIES = {
    "header+xml": "header",
    "footer+xml": "footer",
    "footnotes+xml": "footnotes",
    "endnotes+xml": "endnotes",
    "comments+xml": "comments",
}


def read(path: Path, options: DocumentOptions) -> Document:
    """The paragraphs of a Word document."""
    return read_parts(path, NAME, partial(_content, options=options))


def write(document: Document, translations: Translations, options: DocumentOptions, file: IO[bytes]) -> None:
    """The Word document with the translations in place of its paragraphs."""
    write_parts(document, NAME, partial(_content, options=options), translations, file)


def _content(package: Package, options: DocumentOptions) -> tuple[list[Part], Iterator[str]]:
    types = part_types(package, _MAIN, NAME)
    stories = [name for name, kind in types.items() if re.match(_MAIN, kind)]
    parts: list[Part] = [(name, _story("", options)) for name in stories]
    folder = stories[0].rpartition("/")[0]
    for name, kind in types.items():
        story = _STORIES.get(kind.removeprefix("wordprocessingml."))
        is_main = name.rpartition("/")[0] == folder  # the parts of building blocks are in a folder of their own
        if story and is_main:
            number = re.findall(r"\d+", name.rpartition("/")[2])
            parts.append((name, _story(" ".join([story, *number]) + ", ", options)))
            stories.append(name)
        elif kind == "wordprocessingml.numbering+xml" and is_main:
            parts.append((name, _numberings))
        elif kind in GRAPHICS:
            parts.append((name, graphic_slots(kind, name, options.target)))
    bindings = [binding for name in stories for binding in package.xml(name).root.iter("{*}dataBinding")]
    bound = set(map(_bound_property, bindings))
    return parts + title_parts(types, bound & _TEXT_PROPERTIES), _notices(types, bound)


def _story(where: str, options: DocumentOptions) -> Callable[[Any], list[Slot]]:
    write = partial(write_paragraph, language=options.target)

    def slots(root: Any) -> list[Slot]:
        paragraphs = slots_in(root, (f"{root.tag[: root.tag.index('}')]}}}p",), where, tokens_of, write)
        return [*paragraphs, *described(root, where), *_attributes(root, where)]

    return slots


def _attributes(root: Any, where: str) -> Iterator[Slot]:
    """Watermarks, and what the lists of content controls and form fields show."""
    for element in root.iter("{*}textpath"):
        yield from text_slot(element, f"{where}watermark", "string")
    for element in root.iter("{*}listItem"):
        yield from text_slot(element, f"{where}list", f"{_prefix(element)}displayText")
    for element in root.iterfind(".//{*}ddList/{*}listEntry"):
        yield from text_slot(element, f"{where}list", f"{_prefix(element)}val")


# The places of numbers in what a level of a list shows.
_PLACES = re.compile(r"(%\d)")


def _numberings(root: Any) -> Iterator[Slot]:
    """The words with which lists number their paragraphs: `Article %1.`"""
    for level in root.iter("{*}lvl"):
        kind = next((element.get(f"{_prefix(element)}val") for element in level.iterchildren("{*}numFmt")), "")
        for element in level.iterchildren("{*}lvlText") if kind != "bullet" else ():
            pieces = _PLACES.split(element.get(f"{_prefix(element)}val", ""))
            tokens = [Copied(piece, (piece,), "number") if at % 2 else Words(piece) for at, piece in enumerate(pieces)]
            yield from slot(tokens, "numbering", partial(_write_numbering, element))


def _write_numbering(element: Any, tokens: list[Token]) -> None:
    pieces = (writable(token.text) if isinstance(token, Words) else "".join(token.elements) for token in tokens)
    element.set(f"{_prefix(element)}val", "".join(pieces))


# Properties of a file that are texts. The names of its authors are none.
_TEXT_PROPERTIES = frozenset({"title", "subject", "description", "category", "keywords", "contentStatus"})


def _bound_property(binding: Any) -> str:
    """The property of the file that a content control shows, empty if it shows other data."""
    attributes = {name.rpartition("}")[2]: value for name, value in binding.items()}
    if not any("core-properties" in value for value in attributes.values()):
        return ""
    return re.sub(r"\[\d+\]$", "", attributes.get("xpath", "")).rpartition("/")[2].rpartition(":")[2]


def _notices(types: dict[str, str], bound: set[str]) -> Iterator[str]:
    yield from notices_of(types)
    if bound - _TEXT_PROPERTIES:
        # Word reads the data again when it opens the file.
        yield "content controls bound to data of the file: Word shows the data again, not their translation"
