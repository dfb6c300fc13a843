"""PDF: its paragraphs, headings and lists, written as a Word document or as Markdown. Its layout is not kept.

`pdf_text` finds the paragraphs in a process of its own, because a PDF can unpack to any size. Pictures, drawings, the
grid of tables, page numbers and what is repeated at the edges of pages are left out.
"""

import json
import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import pdfminer  # noqa: F401  # read in another process: where it is missing, loading this module says so

from dragoman.documents.core.document import Document, DocumentOptions, Translations, Unit
from dragoman.documents.core.splice import check_letters
from dragoman.documents.markup import markdown
from dragoman.documents.office.ooxml import is_east_asian, language_tag
from dragoman.documents.office.pdf_text import seconds_for
from dragoman.documents.xml.text import escape
from dragoman.documents.xml.xml import parse_xml
from dragoman.errors import DataError, ResourceError
from dragoman.system.processes import output_of, python_path
from dragoman.text.words.inline import InlineText

_PROGRAM = (
    "import sys; from dragoman.system.processes import end_with_parent; end_with_parent();"
    "from dragoman.documents.office.pdf_text import answer; print(answer(sys.argv[1]))"
)
_NOTICE = "its layout, pictures and page numbers are left out: the translation has its headings, paragraphs and lists"
_SPECIAL = re.compile(r"[\\`*_\[\]<>#|~$&{}]|^[-+=:!](?=\W)")
_NUMBER = re.compile(r"^(\d{1,9})([.)])(?=\s|$)")
_TYPES = "application/vnd.openxmlformats-officedocument.wordprocessingml"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
_PARTS = {
    "[Content_Types].xml": f'<Types xmlns="{_PACKAGE}/content-types"><Default Extension="rels" ContentType='
    '"application/vnd.openxmlformats-package.relationships+xml"/>'
    f'<Override PartName="/word/document.xml" ContentType="{_TYPES}.document.main+xml"/>'
    f'<Override PartName="/word/styles.xml" ContentType="{_TYPES}.styles+xml"/></Types>',
    "_rels/.rels": f'<Relationships xmlns="{_PACKAGE}/relationships"><Relationship Id="rId1" '
    f'Type="{_RELATIONS}/officeDocument" Target="word/document.xml"/></Relationships>',
    "word/_rels/document.xml.rels": f'<Relationships xmlns="{_PACKAGE}/relationships"><Relationship Id="rId1" '
    f'Type="{_RELATIONS}/styles" Target="styles.xml"/></Relationships>',
}
_STYLE_NAMES = {"": "Normal", "list": "ListParagraph", "1": "Heading1", "2": "Heading2", "3": "Heading3"}


@dataclass(frozen=True, slots=True)
class PdfParagraph:
    """A paragraph: its style as `pdf_text` names it, the number or bullet before it, its text."""

    style: str
    prefix: str
    text: str


def read(path: Path, options: DocumentOptions) -> Document:
    """The paragraphs of a PDF. Raises DataError where it is encrypted, broken, or has no text but pictures of it."""
    extract = _extracted(path)
    if "error" in extract:
        raise DataError(f"{path}: {extract['error']}")
    paragraphs, units, last = [], [], (0, 0)
    for style, prefix, text, page in extract["paragraphs"]:
        last = (page, last[1] + 1 if page == last[0] else 1)
        paragraphs.append(PdfParagraph(style, prefix, text))
        units.append(Unit(InlineText(text), f"page {page}, paragraph {last[1]}"))
    return Document(path, units, paragraphs, (_NOTICE, *extract["notices"]))


def _extracted(path: Path) -> dict[str, Any]:
    """What `pdf_text` says of a file."""
    command = [sys.executable, "-P", "-c", _PROGRAM, str(path.resolve())]  # -P: no module of the current folder
    environment = {**os.environ, "PYTHONPATH": python_path(), "OMP_NUM_THREADS": "1"}
    limit = 8 * seconds_for(path.stat().st_size)
    try:
        return json.loads(output_of(command, limit, environment))
    except (subprocess.TimeoutExpired, ValueError):
        raise DataError(f"{path}: takes too long or too much memory to be read; is it damaged?") from None
    except OSError as error:
        raise ResourceError(f"{path}: no process can be started to read it: {error.strerror}") from None


def write(document: Document, translations: Translations, options: DocumentOptions, file: IO[bytes]) -> None:
    """The translations as a Word document, or as Markdown if the file is to be `.md`."""
    paragraphs: list[PdfParagraph] = document.skeleton
    texts = [
        paragraph.text if new is None else new.text for paragraph, new in zip(paragraphs, translations, strict=True)
    ]
    if options.suffix in (".md", ".markdown"):
        content = "".join(_markdown(paragraphs, texts)).encode()
        units = markdown.parse(document.path, content).units
        expected = (
            piece for paragraph, text in zip(paragraphs, texts, strict=True) for piece in (paragraph.prefix, text)
        )
        check_letters(document.path, expected, (unit.source.text for unit in units))
        file.write(content)
        return
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as package:
        body = "".join(map(_word, paragraphs, texts))
        parts = {
            **_PARTS,
            "word/styles.xml": _styles(options.target),
            "word/document.xml": f"<w:document {_W}><w:body>{body}</w:body></w:document>",
        }
        for name, text in parts.items():
            content = f'<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n{text}'.encode()
            parse_xml(f"{document.path}: {name}", content)
            package.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)


def _markdown(paragraphs: list[PdfParagraph], texts: list[str]) -> Iterator[str]:
    for number, (paragraph, text) in enumerate(zip(paragraphs, texts, strict=True)):
        listed = paragraph.style == "list"
        if number:
            yield "\n" if listed and paragraphs[number - 1].style == "list" else "\n\n"
        heading = "#" * int(paragraph.style) + " " if paragraph.style.isdigit() else ""
        prefix = "- " if listed else f"{paragraph.prefix} " if paragraph.prefix else ""
        line = _NUMBER.sub(r"\1\\\2", _SPECIAL.sub(r"\\\g<0>", " ".join(text.split())))
        yield f"{heading}{prefix}{line}"
    yield "\n"


def _word(paragraph: PdfParagraph, text: str) -> str:
    prefix = f"{escape(paragraph.prefix)} " if paragraph.prefix else ""
    style = f'<w:pPr><w:pStyle w:val="{_STYLE_NAMES[paragraph.style]}"/></w:pPr>' if paragraph.style else ""
    run = f'<w:r><w:t xml:space="preserve">{prefix}{escape(" ".join(text.split()))}</w:t></w:r>'
    return f"<w:p>{style}{run}</w:p>"


def _styles(target: str) -> str:
    """The styles of the Word document, with its language."""
    language = escape(language_tag(target), quote='"')
    kind = "eastAsia" if is_east_asian(target) else "val"
    shared = (
        '<w:docDefaults><w:rPrDefault><w:rPr><w:rFonts w:ascii="Calibri" w:hAnsi="Calibri" w:eastAsia="Malgun Gothic"/>'
        f'<w:sz w:val="22"/><w:lang w:{kind}="{language}"/></w:rPr></w:rPrDefault><w:pPrDefault><w:pPr>'
        '<w:spacing w:after="120" w:line="276" w:lineRule="auto"/></w:pPr></w:pPrDefault></w:docDefaults>'
        '<w:style w:type="paragraph" w:default="1" w:styleId="Normal"><w:name w:val="Normal"/></w:style>'
    )
    listed = _style("ListParagraph", "List Paragraph", '<w:ind w:left="360" w:hanging="360"/>', "")
    headings = (
        _style(
            f"Heading{level}", f"heading {level}", f'<w:keepNext/><w:outlineLvl w:val="{level - 1}"/>',
            f'<w:rPr><w:b/><w:sz w:val="{size}"/></w:rPr>',
        )
        for level, size in ((1, 36), (2, 28), (3, 24))
    )  # fmt: skip
    return f"<w:styles {_W}>{shared}{listed}{''.join(headings)}</w:styles>"


def _style(name: str, shown: str, paragraph: str, run: str) -> str:
    return (
        f'<w:style w:type="paragraph" w:styleId="{name}"><w:name w:val="{shown}"/><w:basedOn w:val="Normal"/>'
        f"<w:pPr>{paragraph}</w:pPr>{run}</w:style>"
    )
