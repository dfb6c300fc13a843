"""The package's shape: imports run one way, importing is light, every module says what it is."""

import ast
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import dragoman

PACKAGE = Path(dragoman.__file__).parent
ROOT = PACKAGE.parents[1]
MODULES = {path.relative_to(PACKAGE).as_posix(): path for path in sorted(PACKAGE.rglob("*.py"))}
HEAVY = {"torch", "ctranslate2", "sacrebleu", "sentencepiece", "numpy", "safetensors"}


@cache
def trees() -> dict[str, ast.Module]:
    """The syntax of every module by its name; all laws are held to one reading."""
    return {name: ast.parse(path.read_text(encoding="utf-8")) for name, path in MODULES.items()}


def nodes(tree: ast.AST, kind: type[ast.AST]) -> list[Any]:
    return [node for node in ast.walk(tree) if isinstance(node, kind)]


def loaded_by(code: str) -> set[str]:
    """Which of the heavy packages a fresh interpreter has loaded after `code`."""
    probe = f"import sys\n{code}\nprint(*({HEAVY!r} & sys.modules.keys()))"
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_the_import_contracts_hold() -> None:
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command; lint_imports_command()"]
    done = subprocess.run([*command, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_probe_sees_what_is_loaded() -> None:
    assert "sentencepiece" in loaded_by("import sentencepiece")


def test_importing_dragoman_loads_nothing_heavy() -> None:
    assert loaded_by("import dragoman") == set()


VERBS = ["--help", "--version", "translate --help", "train --help", "data check --help", "model shortlist --help"]
# A heavy import anywhere in a group fails the group: one interpreter is enough for each.
LIGHT = [
    "errors",
    "system.files",
    "config",
    "config.file",
    "data.corpus.corpus",
    "data.check.check",
    "workflows.data.check",
    "evaluation",
]
USING_A_MODEL = [
    *("text.tokens.tokenizer", "bundle", "shortlist.file", "translator"),
    *("workflows.evaluate.evaluate", "workflows.models.shortlist"),
    *("cli.shortlist", "cli.translate", "cli.evaluate", "cli.data"),
]


def test_help_loads_nothing_heavy() -> None:
    code = "import contextlib, io\nfrom dragoman.cli.main import main\n"
    code += f"for verb in {VERBS!r}:\n    with contextlib.redirect_stdout(io.StringIO()):\n"
    code += "        assert main(verb.split()) == 0, verb"
    assert loaded_by(code) == set()


def test_checking_text_loads_numpy_at_most() -> None:
    assert loaded_by("\n".join(f"import dragoman.{module}" for module in LIGHT)) <= {"numpy"}


def test_using_a_model_loads_no_torch() -> None:
    code = "\n".join(f"import dragoman.{module}" for module in USING_A_MODEL)
    assert loaded_by(code) <= {"sentencepiece", "numpy"}


def test_every_public_name_can_be_had() -> None:
    for name in dragoman.__all__:
        assert getattr(dragoman, name) is not None
    assert dir(dragoman) == dragoman.__all__


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'dragoman' has no attribute 'Tranlsator'"):
        dragoman.Tranlsator  # noqa: B018


def test_every_module_opens_by_saying_what_it_is() -> None:
    assert not [name for name, tree in trees().items() if not ast.get_docstring(tree)]


def test_public_names_are_listed_in_order() -> None:
    for name, tree in trees().items():
        for node in tree.body:
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
                names = ast.literal_eval(node.value)
                assert names == sorted(set(names)), name


def test_no_pickle_is_read_or_written() -> None:
    """torch.load and torch.save are pickle too; weights of others are read by the unpickler that executes nothing."""
    for name, tree in trees().items():
        found = nodes(tree, ast.Call)
        if name == "importing/marian/checkpoint.py":
            [load] = [node for node in found if ast.unparse(node.func) == "torch.load"]
            assert "weights_only=True" in map(ast.unparse, load.keywords)
            found.remove(load)
        calls = {ast.unparse(node.func) for node in found}
        imports = {alias.name for node in nodes(tree, ast.Import) for alias in node.names}
        assert not calls & {"torch.load", "torch.save"}, name
        assert not imports & {"pickle", "dill", "cloudpickle", "joblib", "shelve"}, name


def test_only_the_command_line_prints() -> None:
    """Neither print, nor the standard streams, nor a console of rich, nor the command line's own modules."""
    for name, tree in trees().items():
        if name.startswith(("cli/", "__main__.py")):
            continue
        calls = {ast.unparse(node.func) for node in nodes(tree, ast.Call)}
        attributes = {ast.unparse(node) for node in nodes(tree, ast.Attribute)}
        modules = {node.module or "" for node in nodes(tree, ast.ImportFrom)}
        modules |= {alias.name for node in nodes(tree, ast.Import) for alias in node.names}
        assert not calls & {"print", "Console", "input"}, name
        assert not attributes & {"sys.stdout", "sys.stderr", "sys.argv", "warnings.warn"}, name
        assert not [module for module in modules if module.startswith(("dragoman.cli", "rich", "typer"))], name


def test_no_file_is_too_long_to_be_read_at_once() -> None:
    assert not [name for name, path in MODULES.items() if len(path.read_text(encoding="utf-8").splitlines()) > 500]
