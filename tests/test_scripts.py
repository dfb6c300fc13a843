"""Scripts that the tests do not run, in `benchmarks/`, `reproduce/` and `examples/`: what they import exists."""

import ast
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

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


def test_what_a_script_imports_from_the_package_exists() -> None:
    imported = {name: names(ast.parse(path.read_text(encoding="utf-8"))) for name, path in SCRIPTS.items()}
    assert any(imported.values())
    missing = {
        (module, attribute)
        for module, attribute in set().union(*imported.values())
        if not hasattr(import_module(module), attribute) and not find_spec(f"{module}.{attribute}")
    }
    assert {name: imports & missing for name, imports in imported.items() if imports & missing} == {}
