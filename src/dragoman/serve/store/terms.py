"""The terms of a glossary as a client sends them, JSON, TSV, CSV or TBX, → entries, and entries → TSV or CSV.

Rows of CSV are as those of TSV: a term and its translation, further columns are alternatives. Clients of DeepL mean
every character as it is: there is no mark of a stem and no comment, each term is there once and has one translation,
and columns three and four of CSV are its languages.
"""

import csv
from collections.abc import Iterator, Sequence
from io import BytesIO, StringIO
from pathlib import Path
from typing import Literal

from dragoman.errors import DataError
from dragoman.text.terms.glossary import Entry, Glossary, as_tsv, is_header, rows_of
from dragoman.text.terms.tbx import TermBase
from dragoman.text.words.normalise import is_text, normalise
from dragoman.text.words.words import listed, spelled

Format = Literal["tsv", "csv", "tbx"]
NAME = "entries"


def read_terms(content: str, form: Format, source: str, target: str) -> Glossary:
    """The glossary in a text of this format; TBX is read in these two languages. Raises DataError with the line."""
    if not is_text(content):
        raise DataError(f"{NAME}: contains an unpaired surrogate (invalid Unicode); fix the encoding")
    if form == "tsv":
        return _some(Glossary.parse(content.encode(), NAME))
    if form == "tbx":
        return TermBase.parse(BytesIO(content.encode()), Path(NAME)).glossary(source, target)
    terms: dict[str, list[str]] = {}
    for index, (number, row) in enumerate(_csv_rows(content)):
        if len(row) < 2:
            raise DataError(f"{NAME}:{number}: one column; write the term, a comma and its translation")
        if not index and is_header(*row[:2]):
            continue
        terms.setdefault(row[0], []).extend(row[1:])
    return _some(Glossary.of(terms, NAME))


def read_plain_terms(content: str, form: Literal["tsv", "csv"], languages: Sequence[str]) -> Glossary:
    """The terms that a client of DeepL sends, as they are. Raises DataError with the line."""
    rows = _csv_rows(content) if form == "csv" else _tsv_rows(content)
    terms: dict[str, str] = {}
    for number, row in rows:
        where = f"{NAME}:{number}"
        if len(row) not in ((2, 4) if form == "csv" else (2,)):
            raise DataError(f"{where}: {len(row)} columns; write a term and its translation")
        if [tag.casefold() for tag in row[2:]] not in ([], list(languages)):
            raise DataError(f"{where}: the languages {', '.join(row[2:])}; the dictionary is {' → '.join(languages)}")
        term, translation = (listed(normalise(text)) for text in row[:2])
        if term in terms:
            raise DataError(f"{where}: the term {row[0]!r} a second time; each term has one translation")
        terms[term] = translation
    return _some(Glossary.of(terms, NAME))


def plain_tsv(glossary: Glossary) -> str:
    """Each term and its first translation, without marks, as a client of DeepL reads them."""
    return "".join(f"{entry.source}\t{spelled(entry.translations[0])}\n" for entry in glossary.entries)


def written(entries: Sequence[Entry], form: Literal["tsv", "csv"]) -> str:
    """The entries with all their translations, as `read_terms` reads them."""
    if form == "tsv":
        return as_tsv(entries)
    file = StringIO()
    csv.writer(file, lineterminator="\n").writerows(rows_of(entries))
    return file.getvalue()


def _csv_rows(content: str) -> Iterator[tuple[int, list[str]]]:
    reader = csv.reader(StringIO(content.removeprefix("\ufeff"), newline=""), strict=True)
    try:
        for row in reader:
            if any(cell.strip() for cell in row):
                yield reader.line_num, row
    except csv.Error as error:
        raise DataError(f"{NAME}:{reader.line_num}: not CSV: {error}; put quotes around a field with commas") from None


def _tsv_rows(content: str) -> Iterator[tuple[int, list[str]]]:
    for number, line in enumerate(content.removeprefix("\ufeff").split("\n"), 1):
        if line.strip():
            yield number, line.rstrip("\r").split("\t")


def _some(glossary: Glossary) -> Glossary:
    """Raises DataError for a glossary without terms."""
    if not glossary.entries:
        raise DataError(f"{NAME}: no terms; give at least one")
    return glossary
