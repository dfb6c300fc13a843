"""Word (`.docx`): paragraphs of the document, its headers, footers, notes, comments, text boxes, charts and diagrams.

Tracked deletions, instructions of fields and equations stay as they are.
"""

import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import IO, Any

from dragoman.documents.core.document import Document, DocumentOptions, Translations
from dragoman.documents.office.docx_runs import tokens_of, write_paragraph
from dragoman.documents.office.drawingml import chart_slots, drawing_slots
from dragoman.documents.office.ooxml import notices_of, part_types, slots_in, title_parts
from dragoman.documents.office.paragraphs import slot
from dragoman.documents.office.parts import Part, changed_parts, units_of
from dragoman.documents.office.tokens import Slot
from dragoman.documents.office.zip import Package, check_whole, open_package, write_package

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
    with open_package(path, NAME) as package:
        check_whole(package)
        types = part_types(package, _MAIN, NAME)
        units = list(units_of(package, _parts(types, options)))
        return Document(path, units, notices=(*notices_of(types), *_bound(package, types)))


def write(document: Document, translations: Translations, options: DocumentOptions, file: IO[bytes]) -> None:
    """The Word document with the translations in place of its paragraphs."""
    with open_package(document.path, NAME) as package:
        types = part_types(package, _MAIN, NAME)
        write_package(package, changed_parts(package, _parts(types, options), translations), file)


def _parts(types: dict[str, str], options: DocumentOptions) -> list[Part]:
    main = [name for name, kind in types.items() if re.match(_MAIN, kind)]
    parts: list[Part] = [(name, _story("", options)) for name in main]
    folder = main[0].rpartition("/")[0]
    for name, kind in types.items():
        story = _STORIES.get(kind.removeprefix("wordprocessingml."))
        if story and name.rpartition("/")[0] == folder:  # the parts of building blocks are in a folder of their own
            number = re.findall(r"\d+", name.rpartition("/")[2])
            parts.append((name, _story(" ".join([story, *number]) + ", ", options)))
        elif kind == "drawingml.chart+xml":
            parts.append((name, chart_slots(name, options.target)))
        elif kind in ("drawingml.diagramData+xml", "ms-office.drawingml.diagramDrawing+xml"):
            parts.append((name, drawing_slots(name, options.target)))
    return parts + title_parts(types)


def _story(where: str, options: DocumentOptions) -> Callable[[Any], Iterator[Slot]]:
    def slots(root: Any) -> Iterator[Slot]:
        number = 0

        def make(paragraph: Any) -> list[Slot]:
            nonlocal number
            number += 1
            location = f"{where}paragraph {number}"
            return slot(tokens_of(paragraph), location, partial(write_paragraph, paragraph, language=options.target))

        prefix = root.tag[1 : root.tag.index("}")]
        yield from slots_in(root, make, prefix)

    return slots


def _bound(package: Package, types: dict[str, str]) -> tuple[str, ...]:
    """Whether content controls show data of the file, which Word reads again when it opens it."""
    for name, kind in types.items():
        if re.match(_MAIN, kind) and any(
            "core-properties" not in str(element.items()) for element in package.xml(name).root.iter("{*}dataBinding")
        ):
            return ("content controls bound to data of the file: Word shows the data again, not their translation",)
    return ()
