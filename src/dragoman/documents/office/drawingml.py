"""Text of drawings (`a:p`) and charts: slides, text boxes of sheets, diagrams, titles and labels of charts."""

from collections.abc import Callable, Iterable, Iterator
from copy import deepcopy
from functools import partial
from typing import Any

from lxml import etree

from dragoman.documents.office.ooxml import RunStyle, described, language_tag, slots_in, style_key
from dragoman.documents.office.package import local, text_slot
from dragoman.documents.office.paragraphs import Alone, Break, Copied, Slot, Token, Words, build
from dragoman.documents.xml.text import writable

_PARAGRAPHS = (
    "{http://schemas.openxmlformats.org/drawingml/2006/main}p", "{http://purl.oclc.org/ooxml/drawingml/main}p",
)  # fmt: skip
# Attributes of run properties that no reader sees.
_IGNORED_ATTRIBUTES = frozenset({"lang", "altLang", "dirty", "err", "smtClean", "smtId", "noProof", "bmk"})
_PROPERTIES = {"pPr", "endParaRPr"}
_CHARTS = {"drawingml.chart+xml", "ms-office.chartex+xml"}
GRAPHICS = {
    *_CHARTS,
    "drawingml.chartshapes+xml",
    "drawingml.diagramData+xml",
    "ms-office.drawingml.diagramDrawing+xml",
}
"""The types of charts, of the shapes on them, and of diagrams, in all three programs."""


def graphic_slots(kind: str, where: str, language: str) -> Callable[[Any], Iterable[Slot]]:
    """How the slots of a part of a type of `GRAPHICS` are found."""
    return chart_slots(where, language) if kind in _CHARTS else drawing_slots(where, language)


def drawing_slots(
    where: str, language: str, wanted: Callable[[Any], bool] | None = None
) -> Callable[[Any], list[Slot]]:
    """How the slots of the paragraphs of a part are found, those that are `wanted`."""
    write = partial(write_paragraph, language=language)

    def slots(root: Any) -> list[Slot]:
        paragraphs = slots_in(root, _PARAGRAPHS, f"{where}, ", tokens_of, write, wanted)
        return paragraphs if wanted else [*paragraphs, *described(root, f"{where}, ")]

    return slots


def chart_slots(where: str, language: str) -> Callable[[Any], Iterator[Slot]]:
    """How the slots of a chart are found: titles and text, and the labels that the chart shows."""

    def slots(root: Any) -> Iterator[Slot]:
        yield from drawing_slots(where, language)(root)
        for label in root.iter("{*}v", "{*}pt"):
            above = {local(element) for element in label.iterancestors()}
            if above & _LABELS and not above & {"numCache", "numLit"}:
                yield from text_slot(label, f"{where}, label")

    return slots


# What holds the labels of a chart, in charts of 2007 and of 2016.
_LABELS = {"strCache", "strLit", "multiLvlStrCache", "tx", "strDim"}


def tokens_of(paragraph: Any) -> list[Token]:
    """The tokens of a paragraph."""
    out = list[Token]()
    for child in paragraph:
        name = local(child)
        text = next((element.text or "" for element in child.iterchildren("{*}t")), "") if name in ("r", "fld") else ""
        if name == "r":
            properties = next(child.iterchildren("{*}rPr"), None)
            lines = text.replace("\n", "\v").split("\v")  # a vertical tab is what some writers make of a line break
            for index, line in enumerate(lines):
                out += [Break((etree.Element(child.tag.replace("}r", "}br")),))] if index else []
                out.append(Words(line, _style(properties)))
        elif name == "br":
            out.append(Break((child,)))
        elif name == "fld" and text.strip():
            out.append(Copied(text.strip(), (child,), name))
        elif name and name not in _PROPERTIES:
            out.append(Alone((child,), name))
    return out


def _style(properties: Any) -> RunStyle:
    if properties is None:
        return RunStyle(())
    attributes = tuple(sorted((key, value) for key, value in properties.items() if key not in _IGNORED_ATTRIBUTES))
    return RunStyle((attributes, style_key(properties, frozenset())), properties)


def write_paragraph(paragraph: Any, tokens: list[Token], language: str) -> None:
    """Write the content of a paragraph."""
    prefix = paragraph.tag[: paragraph.tag.index("}") + 1]

    def add_text(parent: Any, token: Words) -> None:
        run = etree.SubElement(parent, f"{prefix}r")
        style = token.style if isinstance(token.style, RunStyle) else RunStyle(())
        properties = deepcopy(style.properties) if style.properties is not None else etree.Element(f"{prefix}rPr")
        properties.set("lang", language_tag(language))
        run.append(properties)
        etree.SubElement(run, f"{prefix}t").text = writable(token.text)

    build(paragraph, tokens, _clear, add_text, lambda element: element)
    paragraph.extend(list(paragraph.iterchildren("{*}endParaRPr")))  # which moves it to the end


def _clear(paragraph: Any) -> None:
    for child in list(paragraph):
        if local(child) not in _PROPERTIES:
            paragraph.remove(child)
