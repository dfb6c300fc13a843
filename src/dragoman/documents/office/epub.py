"""EPUB: its chapters and navigation by splicing, as HTML is; title and language of the book, labels of its contents.

Fonts may be obfuscated; a book with any other encryption is refused.
"""

import posixpath
from collections.abc import Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import IO, Any
from urllib.parse import unquote

from dragoman.documents.core.document import Document, DocumentOptions, Translations
from dragoman.documents.core.spans import located
from dragoman.documents.core.splice import Decoded, spliced
from dragoman.documents.markup.html import html_pieces, page_splices
from dragoman.documents.office.package import (
    SIGNED,
    Package,
    check_whole,
    local,
    open_package,
    put_all,
    text_slot,
    write_package,
)
from dragoman.documents.office.paragraphs import Slot
from dragoman.documents.xml.text import decode_xml, escape
from dragoman.documents.xml.xml import serialise_xml
from dragoman.errors import DataError

NAME = "a book (.epub)"
_CONTAINER, _ENCRYPTION = "META-INF/container.xml", "META-INF/encryption.xml"
_OBFUSCATED_FONTS = ("http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC")
_CHAPTER, _CONTENTS = "application/xhtml+xml", "application/x-dtbncx+xml"


def read(path: Path, options: DocumentOptions) -> Document:
    """The text of a book: its title, its chapters in the order of the package, the labels of its contents."""
    with open_package(path, NAME) as package:
        check_whole(package)
        package_part, chapters, contents = _book(package)
        units = [slot.unit for slot in _titles(package.xml(package_part).root)]
        for name in chapters:
            decoded = _decoded(package, name)
            units += located(decoded.text, html_pieces(decoded.text, language=options.source), f"{name}:")
        units += [slot.unit for name in contents for slot in _labels(package.xml(name).root, name)]
        return Document(path, units, notices=(SIGNED,) if "META-INF/signatures.xml" in package.parts else ())


def write(document: Document, translations: Translations, options: DocumentOptions, file: IO[bytes]) -> None:
    """The book with the translations in place of its texts."""
    taken, changed = iter(translations), dict[str, bytes]()
    with open_package(document.path, NAME) as package:
        package_part, chapters, contents = _book(package)
        opf = package.xml(package_part)
        titled = put_all(_titles(opf.root), taken)
        for name in chapters:
            decoded = _decoded(package, name)
            pieces, write_text = (
                html_pieces(decoded.text, language=options.source),
                partial(escape, encoding=decoded.encoding),
            )
            texts = list(islice(taken, len(pieces)))
            if changes := page_splices(f"{package.path}: {name}", decoded, pieces, texts, options, write_text):
                changed[name] = spliced(decoded, changes)
        for name in contents:
            tree = package.xml(name)
            if put_all(_labels(tree.root, name), taken):
                changed[name] = serialise_xml(tree)
        if changed or titled:
            for language in list(opf.root.iter("{http://purl.org/dc/elements/1.1/}language"))[:1]:
                language.text = options.target
            changed[package_part] = serialise_xml(opf)
        write_package(package, changed, file)


def _book(package: Package) -> tuple[str, list[str], list[str]]:
    """The package document, the chapters with the navigation, the contents in the manner of EPUB 2."""
    if _CONTAINER not in package.parts:
        raise DataError(f"{package.path}: a zip archive, but not {NAME}: {_CONTAINER} is missing")
    _refuse_encrypted(package)
    roots = [node.get("full-path", "") for node in package.xml(_CONTAINER).root.iter("{*}rootfile")]
    if not roots or roots[0] not in package.parts:
        raise DataError(f"{package.path}: not {NAME}: {_CONTAINER} names no package document")
    root, folder = package.xml(roots[0]).root, roots[0].rpartition("/")[0]
    items = {node.get("id"): node for node in root.iterfind("{*}manifest/{*}item")}
    spine = [items[node.get("idref")] for node in root.iterfind("{*}spine/{*}itemref") if node.get("idref") in items]
    chapters, contents = list[str](), list[str]()
    for item in [*spine, *items.values()]:
        name = posixpath.normpath(posixpath.join(folder, unquote(item.get("href", ""))))
        listed = {_CHAPTER: chapters, _CONTENTS: contents}.get(item.get("media-type", ""))
        if listed is not None and name in package.parts and name not in listed:
            listed.append(name)
    return roots[0], chapters, contents


def _refuse_encrypted(package: Package) -> None:
    if _ENCRYPTION not in package.parts:
        return
    for data in package.xml(_ENCRYPTION).root.iter("{*}EncryptedData"):
        methods = [method.get("Algorithm") for method in data.iterchildren("{*}EncryptionMethod")]
        if not methods or methods[0] not in _OBFUSCATED_FONTS:
            raise DataError(f"{package.path}: encrypted (DRM): its text cannot be read; use a copy without DRM")


def _decoded(package: Package, name: str) -> Decoded:
    return decode_xml(f"{package.path}: {name}", package.read(name))


def _titles(root: Any) -> list[Slot]:
    titles = root.iterfind("{*}metadata//{http://purl.org/dc/elements/1.1/}title")
    return [slot for element in titles for slot in text_slot(element, "title of the book")]


def _labels(root: Any, name: str) -> Iterator[Slot]:
    for element in root.iter("{*}text"):
        if local(element.getparent()) in ("navLabel", "docTitle"):
            yield from text_slot(element, name, context="contents")
