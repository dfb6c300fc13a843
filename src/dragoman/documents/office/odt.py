"""OpenDocument text (`.odt`): paragraphs, headings, tables, notes, annotations, headers and footers, the title.

Tracked changes and embedded objects stay as they are.
"""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import IO, Any

from dragoman.documents.core.document import Document, DocumentOptions, Translations
from dragoman.documents.office.odt_text import TEXT, looks_of, tokens_of, write_paragraph
from dragoman.documents.office.package import (
    Package,
    Part,
    changed_parts,
    check_whole,
    local,
    open_package,
    text_slot,
    units_of,
    write_package,
)
from dragoman.documents.office.paragraphs import Slot, slot
from dragoman.errors import DataError

NAME = "an OpenDocument text (.odt)"
_TYPE = b"application/vnd.oasis.opendocument.text"
_IMAGE_TITLE = "{urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0}title"
_MANIFEST = "META-INF/manifest.xml"
_ROOTS = {"content.xml": "document-content", "styles.xml": "document-styles", "meta.xml": "document-meta"}


def read(path: Path, options: DocumentOptions) -> Document:
    """The paragraphs of a text."""
    with open_package(path, NAME) as package:
        check_whole(package)
        units = list(units_of(package, _parts(package)))
        signed = ("a digital signature, which is not valid for the translation",)
        return Document(path, units, notices=signed if "META-INF/documentsignatures.xml" in package.parts else ())


def write(document: Document, translations: Translations, options: DocumentOptions, file: IO[bytes]) -> None:
    """The OpenDocument text with the translations in place of its paragraphs."""
    with open_package(document.path, NAME) as package:
        write_package(package, changed_parts(package, _parts(package), translations), file)


def _parts(package: Package) -> list[Part]:
    if "mimetype" not in package.parts or not package.read("mimetype").startswith(_TYPE):
        raise DataError(f"{package.path}: a zip archive, but not {NAME}: its mimetype is another one or missing")
    if _MANIFEST in package.parts and next(package.xml(_MANIFEST).root.iter("{*}encryption-data"), None) is not None:
        raise DataError(f"{package.path}: password-protected; save it without password")
    if "content.xml" not in package.parts:
        raise DataError(f"{package.path}: a zip archive, but not {NAME}: content.xml is missing")
    for name, root in _ROOTS.items():
        if name in package.parts and local(package.xml(name).root) != root:
            raise DataError(f"{package.path}: {name} is not of {NAME}; its outermost element should be {root}")
    slots: dict[str, Callable[[Any], Iterator[Slot]]] = {"content.xml": _body(""), "styles.xml": _body("style ")}
    slots["meta.xml"] = _meta
    return [(name, make) for name, make in slots.items() if name in package.parts]


def _body(where: str) -> Callable[[Any], Iterator[Slot]]:
    def slots(root: Any) -> Iterator[Slot]:
        looks = looks_of(root)
        for number, element in enumerate(root.iter(f"{TEXT}p", f"{TEXT}h", _IMAGE_TITLE), 1):
            location = f"{where}paragraph {number}"
            if local(element) == "title":
                yield from text_slot(element, location, context="title of an image")
            elif not _is_kept(element):
                yield from slot(tokens_of(element, looks), location, partial(write_paragraph, element))

    return slots


def _is_kept(paragraph: Any) -> bool:
    """Whether a paragraph is deleted text, or the result of a formula."""
    for above in paragraph.iterancestors():
        if above.tag == f"{TEXT}tracked-changes":
            return True
        if local(above) == "table-cell":
            return any(name.endswith("}formula") for name in above.attrib)
    return False


def _meta(root: Any) -> Iterator[Slot]:
    for element in root.iterfind("{*}meta/{http://purl.org/dc/elements/1.1/}title"):
        yield from text_slot(element, "title")
