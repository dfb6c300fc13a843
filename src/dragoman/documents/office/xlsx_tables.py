"""Tables of a workbook: what they have twice, in their part and in a cell, is the same after the translation.

The name of a column is the text of its header cell, the label of a total that of a cell in the last row.
"""

import html
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, count, dropwhile, product
from string import ascii_uppercase
from typing import Any

from dragoman.documents.office.ooxml import related
from dragoman.documents.office.package import Package, local
from dragoman.documents.office.xlsx_strings import shown_text, string_of
from dragoman.documents.xml.xml import Xml, parse_xml, serialise_xml

COLUMN_NAME, TOTAL_LABEL = "name", "totalsRowLabel"


@dataclass(frozen=True, slots=True)
class TableCell:
    """A cell whose text a column of a table has too: the number of its string, or None if that is in the sheet."""

    table: str
    column: int
    attribute: str
    """Of the column: `COLUMN_NAME` or `TOTAL_LABEL`."""
    text: str
    """The value of the attribute."""
    sheet: str
    cell: str
    string: int | None


_BRACKETS = re.compile(r"\[@?([^\[\]]+)\]")
_CELLS = re.compile(r"([A-Z]+)(\d+)(?::[A-Z]+(\d+))?")


def cells_of_tables(package: Package, sheets: list[str]) -> list[TableCell]:
    """The header cells of all tables, and the cells with the labels of their totals."""
    out = list[TableCell]()
    for sheet in sheets:
        tables = related(package, sheet, "table")
        if not tables:
            continue
        cells = {cell.get("r"): cell for cell in package.xml(sheet).root.iter("{*}c")}
        for table in tables.values():
            root = package.xml(table).root
            columns = root.findall("{*}tableColumns/{*}tableColumn")
            for column, attribute, name in _shown_columns(root, columns):
                cell, text = cells.get(name), _plain(columns[column].get(attribute, ""))
                if cell is not None:
                    value = next((element.text for element in cell.iterchildren("{*}v")), None) or ""
                    string = int(value) if cell.get("t") == "s" and value.isdecimal() else None
                    out.append(TableCell(table, column, attribute, text, sheet, name, string))
    return out


def _shown_columns(table: Any, columns: list[Any]) -> Iterator[tuple[int, str, str]]:
    """The columns of a table: their number, the attribute of their name or label, and the cell that shows it."""
    corners = _CELLS.match(table.get("ref", ""))
    if corners is None:
        return
    for number, (column, letters) in enumerate(zip(columns, _columns_from(corners[1]), strict=False)):
        if table.get("headerRowCount") != "0":
            yield number, COLUMN_NAME, f"{letters}{corners[2]}"
        if table.get("totalsRowCount", "0") != "0" and column.get(TOTAL_LABEL):
            yield number, TOTAL_LABEL, f"{letters}{corners[3] or corners[2]}"


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
    package: Package, cells: list[TableCell], changed: dict[str, bytes], strings: str | None, remarks: list[str]
) -> dict[str, bytes]:
    """The changed parts with columns named and totals labelled as their cells; `remarks` grow.

    No two columns of a table have one name: a number follows the second.
    """
    trees = dict[str, Xml]()

    def tree(part: str) -> Xml:
        if part not in trees:
            trees[part] = parse_xml(f"{package.path}: {part}", changed[part]) if part in changed else package.xml(part)
        return trees[part]

    touched = set[str]()
    for cell, item, part in _items(cells, tree, strings):
        columns = list(tree(cell.table).root.iterfind("{*}tableColumns/{*}tableColumn"))
        column, text = columns[cell.column], shown_text(item)
        if part not in changed or text == _plain(column.get(cell.attribute, "")):
            continue
        if cell.attribute == COLUMN_NAME:
            others = {_plain(other.get(COLUMN_NAME, "")).casefold() for other in columns if other is not column}
            name = _free_name(text, others)
            if name != text:
                last = [item, *item.iter("{*}t")][-1]
                last.text = f"{last.text}{name.removeprefix(text)}"
                touched.add(part)
                remarks.append(f"{cell.cell}: another column of the table is called the same, so this one is {name!r}")
            text = name
        column.set(cell.attribute, text.replace("\n", "_x000a_"))
        touched.add(cell.table)
    return changed | {part: serialise_xml(trees[part]) for part in touched}


def _free_name(name: str, taken: set[str]) -> str:
    numbered = (f"{name} {number}" for number in count(2))
    return next(text for text in chain([name], numbered) if text.casefold() not in taken)


def _items(cells: list[TableCell], tree: Any, strings: str | None) -> Iterator[tuple[TableCell, Any, str]]:
    """Each cell of a table with the element of its string and the part that has it."""
    items = [element for element in tree(strings).root if local(element) == "si"] if strings is not None else []
    for cell in cells:
        if cell.string is not None and strings is not None and cell.string < len(items):
            yield cell, items[cell.string], strings
        elif cell.string is None:
            for element in tree(cell.sheet).root.iter("{*}c"):
                if element.get("r") == cell.cell and (item := string_of(element)) is not None:
                    yield cell, item, cell.sheet


def _plain(name: str) -> str:
    return re.sub("_x000[aA]_", "\n", name)


def _columns_from(letters: str) -> Iterator[str]:
    """The name of a column and of all after it: Z, AA, …"""
    names = ("".join(name) for length in (1, 2, 3) for name in product(ascii_uppercase, repeat=length))
    return dropwhile(lambda name: name != letters, names)
