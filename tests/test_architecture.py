"""The package's shape: imports run one way, importing is light, every module says what it is."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import dragoman

PACKAGE = Path(dragoman.__file__).parent
ROOT = PACKAGE.parents[1]
MODULES = sorted(PACKAGE.rglob("*.py"))
NAMES = [path.relative_to(PACKAGE).as_posix() for path in MODULES]
HEAVY = {"torch", "ctranslate2", "sacrebleu", "sentencepiece", "numpy", "safetensors"}


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
LIGHT = ["errors", "storage", "config", "config.file", "data.corpus", "data.check", "workflows.data", "evaluation"]
USING_A_MODEL = [
    *("text.tokenizer", "bundle", "shortlist.file", "translator"),
    *("workflows.evaluate", "workflows.shortlist"),
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


@pytest.mark.parametrize("path", MODULES, ids=NAMES)
def test_every_module_opens_by_saying_what_it_is(path: Path) -> None:
    assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize("path", MODULES, ids=NAMES)
def test_public_names_are_listed_in_order(path: Path) -> None:
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            names = ast.literal_eval(node.value)
            assert names == sorted(names)
            assert len(set(names)) == len(names)


@pytest.mark.parametrize("path", MODULES, ids=NAMES)
def test_no_pickle_is_read_or_written(path: Path) -> None:
    """torch.load and torch.save are pickle too; weights of others are read by the unpickler that executes nothing.

    Between the service and the processes that it starts itself are pipes that nobody else can write to.
    """
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    if path.relative_to(PACKAGE).as_posix() == "importing/checkpoint.py":
        [load] = [node for node in found if ast.unparse(node.func) == "torch.load"]
        assert "weights_only=True" in map(ast.unparse, load.keywords)
        found.remove(load)
    calls = {ast.unparse(node.func) for node in found}
    imports = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    assert not calls & {"torch.load", "torch.save"}
    if path.relative_to(PACKAGE).as_posix() in ("serve/worker.py", "serve/workers.py"):
        assert calls & {"pickle.load", "pickle.dump"} == {"pickle.load", "pickle.dump"}
        imports.remove("pickle")
    assert not imports & {"pickle", "dill", "cloudpickle", "joblib", "shelve"}


BELOW_CLI = [path for path in MODULES if path.relative_to(PACKAGE).parts[0] not in ("cli", "__main__.py")]


@pytest.mark.parametrize("path", BELOW_CLI, ids=[path.relative_to(PACKAGE).as_posix() for path in BELOW_CLI])
def test_only_the_command_line_prints(path: Path) -> None:
    """Neither print, nor the standard streams, nor a console of rich, nor the command line's own modules."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    calls = {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    attributes = {ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    modules = {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    modules |= {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    assert not calls & {"print", "Console", "input"}
    assert not attributes & {"sys.stdout", "sys.stderr", "sys.argv", "warnings.warn"}
    assert not [module for module in modules if module.startswith(("dragoman.cli", "rich", "typer"))]


@pytest.mark.parametrize("path", MODULES, ids=NAMES)
def test_no_file_is_too_long_to_be_read_at_once(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 320
