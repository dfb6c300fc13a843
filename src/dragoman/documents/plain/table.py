"""Tables (CSV and TSV): the cells of the chosen columns are units, every other byte stays.

- The first line is a header unless it reads like data, and is kept.
- A header that names the source's language (`en`, `en_US`, `English`, or `source`) chooses that column; where it names
  the target's language (or `target`) too, translations are written there and the source stays. So it is with a header
  that names the target's language alone, next to one column of text; of `target` alone if the column is empty. A column
  `id` of numbers or keys is no Indonesian.
- Otherwise, without a choice, the columns that have text are translated in place. A column of codes (`menu.title`,
  `42`) is kept, and named.
- A cell that begins with `=`, `+`, `-` or `@` is a formula for a spreadsheet: it is kept. A translation that begins so
  gets an apostrophe before it, which makes it text; reading leaves that out.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from dragoman.documents.core.document import Document, DocumentOptions
from dragoman.documents.core.passage import ENTITY, UNFIT, plain
from dragoman.documents.core.splice import Decoded, decode
from dragoman.documents.core.values import Value, Values, document_of, write_values
from dragoman.errors import ConfigError
from dragoman.text.words.language import LANGUAGE_NAMES, primary_language, same_language, tag_distance

_DELIMITERS = ",;\t|"
_ENTITY = re.compile(ENTITY)
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "＝", "＋", "－", "＠")
# A key, a number, an address: no text, unless it is a word with a capital letter.
_CODE = re.compile(r"(?![A-Z][a-z]+[.!?]?$)[\x21-\x7e]*")
# What is in a column of names and numbers, whatever its header: no single word.
_KEY = re.compile(r"[\x21-\x7e]*(?:\d|[_./:\\](?=\w))[\x21-\x7e]*")
# A language as a header names it: a tag or a locale, or in a word.
_TAG = re.compile(r"[A-Za-z]{2,3}(?:[-_][A-Za-z0-9]{2,8}){0,3}")
# Tags that are headers of keys and numbers too.
_NO_LANGUAGES = ("id", "no")
# A cell of a header is a short name, not a sentence and not a number.
_NAME = re.compile(r"(?!.*[.!?。？！]$)(?![\d.,+-]+$).{0,40}", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Cell:
    """A field of a record: its number from 1, its text, and its span with quotes."""

    line: int
    column: int
    text: str
    begin: int
    end: int


def read(path: Path, options: DocumentOptions) -> Document:
    """The cells of a table. Raises DataError for another encoding, ConfigError for a column that it has not got."""
    decoded = decode(path, path.read_bytes())
    delimiter = "\t" if path.name.lower().endswith(".tsv") else _sniffed(decoded.text)
    records = list(_records(decoded.text, delimiter))
    header = records.pop(0) if records and _is_header(records[0], options) else []
    names = {cell.column: cell.text.strip() for cell in header}
    chosen, target, notices = _columns(path, options, names, records)
    values, formulas = [], []
    missing: dict[int, str] = {}
    for record in records:
        into = next((cell for cell in record if cell.column == target), None)
        if target and into is None:  # a record that ends early gets the cell
            last = record[-1]
            into = Cell(last.line, target, "", last.end, last.end)
            missing |= {cell.begin: delimiter * (target - last.column) for cell in record}
        for cell in record:
            if cell.column not in chosen or (options.update and into and into.text.strip()):
                continue
            if cell.text.startswith(_FORMULA):
                formulas.append(str(cell.line))
            elif not UNFIT.search(cell.text):
                values.append(_value(cell, into, names))
    if formulas:
        lines = ", ".join(formulas[:10]) + (", …" if len(formulas) > 10 else "")
        notices.append(f"cells that begin with = + - or @ are formulas for a spreadsheet; left unchanged: line {lines}")
    document = document_of(path, Values(decoded, values, _encoder(decoded, delimiter, missing)), notices)
    if options.columns:
        return document
    again = replace(options, columns=tuple(map(str, sorted(chosen))), target_column=target)
    return replace(document, again=again)


write = write_values


def _value(cell: Cell, into: Cell | None, names: Mapping[int, str]) -> Value:
    """The value of a cell, which is written to the cell `into` if there is one."""
    where = f"line {cell.line}, {names.get(cell.column) or f'column {cell.column}'}"
    is_escaped = cell.text.startswith("'") and cell.text[1:].startswith(_FORMULA)
    text = cell.text[1:] if is_escaped else cell.text
    message = (plain(text, _ENTITY),)
    if into is None:
        return Value(cell.begin, cell.end, where, message)
    existing = plain(into.text, _ENTITY).inline
    return Value(cell.begin, cell.end, where, message, existing=existing, target=(into.begin, into.end))


def _records(text: str, delimiter: str) -> Iterator[list[Cell]]:
    """The records of a table that are not blank."""
    # A field in quotes that enclose all of it, or any other. In TSV no tab is inside quotes: a stray quote is text.
    inside = '[^"\t]' if delimiter == "\t" else '[^"]'
    end = re.escape(delimiter)
    pattern = re.compile(rf'"(?P<quoted>{inside}*(?:""{inside}*)*)"(?=[{end}\r\n]|\Z)|[^{end}\r\n]*')
    at, line = 0, 1
    record: list[Cell] = []
    while True:
        match = pattern.match(text, at)
        assert match is not None
        quoted = match["quoted"]
        content = match[0] if quoted is None else quoted.replace('""', '"')
        record.append(Cell(line, len(record) + 1, content, at, match.end()))
        line += len(re.findall("\r\n?|\n", match[0]))
        at = match.end()
        if text[at : at + 1] == delimiter:
            at += 1
            continue
        if len(record) > 1 or content.strip():
            yield record
        if at == len(text):
            return
        at += 2 if text.startswith("\r\n", at) else 1
        line += 1
        record = []


def _sniffed(text: str) -> str:
    """The delimiter that gives the most records the same number of fields, more than one; a comma if none does."""

    def agreement(delimiter: str) -> float:
        counts = Counter(len(record) for record in islice(_records(text[:100_000], delimiter), 50))
        if not counts:
            return 0
        fields, records = counts.most_common(1)[0]
        return records / counts.total() if fields > 1 else 0

    return max(_DELIMITERS, key=agreement)


def _is_header(record: Sequence[Cell], options: DocumentOptions) -> bool:
    names = [cell.text.strip() for cell in record]
    named = [column for column in options.columns if not column.isdigit()]
    return bool(named) or (any(names) and all(_NAME.fullmatch(name) for name in names))


def _named(names: Mapping[int, str], *wanted: str) -> int | None:
    """The column with one of these names, whatever their case."""
    return next((column for column, name in names.items() if name.lower() in {title.lower() for title in wanted}), None)


def _of_language(names: Mapping[int, str], language: str, word: str) -> int | None:
    """The column that is named after a language, or with a word for it; of other tags of the language the nearest."""
    column = _named(names, language, word) or _named(names, *LANGUAGE_NAMES.get(primary_language(language), ()))
    tags = {column: name.replace("_", "-") for column, name in names.items() if _TAG.fullmatch(name)}
    near = [column for column, tag in tags.items() if same_language(tag, language)]
    return column or min(near, key=lambda column: tag_distance(tags[column], language), default=None)


def _columns(
    path: Path, options: DocumentOptions, names: Mapping[int, str], records: Sequence[Sequence[Cell]]
) -> tuple[set[int], int | None, list[str]]:
    """The columns to translate, the one for the translations if not in place, and what is to be known of the choice."""
    cells = [cell for record in records for cell in record]
    present = {cell.column for cell in cells} | set(names)
    chosen = set()
    for wanted in options.columns:
        column = _named(names, wanted) or (int(wanted) if wanted.isdecimal() else 0)
        if column not in present:
            known = ", ".join(filter(None, names.values())) or f"columns 1 to {max(present, default=0)}"
            raise ConfigError(f"{path}: no column {wanted!r}; it has {known}")
        chosen.add(column)
    if chosen:
        return chosen, options.target_column, []
    filled = {cell.column for cell in cells if cell.text.strip()}
    wordy = {cell.column for cell in cells if cell.text.strip() and not _KEY.fullmatch(cell.text.strip())}
    titles = {column: name for column, name in names.items() if column in wordy or column not in filled}
    source, target = _of_language(titles, options.source, "source"), _of_language(titles, options.target, "target")
    if source is not None:
        return {source}, None if target == source else target, []
    chosen = {cell.column for cell in cells if cell.text.strip() and not _CODE.fullmatch(cell.text.strip())}
    if target is not None and len(chosen - {target}) == 1:
        # What has text may be the target of something else, what is named `id` or `no` a column of keys.
        title = names[target].lower()
        if target not in filled or (title != "target" and (target in chosen or title not in _NO_LANGUAGES)):
            return chosen - {target}, target, []
    left = ", ".join(names.get(column) or str(column) for column in sorted(present - chosen))
    return chosen, None, [f"columns that have no text, as it seems, are left unchanged: {left}"] if left else []


def _encoder(decoded: Decoded, delimiter: str, missing: Mapping[int, str]) -> Callable[[Value, str], str]:
    """How a cell is written: in quotes if it is in quotes, or if the text needs them.

    `missing` are the delimiters that a record lacks before its translation, by where the cell of its source begins.
    """
    needs = re.compile(f'^"|[{delimiter}\r\n]' if delimiter == "\t" else f'[{delimiter}"\r\n]')

    def encode(value: Value, text: str) -> str:
        begin, _ = value.target or (value.begin, value.end)
        text = f"'{text}" if text.startswith(_FORMULA) else text
        if decoded.text.startswith('"', begin) or needs.search(text):
            text = '"' + text.replace('"', '""') + '"'
        return missing.get(value.begin, "") + text

    return encode
