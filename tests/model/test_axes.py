"""The legend of axes and the index of equations in `dragoman.model` hold for the whole package."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from pkgutil import resolve_name

import dragoman.model

PACKAGE = Path(dragoman.model.__file__).parent.parent
DOC = dragoman.model.__doc__ or ""
LEGEND = set(re.findall(r"(?:^|\s{3,})([A-Z]{1,2})\s{2,}\S", DOC.partition("Axes")[2], re.MULTILINE))


def shapes(path: Path) -> Iterator[str]:
    """The strings of `Float[Tensor, "…"]` and the like."""
    text = path.read_text(encoding="utf-8")
    if "[Tensor," not in text:  # most modules have none: parsing them all would take seconds
        return
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Tuple) and node.slice.elts:
            array, *shape = node.slice.elts
            written = shape[0].value if shape and isinstance(shape[0], ast.Constant) else None
            if isinstance(array, ast.Name) and array.id == "Tensor" and isinstance(written, str):
                yield written


def test_axes_of_every_signature_are_in_the_legend_and_no_others() -> None:
    used = {
        re.sub(r"(?<=[A-Z])2$", "", axis.lstrip("#"))
        for path in PACKAGE.rglob("*.py")
        for shape in shapes(path)
        for axis in shape.split()
        if not axis.startswith("*") and axis not in ("_", "1")
    }
    assert used == LEGEND


def test_index_of_equations_names_what_exists() -> None:
    entries = re.findall(r"^    (?:Eq\. \(\d\)|\d\S*) +\S.*?\s{2,}(\S.*)$", DOC.partition("Axes")[0], re.MULTILINE)
    assert len(entries) == 15
    for entry in entries:
        first, *others = entry.split(", ")
        assert resolve_name(f"dragoman.{first}")
        assert all(resolve_name(f"dragoman.{first.rpartition('.')[0]}.{name}") for name in others)
