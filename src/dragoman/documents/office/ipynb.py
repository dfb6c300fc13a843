"""Jupyter notebooks (`.ipynb`): the Markdown cells, each read and written as a Markdown file is. All else stays.

Code, outputs, raw cells, attachments and metadata are not touched. A cell is a string or a list of lines, as before.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import IO

from dragoman.documents.catalogues.json import JsonString, Keys, Scanner
from dragoman.documents.core.document import Document, DocumentOptions, Translations
from dragoman.documents.core.passage import UNFIT
from dragoman.documents.core.splice import Decoded, Splice, decode, spliced
from dragoman.documents.markup import markdown
from dragoman.errors import DataError


@dataclass(frozen=True, slots=True)
class NotebookCell:
    """A Markdown cell: its number, the strings of its source, where that is in the file, and what is in it."""

    name: str
    strings: list[JsonString]
    begin: int
    end: int
    markdown: Document


def read(path: Path, options: DocumentOptions) -> Document:
    """The texts of the Markdown cells. Raises DataError for what is no notebook."""
    decoded = decode(path, path.read_bytes())
    scanner = Scanner(path, decoded.text)
    if not any(keys[-1] == "cells" for keys in scanner.spans if keys):
        raise DataError(f"{path}: no Jupyter notebook: it has no cells")
    cells, notices = [], list[str]()
    for name, keys, strings in _sources(scanner):
        text = "".join(string.text for string in strings)
        if UNFIT.search(text):
            notices.append(f"{name}: unpaired surrogate, NUL or private character; left unchanged")
            continue
        begin, end = scanner.spans.get(keys, (strings[0].begin, strings[-1].end))
        content = markdown.parse(path, text.encode())
        notices += [f"{name}: {notice}" for notice in content.notices]
        cells.append(NotebookCell(name, strings, begin, end, content))
    units = [replace(unit, location=f"{cell.name}, {unit.location}") for cell in cells for unit in cell.markdown.units]
    return Document(path, units, (decoded, cells), tuple(notices))


def _sources(scanner: Scanner) -> Iterator[tuple[str, Keys, list[JsonString]]]:
    """The name of each Markdown cell, the keys of its source and the strings of that."""
    by_keys: dict[Keys, list[JsonString]] = {}
    kinds: dict[Keys, str] = {}
    for string in scanner.texts:
        *before, last = string.keys
        if last == "cell_type" and "cells" in before[-2:-1]:
            kinds[tuple(before)] = string.text
        for at in (len(string.keys) - 1, len(string.keys) - 2):  # a string, or a line of a list
            if at > 1 and string.keys[at] == "source" and string.keys[at - 2] == "cells":
                by_keys.setdefault(string.keys[: at + 1], []).append(string)
    for keys, strings in by_keys.items():
        if kinds.get(keys[:-1]) == "markdown":
            yield f"cell {int(keys[-2]) + 1}", keys, strings


def write(document: Document, translations: Translations, options: DocumentOptions, file: IO[bytes]) -> None:
    """The notebook with the translated Markdown in its cells."""
    decoded, cells = document.skeleton
    remaining, changes = iter(translations), list[Splice]()
    for cell in cells:
        texts = list(islice(remaining, len(list(cell.markdown.units))))
        out = BytesIO()
        cell.markdown.remarks.clear()
        markdown.write(cell.markdown, texts, options, out)
        document.remarks.extend(f"{cell.name}, {remark}" for remark in cell.markdown.remarks)
        new = out.getvalue().decode()
        if new != "".join(string.text for string in cell.strings):
            changes.append(Splice(cell.begin, cell.end, _source(decoded, cell, new)))
    assert next(remaining, remaining) is remaining, "one translation for each unit"
    file.write(spliced(decoded, changes))


def _source(decoded: Decoded, cell: NotebookCell, new: str) -> str:
    """The source of a cell as the file writes it: a string, or a list of lines with the white space that it had."""
    text = decoded.text
    ascii_only = text.isascii() and re.search(r"\\u(?!00[01])", text) is not None
    if text[cell.begin] != "[":
        return json.dumps(new, ensure_ascii=ascii_only)
    lines = [json.dumps(line, ensure_ascii=ascii_only) for line in re.findall(r"[^\n]*\n|[^\n]+", new)]
    first, last = text[cell.begin : cell.strings[0].begin], text[cell.strings[-1].end : cell.end]
    between = text[cell.strings[0].end : cell.strings[1].begin] if len(cell.strings) > 1 else f",{first[1:]}"
    return first + between.join(lines) + last
