"""Tables of Excel: the name of a column is the text of its header cell, and formulas may use that name."""

import html
import posixpath
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from dragoman.documents.office.parts import local
from dragoman.documents.office.tokens import Break, Words
from dragoman.documents.office.xlsx_text import tokens_of
from dragoman.documents.office.zip import Package
from dragoman.documents.xml.xml import Xml, parse_xml, serialise_xml

_BRACKETS = re.compile(r"\[@?([^\[\]]+)\]")
_CELL = re.compile(r"([A-Z]+)(\d+)")


@dataclass(frozen=True, slots=True)
class HeaderCell:
    """A header cell of a table: the number of its string, or None if the string is in the sheet."""

    table: str
    column: int
    sheet: str
    cell: str
    string: int | None


def shown_text(item: Any) -> str:
    """The text of a string as a cell shows it."""
    return "".join(
        token.text if isinstance(token, Words) else "\n"
        for token in tokens_of(item)
        if isinstance(token, Words | Break)
    )


def related(package: Package, part: str, kind: str) -> dict[str, str]:
    """The parts of a kind (`table`) to which a part refers, by the identifier of the relation."""
    folder, _, name = part.rpartition("/")
    relations = f"{folder}/_rels/{name}.rels"
    if relations not in package.parts:
        return {}
    targets = {
        relation.get("Id", ""): posixpath.normpath(posixpath.join("/" + folder, relation.get("Target", ""))).lstrip("/")
        for relation in package.xml(relations).root
        if relation.get("Type", "").endswith(f"/{kind}")
    }
    return {key: target for key, target in targets.items() if target in package.parts}


def headers(package: Package, sheets: list[str]) -> list[HeaderCell]:
    """The header cells of all tables."""
    out = list[HeaderCell]()
    for sheet in sheets:
        tables = related(package, sheet, "table")
        if not tables:
            continue
        cells = {cell.get("r"): cell for cell in package.xml(sheet).root.iter("{*}c")}
        for table in tables.values():
            root = package.xml(table).root
            corner = _CELL.match(root.get("ref", ""))
            columns = list(root.iterfind("{*}tableColumns/{*}tableColumn"))
            if corner is None or root.get("headerRowCount") == "0":
                continue
            for index in range(len(columns)):
                name = f"{_letters(_number(corner[1]) + index)}{corner[2]}"
                cell = cells.get(name)
                if cell is not None:
                    value = next((element.text for element in cell.iterchildren("{*}v")), None)
                    shared = cell.get("t") == "s" and value is not None and value.isdigit()
                    out.append(HeaderCell(table, index, sheet, name, int(value) if shared and value else None))
    return out


def names_in_formulas(package: Package, types: Mapping[str, str]) -> set[str]:
    """What formulas write in brackets, as they name the columns of tables, and the fields of pivot tables."""
    names = set[str]()
    for name, kind in types.items():
        if kind.startswith("spreadsheetml.") and kind.endswith("+xml") and "sharedStrings" not in kind:
            content = package.read(name).decode("utf-8", "replace")
            names |= {html.unescape(bracket).replace("'", "") for bracket in _BRACKETS.findall(content)}
        if "pivotCacheDefinition" in kind:
            names |= {field.get("name", "") for field in package.xml(name).root.iter("{*}cacheField")}
    return names


def rename_columns(
    package: Package, cells: list[HeaderCell], changed: dict[str, bytes], strings: str | None, remarks: list[str]
) -> dict[str, bytes]:
    """The changed parts with columns named as their header cells, each of them once in its table; `remarks` grow."""
    trees = dict[str, Xml]()

    def tree(part: str) -> Xml:
        if part not in trees:
            trees[part] = parse_xml(f"{package.path}: {part}", changed[part]) if part in changed else package.xml(part)
        return trees[part]

    touched = set[str]()
    for header, item, part in _items(cells, tree, strings):
        columns = list(tree(header.table).root.iterfind("{*}tableColumns/{*}tableColumn"))
        if part not in changed or shown_text(item) == _plain(columns[header.column].get("name", "")):
            continue
        others = (column for column in columns if column is not columns[header.column])
        taken = {_plain(column.get("name", "")).casefold() for column in others}
        name, number = shown_text(item), 1
        while name.casefold() in taken:
            number += 1
            name = f"{shown_text(item)} {number}"
        if number > 1:
            last = list(item.iter("{*}t"))[-1]
            last.text = f"{last.text} {number}"
            touched.add(part)
            remarks.append(f"{header.cell}: another column of the table is called the same, so this one is {name!r}")
        columns[header.column].set("name", name.replace("\n", "_x000a_"))
        touched.add(header.table)
    return changed | {part: serialise_xml(trees[part]) for part in touched}


def _items(cells: list[HeaderCell], tree: Any, strings: str | None) -> Iterator[tuple[HeaderCell, Any, str]]:
    """Each header with the element of its string and the part that has it."""
    items = [element for element in tree(strings).root if local(element) == "si"] if strings is not None else []
    for header in cells:
        if header.string is not None and strings is not None and header.string < len(items):
            yield header, items[header.string], strings
        elif header.string is None:
            for cell in tree(header.sheet).root.iter("{*}c"):
                if cell.get("r") == header.cell and (inline := next(cell.iterchildren("{*}is"), None)) is not None:
                    yield header, inline, header.sheet


def _plain(name: str) -> str:
    return re.sub("_x000[aA]_", "\n", name)


def _number(letters: str) -> int:
    number = 0
    for letter in letters:
        number = number * 26 + ord(letter) - 64
    return number


def _letters(number: int) -> str:
    letters = ""
    while number:
        number, rest = divmod(number - 1, 26)
        letters = chr(65 + rest) + letters
    return letters
