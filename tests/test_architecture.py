"""The package's shape: imports run one way, importing is light, every module says what it is."""

import ast
import gc
import importlib
import json
import re
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable
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
    gc.disable()  # of a million nodes that stay: looking for garbage among them takes longer than reading
    try:
        return {name: ast.parse(path.read_text(encoding="utf-8")) for name, path in MODULES.items()}
    finally:
        gc.enable()


@cache
def by_kind(tree: ast.AST) -> dict[type[ast.AST], list[Any]]:
    kinds: dict[type[ast.AST], list[Any]] = defaultdict(list)
    for node in ast.walk(tree):
        kinds[type(node)].append(node)
    return kinds


def nodes(tree: ast.AST, kind: type[ast.AST]) -> list[Any]:
    return [*by_kind(tree).get(kind, ())]


def written(expressions: Iterable[ast.expr], wanted: set[str]) -> set[str]:
    """Those of `wanted`, names with or without dots, that are among the expressions."""
    last = {name.rpartition(".")[2] for name in wanted}
    candidates = (one for one in expressions if getattr(one, "attr", getattr(one, "id", None)) in last)
    return wanted & {ast.unparse(one) for one in candidates}


def test_the_import_contracts_hold() -> None:
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command; lint_imports_command()"]
    done = subprocess.run([*command, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


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
    *("control.glossary.terms", "control.search.n_best"),
    *("workflows.evaluate.evaluate", "workflows.models.shortlist"),
    *("workflows.lines.translate", "cli.shared.loading", "cli.shared.output", "cli.shared.progress"),
    *("cli.shared.reports", "cli.main"),
]


# What a fresh interpreter does, one stage after another; each stage may load what those before it may, and its own.
STAGES = {
    "importing dragoman": ("import dragoman", set()),
    "help": (
        "import contextlib, io\nfrom dragoman.cli.main import main\n"
        f"for verb in {VERBS!r}:\n    with contextlib.redirect_stdout(io.StringIO()):\n"
        "        assert main(verb.split()) == 0, verb",
        set(),
    ),
    "checking text": ("\n".join(f"import dragoman.{module}" for module in LIGHT), {"numpy"}),
    "using a model": ("\n".join(f"import dragoman.{module}" for module in USING_A_MODEL), {"sentencepiece", "numpy"}),
    "the probe itself": ("import sentencepiece", {"sentencepiece", "numpy"}),
}


def test_each_stage_loads_of_the_heavy_packages_what_it_needs() -> None:
    shown = f"print(json.dumps(sorted({HEAVY!r} & sys.modules.keys())))"
    code = "import json, sys\n" + "\n".join(f"{stage}\n{shown}" for stage, _ in STAGES.values())
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = dict(zip(STAGES, map(json.loads, done.stdout.splitlines()), strict=True))
    too_much = {name: {*loaded[name]} - allowed for name, (_, allowed) in STAGES.items()}
    assert not {name: heavy for name, heavy in too_much.items() if heavy}
    assert "sentencepiece" in loaded["the probe itself"]


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
                module = ".".join(["dragoman", *Path(name).with_suffix("").parts]).removesuffix(".__init__")
                names = importlib.import_module(module).__all__
                assert names == sorted(set(names)), name


def test_no_pickle_is_read_or_written() -> None:
    """torch.load and torch.save are pickle too; weights of others are read by the unpickler that executes nothing."""
    for name, tree in trees().items():
        found = nodes(tree, ast.Call)
        if name == "importing/marian/checkpoint.py":
            [load] = [node for node in found if written([node.func], {"torch.load"})]
            assert "weights_only=True" in map(ast.unparse, load.keywords)
            found.remove(load)
        functions = [node.func for node in found]
        imports = {alias.name for node in nodes(tree, ast.Import) for alias in node.names}
        assert not written(functions, {"torch.load", "torch.save"}), name
        assert not imports & {"pickle", "dill", "cloudpickle", "joblib", "shelve"}, name


def test_only_the_command_line_prints() -> None:
    """Neither print, nor the standard streams, nor a console of rich, nor the command line's own modules."""
    for name, tree in trees().items():
        if name.startswith(("cli/", "__main__.py")):
            continue
        functions = [node.func for node in nodes(tree, ast.Call)]
        modules = {node.module or "" for node in nodes(tree, ast.ImportFrom)}
        modules |= {alias.name for node in nodes(tree, ast.Import) for alias in node.names}
        assert not written(functions, {"print", "Console", "input"}), name
        streams = {"sys.stdout", "sys.stderr", "sys.argv", "warnings.warn"}
        assert not written(nodes(tree, ast.Attribute), streams), name
        assert not [module for module in modules if module.startswith(("dragoman.cli", "rich", "typer"))], name


def test_no_file_is_too_long_to_be_read_at_once() -> None:
    assert not [name for name, path in MODULES.items() if len(path.read_text(encoding="utf-8").splitlines()) > 500]


def test_a_folder_can_be_seen_at_once() -> None:
    """At most twenty modules: more would be a folder whose order exists in its import graph alone."""
    sizes = Counter(path.parent.relative_to(PACKAGE).as_posix() for path in MODULES.values())
    assert not {folder: size for folder, size in sizes.items() if size > 20}


# Names that say nothing of their value; a leading underscore does not count.
FILLERS = {"found", "one", "own", "asked", "given", "kept", "several", "each"}


def is_filler(name: str) -> bool:
    return name.lstrip("_").lower() in FILLERS


def test_a_filler_is_recognised() -> None:
    assert [name for name in ("found", "_Kept", "founder", "one_line") if is_filler(name)] == ["found", "_Kept"]


def test_a_name_is_the_noun_of_its_value() -> None:
    """Of variables, parameters, those of lambdas too, fields, classes and modules."""
    odd = {(name, "module") for name, path in MODULES.items() if is_filler(path.stem)}
    for name, tree in trees().items():
        odd |= {(name, node.arg) for node in nodes(tree, ast.arg) if is_filler(node.arg)}
        stored = (node.id for node in nodes(tree, ast.Name) if isinstance(node.ctx, ast.Store))
        odd |= {(name, variable) for variable in stored if is_filler(variable)}
        for node in nodes(tree, ast.ClassDef):
            odd |= {(name, node.name)} if is_filler(node.name) else set()
            fields = [ast.unparse(item.target) for item in node.body if isinstance(item, ast.AnnAssign)]
            odd |= {(name, field) for field in fields if is_filler(field)}
    assert not odd


def test_a_class_name_has_one_home() -> None:
    """A search for a class finds one class; a leading underscore does not make it another."""
    homes: dict[str, list[str]] = {}
    for name, tree in trees().items():
        for node in nodes(tree, ast.ClassDef):
            homes.setdefault(node.name.lstrip("_"), []).append(name)
    assert not {name: places for name, places in homes.items() if len(places) > 1}


# Docstrings that begin so describe something by what is elsewhere: the same as what?
RIDDLES = re.compile(r"(The same|Those|That|See|As)\b")


def test_a_docstring_says_what_it_is_about() -> None:
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    riddles = [
        (name, text.partition("\n")[0])
        for name, tree in trees().items()
        for node in ast.walk(tree)
        if isinstance(node, documented) and (text := ast.get_docstring(node)) and RIDDLES.match(text)
    ]
    assert not riddles


# Shorter than a page and used by one module, but a reader looks for them by name: what the paper names, and verbs.
SMALL = ("cli/verbs/", "decode/topk.py", "training/update/ema.py", "training/update/schedule.py")


def importers() -> dict[str, set[str]]:
    """The modules that import each module of the package, also inside functions and for types."""
    by_dotted = {
        ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts): name for name, path in MODULES.items()
    }
    by_dotted |= {dotted.removesuffix(".__init__"): name for dotted, name in by_dotted.items()}
    users: dict[str, set[str]] = {name: set() for name in MODULES}
    for name, tree in trees().items():
        dotted = {alias.name for node in nodes(tree, ast.Import) for alias in node.names}
        for node in nodes(tree, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            dotted |= {inner if inner in by_dotted else str(node.module) for inner in names}
        for target in dotted & by_dotted.keys():
            users[by_dotted[target]].add(name)
    return users


def test_what_belongs_together_is_one_file() -> None:
    """A module of a few lines with one user is a part of it; what is opened by its name in a string has no user."""
    users = importers()
    assert not [
        name
        for name, path in MODULES.items()
        if path.name != "__init__.py"
        and len(path.read_text(encoding="utf-8").splitlines()) < 40
        and len(users[name]) == 1
        and not name.startswith(SMALL)
    ]
