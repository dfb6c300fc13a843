"""What Word, PowerPoint and Excel files have in common: their parts by type of content, the title, mirrored content."""

import posixpath
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from lxml import etree

from dragoman.documents.core.labels import is_formula
from dragoman.documents.office.package import SIGNED, Package, Part, local, text_slot
from dragoman.documents.office.paragraphs import Slot, Token, slot
from dragoman.errors import DataError
from dragoman.text.words.inline import InlineText
from dragoman.text.words.language import primary_language

XML_SPACE = "{http://www.w3.org/XML/1998/namespace}space"
CONTENT_TYPES = "[Content_Types].xml"
# What all types of content begin with.
_COMMON = re.compile(r"^application/(vnd\.)?(openxmlformats-(officedocument|package)\.)?")
_COMPATIBILITY = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"


def part_types(package: Package, main: str, format_name: str) -> dict[str, str]:
    """The type of content of each part, without what all have in common, in natural order of the names.

    Raises DataError if no part is of the type `main`.
    """
    if CONTENT_TYPES not in package.parts:
        raise DataError(f"{package.path}: a zip archive, but not {format_name}: it has no {CONTENT_TYPES}")
    defaults, types = dict[str, str](), dict[str, str]()
    for element in package.xml(CONTENT_TYPES).root:
        kind = _COMMON.sub("", element.get("ContentType", ""))
        if local(element) == "Default":
            defaults[element.get("Extension", "").lower()] = kind
        elif local(element) == "Override":
            types[element.get("PartName", "").lstrip("/")] = kind
    if defaults.get("xml", "xml") not in ("xml", "text/xml"):
        types = _related_types(package) | types
    types_of_parts = {
        name: types.get(name) or defaults.get(name.rpartition(".")[2].lower(), "")
        for name in sorted(package.parts, key=natural)
        if name != CONTENT_TYPES and not name.endswith(".rels")
    }
    # The type of the main part may be that of every part without another: what the package itself names counts.
    document = next(iter(related(package, "", "officeDocument").values()), None)
    if re.match(main, types_of_parts.get(document or "", "")):
        others = (name for name, kind in types_of_parts.items() if name != document and re.match(main, kind))
        types_of_parts |= dict.fromkeys(list(others), "")
    if not any(re.match(main, kind) for kind in types_of_parts.values()):
        raise DataError(f"{package.path}: a zip archive, but not {format_name}: its main part is missing")
    return types_of_parts


# The types of parts by the kind of the relation to them, where only the end of their name has one.
_TYPES_BY_RELATION = {
    **{kind: f"wordprocessingml.{kind}+xml" for kind in ("header", "footer", "footnotes", "endnotes")},
    "worksheet": "spreadsheetml.worksheet+xml",
    "sharedStrings": "spreadsheetml.sharedStrings+xml",
    "slide": "presentationml.slide+xml",
    "notesSlide": "presentationml.notesSlide+xml",
    "slideLayout": "presentationml.slideLayout+xml",
    "slideMaster": "presentationml.slideMaster+xml",
    "chart": "drawingml.chart+xml",
    "drawing": "drawing+xml",
    "chartEx": "ms-office.chartex+xml",
    "chartUserShapes": "drawingml.chartshapes+xml",
    "diagramData": "drawingml.diagramData+xml",
    "diagramDrawing": "ms-office.drawingml.diagramDrawing+xml",
    "numbering": "wordprocessingml.numbering+xml",
    "core-properties": "core-properties+xml",
}


def _related_types(package: Package) -> dict[str, str]:
    """The types of parts by what refers to them."""
    types = dict[str, str]()
    for name in package.parts:
        if name.endswith(".rels"):
            folder, _, relations = name.rpartition("/")
            part = f"{folder.removesuffix('_rels')}{relations.removesuffix('.rels')}"
            for kind, content in _TYPES_BY_RELATION.items():
                types |= dict.fromkeys(related(package, part, kind).values(), content)
    return types


def related(package: Package, part: str, kind: str) -> dict[str, str]:
    """The parts of a kind (`table`) to which a part, or the package (""), refers, by the identifier of the relation."""
    folder, _, name = part.rpartition("/")
    relations = posixpath.join(folder, "_rels", f"{name}.rels")
    if relations not in package.parts:
        return {}
    targets = {
        relation.get("Id", ""): posixpath.normpath(posixpath.join("/" + folder, relation.get("Target", ""))).lstrip("/")
        for relation in package.xml(relations).root
        if relation.get("Type", "").endswith(f"/{kind}")
    }
    return {key: target for key, target in targets.items() if target in package.parts}


def natural(name: str) -> list[tuple[int, str]]:
    """A key of order: slide2 before slide10."""
    return [(int(digits or 0), text) for digits, text in re.findall(r"(\d*)(\D+|$)", name)]


def title_parts(types: dict[str, str], shown: Iterable[str] = ()) -> list[Part]:
    """The title of the document, and the properties that its pages have `shown`."""
    names = {"title", *shown}

    def slots(root: Any) -> Iterator[Slot]:
        for element in root:
            if local(element) in names:
                yield from text_slot(element, local(element))

    return [(name, slots) for name, kind in types.items() if kind == "core-properties+xml"]


def notices_of(types: dict[str, str]) -> list[str]:
    """What a person should know about parts that are kept."""
    return [SIGNED] if any("digital-signature" in kind for kind in types.values()) else []


def slots_in(
    root: Any,
    tags: Iterable[str],
    where: str,
    tokens_of: Callable[[Any], list[Token]],
    write: Callable[[Any, list[Token]], None],
    wanted: Callable[[Any], bool] | None = None,
) -> list[Slot]:
    """The slots of the paragraphs of these tags that are `wanted`, located by their numbers after `where`.

    What Office writes twice, for new and for old readers, is one slot.
    """
    slots: list[Slot] = []
    choices, fallbacks = defaultdict[Any, list[int]](list), defaultdict[Any, list[Slot]](list)
    for number, paragraph in enumerate(filter(wanted or (lambda _: True), root.iter(*tags)), 1):
        # The outermost block of alternatives of whose fallback the paragraph is a part.
        outer = [above.getparent() for above in paragraph.iterancestors(f"{_COMPATIBILITY}Fallback")][-1:]
        for text in slot(tokens_of(paragraph), f"{where}paragraph {number}", partial(write, paragraph)):
            if outer:
                fallbacks[outer[0]].append(text)
                continue
            for block in paragraph.iterancestors(f"{_COMPATIBILITY}AlternateContent"):
                choices[block].append(len(slots))
            slots.append(text)
    for block, twins in fallbacks.items():
        if [twin.source for twin in twins] != [slots[index].source for index in choices[block]]:
            slots += twins
            continue
        for index, twin in zip(choices[block], twins, strict=True):
            slots[index] = _both(slots[index], twin)
    return slots


# Shapes of VML, which older versions of Office draw.
_SHAPES = ("shape", "rect", "roundrect", "oval", "line", "polyline", "curve", "arc", "image", "group")


def described(root: Any, where: str) -> Iterator[Slot]:
    """The texts in place of pictures and shapes for people who do not see them."""
    names = ("docPr", "cNvPr", "tblDescription", "tblCaption", *_SHAPES)
    for element in root.iter(*(f"{{*}}{name}" for name in names)):
        name = local(element)
        attributes = (
            ("alt",) if name in _SHAPES else ("descr", "title") if name in ("docPr", "cNvPr") else (_value_of(element),)
        )
        for attribute in attributes:
            if not is_formula(element.get(attribute, "")):
                yield from text_slot(element, f"{where}alternative text", attribute)


def _value_of(element: Any) -> str:
    return f"{element.tag.rpartition('}')[0]}}}val"


def _both(first: Slot, second: Slot) -> Slot:
    def put(inline: InlineText) -> None:
        first.put(inline)
        second.put(inline)

    return replace(first, put=put)


def language_tag(tag: str) -> str:
    """A BCP-47 tag with a region, as Office writes it."""
    return tag if "-" in tag else _REGIONS.get(tag, tag)


# The region of the most speakers, where Office wants one.
_REGIONS = {
    "ar": "ar-SA", "cs": "cs-CZ", "da": "da-DK", "de": "de-DE", "el": "el-GR", "en": "en-US", "es": "es-ES",
    "fi": "fi-FI", "fr": "fr-FR", "he": "he-IL", "hi": "hi-IN", "hu": "hu-HU", "id": "id-ID", "it": "it-IT",
    "ja": "ja-JP", "ko": "ko-KR", "nb": "nb-NO", "nl": "nl-NL", "pl": "pl-PL", "pt": "pt-BR", "ro": "ro-RO",
    "ru": "ru-RU", "sv": "sv-SE", "th": "th-TH", "tr": "tr-TR", "uk": "uk-UA", "vi": "vi-VN", "zh": "zh-CN",
}  # fmt: skip


def is_east_asian(tag: str) -> bool:
    """Whether Office writes a language with East Asian fonts."""
    return primary_language(tag) in ("ja", "ko", "zh")


@dataclass(frozen=True, slots=True)
class RunStyle:
    """The properties of a run; equal if a reader sees no difference."""

    key: Any
    properties: Any = field(compare=False, default=None)


def style_key(properties: Any, ignored: frozenset[str], ignored_attributes: frozenset[str] = frozenset()) -> Any:
    """What makes two sets of run properties equal: all but what no reader sees."""
    if properties is None:
        return ()
    return tuple(sorted(filter(None, (_key(child, ignored, ignored_attributes) for child in properties))))


def _key(element: Any, ignored: frozenset[str], ignored_attributes: frozenset[str]) -> Any:
    name = local(element)
    if not name or name in ignored:
        return None
    seen = (pair for pair in element.items() if pair[0].rpartition("}")[2] not in ignored_attributes)
    attributes = tuple(sorted(seen))
    if name == "rFonts" and not attributes:
        return None
    return name, attributes, etree.tostring(element, with_tail=False) if len(element) else b""
