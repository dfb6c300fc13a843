"""PowerPoint (`.pptx`): slides, their notes and comments, tables, groups, diagrams and charts.

Of masters and layouts, what is shown on slides is read: not the prompts of their placeholders.
"""

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import IO, Any

from dragoman.documents.core.document import Document, DocumentOptions, Translations
from dragoman.documents.office.drawingml import chart_slots, drawing_slots
from dragoman.documents.office.ooxml import notices_of, part_types, title_parts
from dragoman.documents.office.package import Package, Part, read_parts, text_slot, write_parts
from dragoman.documents.office.paragraphs import Slot

NAME = "a PowerPoint presentation (.pptx)"
_MAIN = r"(ms-powerpoint|presentationml)\.(presentation|slideshow|template)(\.macroEnabled)?\.main\+xml"
# Types of parts with paragraphs in the order of reading, and what a person calls them.
_DRAWINGS = {
    "presentationml.slide+xml": "slide {}",
    "presentationml.notesSlide+xml": "notes {}",
    "ms-powerpoint.comments+xml": "comments {}",
    "drawingml.diagramData+xml": "diagram {}",
    "ms-office.drawingml.diagramDrawing+xml": "drawing of diagram {}",
    "drawingml.chartshapes+xml": "drawing of chart {}",
    "presentationml.slideLayout+xml": "layout {}",
    "presentationml.slideMaster+xml": "master {}",
}
_CHARTS = {"drawingml.chart+xml": "chart {}", "ms-office.chartex+xml": "extended chart {}"}


def read(path: Path, options: DocumentOptions) -> Document:
    """The paragraphs of a presentation."""
    return read_parts(path, NAME, partial(_content, options=options))


def write(document: Document, translations: Translations, options: DocumentOptions, file: IO[bytes]) -> None:
    """The presentation with the translations in place of its paragraphs."""
    write_parts(document, NAME, partial(_content, options=options), translations, file)


def _content(package: Package, options: DocumentOptions) -> tuple[list[Part], list[str]]:
    types = part_types(package, _MAIN, NAME)
    parts = list[Part]()
    for wanted, label in _DRAWINGS.items():
        for name, kind in types.items():
            if kind == wanted:
                shown = _is_shown if label.startswith(("layout", "master")) else None
                parts.append((name, drawing_slots(label.format(_number(name)), options.target, shown)))
    for name, kind in types.items():
        if kind == "presentationml.comments+xml":
            parts.append((name, partial(_comments, f"comments {_number(name)}")))
    charts = [(name, _CHARTS[kind].format(_number(name))) for name, kind in types.items() if kind in _CHARTS]
    parts += [(name, chart_slots(label, options.target)) for name, label in charts]
    return parts + title_parts(types), notices_of(types)


def _comments(where: str, root: Any) -> Iterator[Slot]:
    for number, text in enumerate(root.iter("{*}text"), 1):
        yield from text_slot(text, f"{where}, comment {number}")


def _number(name: str) -> str:
    return "".join(re.findall(r"\d+", name.rpartition("/")[2])) or "1"


def _is_shown(paragraph: Any) -> bool:
    """Whether a slide shows a paragraph of its layout or master: it is in no placeholder and in no list of styles."""
    for above in paragraph.iterancestors("{*}sp"):
        return next(above.iterfind("{*}nvSpPr/{*}nvPr/{*}ph"), None) is None
    return True
