"""What a person should look at in translated documents: a table for spreadsheets and one HTML page, Korean and English.

`OUT.review.tsv` has a row for each unit with a warning: file, location, source, translation, why. A cell that a
spreadsheet would run as a formula begins with an apostrophe. `OUT.review.html` needs no network and runs no script but
its own. Where nothing is flagged there are no files.
"""

import html
import json
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from dragoman.data.corpus.corpus import Pair
from dragoman.documents import DocumentOptions
from dragoman.errors import ConfigError
from dragoman.system.files import atomic_file, write_text_atomically
from dragoman.system.pages import content_policy, fill, in_languages, labels, refuse_other_file, static, visible
from dragoman.text.terms.glossary import table_text
from dragoman.workflows.documents.journal import FlaggedUnit, Journal, printable

COLUMNS = ("file", "location", "source", "translation", "why")
HEADER = "\t".join(COLUMNS) + "\n"
LANGUAGES = ("ko", "en")
# Rows of the page; the table has all.
SHOWN = 2000

# What a spreadsheet takes for a formula, also in full width and after white space.
_FORMULA = re.compile(r"\s*[=+\-@＝＋－＠|]")
# A cell and what ends it. One that begins with a quotation mark that is not closed at its end is plain.
_CELL = re.compile(r'(?:"(?P<quoted>(?:[^"\t]|"")*+)"(?=[\t\r\n]|\Z)|(?P<plain>[^\t\r\n]*))(?P<end>\t|\r?\n|\r|\Z)')


def review_files(output: Path) -> tuple[Path, Path]:
    """The table and the page of an output."""
    return output.with_name(f"{output.name}.review.tsv"), output.with_name(f"{output.name}.review.html")


def refuse_review(output: Path, *, force: bool) -> None:
    """Raise ConfigError if the table or the page would replace a file that is none."""
    table, page = review_files(output)
    if not force and table.exists() and not _is_review(table):
        raise ConfigError(f"{table}: already exists and is no table of an earlier translation; --force replaces it")
    if not force and page.exists():
        refuse_other_file(page, "--force replaces it")


def write_review(output: Path, journal: Journal, request: DocumentOptions) -> Path | None:
    """Write both files for what is flagged; those of an earlier translation go if nothing is. The table's path."""
    table, page = review_files(output)
    if not journal.review_count:
        if table.is_file() and _is_review(table):
            table.unlink()
            page.unlink(missing_ok=True)
        return None
    with atomic_file(table) as file:
        file.write(HEADER.encode())
        for row in journal.review():
            cells = (row.file, row.location, row.source, row.translation, "; ".join(text for _, text in row.why))
            file.write(("\t".join(map(cell, cells)) + "\n").encode(errors="backslashreplace"))
    rows = list(islice(journal.review(), SHOWN))
    write_text_atomically(page, render(printable(output.name), rows, journal.review_count, request))
    return table


def review_pairs(path: Path) -> Iterator[Pair] | None:
    """The sources and translations of a table for review, which a person has corrected; None for another file.

    Rows are numbered as a spreadsheet shows them. A text that was not translated, and still is not, is no pair.
    """
    try:
        rows = _rows(table_text(path.read_bytes()))
    except (OSError, UnicodeDecodeError):
        return None  # who reads it as pairs says what is wrong
    if next(rows, []) != [*COLUMNS]:
        return None
    at = COLUMNS.index("source"), COLUMNS.index("translation")
    pairs = (Pair(row[at[0]], row[at[1]], number) for number, row in enumerate(rows, 2) if len(row) > max(at))
    return (pair for pair in pairs if pair.source != pair.target)


def _rows(table: str) -> Iterator[list[str]]:
    """The texts of the cells of a table, row by row: as `cell` writes them, or a spreadsheet."""
    row: list[str] = []
    for match in _CELL.finditer(table):
        quoted = match["quoted"]
        row.append(_text(match["plain"] if quoted is None else _on_one_line(quoted.replace('""', '"'))))
        if match["end"] != "\t":
            yield row
            row = []


def _text(cell: str) -> str:
    """What a cell says, without the apostrophe that keeps a spreadsheet from running it."""
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell[1:]) else cell


def _is_review(table: Path) -> bool:
    with table.open("rb") as file:
        return file.read(len(HEADER)) == HEADER.encode()


def cell(text: str) -> str:
    """A text as one cell of a table: on one line, never a formula, and in quotation marks if it has one."""
    text = _on_one_line(text)
    text = f"'{text}" if _FORMULA.match(text) else text
    return '"{}"'.format(text.replace('"', '""')) if '"' in text else text


def _on_one_line(text: str) -> str:
    return " ".join(re.split(r"[\t\r\n\v\f\x85\u2028\u2029]+", text))


def render(name: str, rows: list[FlaggedUnit], count: int, request: DocumentOptions) -> str:
    """The page for these rows of `count`."""
    kinds = sorted({kind for row in rows for kind, _ in row.why})
    options = "".join(
        f'<option value="{html.escape(kind)}">{html.escape(_name(kind, "ko"))}</option>' for kind in kinds
    )
    values = {
        "policy": page_policy(),
        "name": html.escape(name),
        "title": _both("title"),
        "intro": _both("intro"),
        "count": f"{count:,}",
        "cut": f"<p>{_both('cut')}</p>" if len(rows) < count else "",
        "show": _both("show"),
        "options": options,
        "names": html.escape(
            json.dumps({language: {k: _name(k, language) for k in ("", *kinds)} for language in LANGUAGES})
        ),
        "head": "".join(f'<th scope="col">{_both(column)}</th>' for column in COLUMNS),
        "rows": "\n".join(_row(row, request) for row in rows),
        "style": _static("style.css"),
        "script": _static("script.js"),
    }
    return fill(_static("page.html"), values)


def page_policy() -> str:
    """What the page may do (Content-Security-Policy): run its own script, and nothing else."""
    return content_policy(_static("style.css"), _static("script.js"))


def review_rows(table: Path) -> Iterator[dict[str, str]]:
    """The rows of a table for review by the names of its columns; none if there is no table."""
    if table.is_file():
        rows = islice(_rows(table.read_text(encoding="utf-8")), 1, None)
        yield from (dict(zip(COLUMNS, row, strict=False)) for row in rows if row != [""])


def _row(row: FlaggedUnit, request: DocumentOptions) -> str:
    kinds = " ".join(kind for kind, _ in row.why)
    why = "".join(f"<li><b>{_both_names(kind)}</b> {_shown(text)}</li>" for kind, text in row.why)
    return (
        f'<tr data-kinds="{html.escape(kinds)}"><td>{_shown(row.file)}</td><td>{_shown(row.location)}</td>'
        f'<td lang="{html.escape(request.source)}" dir="auto">{_shown(row.source)}</td>'
        f'<td lang="{html.escape(request.target)}" dir="auto">{_shown(row.translation)}</td>'
        f"<td><ul>{why}</ul></td></tr>"
    )


def _shown(text: str) -> str:
    return visible(text, but="\n")


def _name(kind: str, language: str) -> str:
    return str(_texts(language)["kinds"].get(kind, kind))


def _both_names(kind: str) -> str:
    return in_languages({language: _name(kind, language) for language in LANGUAGES}, ("data-in",))


def _both(label: str) -> str:
    return in_languages({language: _texts(language)[label] for language in LANGUAGES}, ("data-in", "lang"))


def _static(name: str) -> str:
    return static(__package__, f"review_page/{name}").strip()


def _texts(language: str) -> dict[str, Any]:
    return labels(__package__, language, "review_page/")
