"""Scripts that the tests do not run, in `benchmarks/`, `reproduce/` and `examples/`: what they import exists."""

import ast
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SCRIPTS = {
    path.relative_to(ROOT).as_posix(): path
    for folder in ("benchmarks", "reproduce", "examples")
    for path in sorted((ROOT / folder).rglob("*.py"))
    if "environment" not in path.parts  # what a benchmark installs for the other toolkits
}


def names(tree: ast.AST) -> set[tuple[str, str]]:
    """The modules of the package that a script imports from, and the names."""
    return {
        (node.module, alias.name)
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "dragoman"
        for alias in node.names
    }


@pytest.mark.parametrize("name", SCRIPTS)
def test_what_a_script_imports_from_the_package_exists(name: str) -> None:
    for module, attribute in names(ast.parse(SCRIPTS[name].read_text(encoding="utf-8"))):
        if not hasattr(import_module(module), attribute):
            assert find_spec(f"{module}.{attribute}"), f"{name}: from {module} import {attribute}"
