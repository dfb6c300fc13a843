"""`dragoman model list | verify | pack | install | remove`: models at hand."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dragoman.cli.shared.arguments import Base, Json, OptionalModel, only_model
from dragoman.cli.shared.console import facts_of, print_json, print_table, program, quoted, say
from dragoman.cli.verbs.model import model_app
from dragoman.errors import ConfigError, Interrupted, counted
from dragoman.system.processes import sigterm_interrupts

if TYPE_CHECKING:
    from dragoman.workflows.models.models import ModelInfo

COLUMNS = ("name", "pairs", "size", "licence", "score", "where")

ModelArgument = Annotated[list[str] | None, typer.Argument(help="The model, without -m.", metavar="MODEL")]


@model_app.command("list")
def list_all(as_json: Json = False) -> None:
    """List the installed and the bundled models."""
    from dragoman.installed import models_folder
    from dragoman.workflows.models.models import list_models

    models = list_models()
    if as_json:
        facts = [_facts(model) for model in models]
        print_json({"schema": "dragoman.model.list/1", "folder": str(models_folder()), "models": facts})
        return
    print_table([COLUMNS, *map(_row, models)])
    for model in models:
        if model.fault:
            say(f"{model.name}: {model.fault}", style="red")
    say(f"Installed models are in {models_folder()}; `{program()} model install` adds one.")


def _facts(model: "ModelInfo") -> dict[str, Any]:
    scores = [dict(zip(("metric", "value", "on"), score, strict=True)) for score in model.scores]
    return {**facts_of(model), "scores": scores}


def _row(model: "ModelInfo") -> tuple[str, ...]:
    where = "bundled" if model.bundled else "installed"
    if model.fault:
        return model.name, "", "", "", "", f"{where}, damaged"
    chosen = next((score for score in model.scores if score[0].startswith("chrF")), (*model.scores, None)[0])
    score = f"{chosen[0]} {chosen[1]:.1f}" if chosen else ""
    pairs = ", ".join(model.pairs[:2]) + (f" + {len(model.pairs) - 2}" if len(model.pairs) > 2 else "")
    where += ", hidden by the installed one" if model.hidden else f", adapter of {model.base}" if model.base else ""
    return model.name, pairs, f"{model.bytes / 1e6:.1f} MB", model.license, score, where


@model_app.command("verify")
def verify(
    arguments: ModelArgument = None, model: OptionalModel = None, base: Base = None, as_json: Json = False
) -> None:
    """Verify that a model is complete and translates as it did.

    Every file by its hash, the tokenizer, and the golden sentences with each engine that the model has.
    """
    from dragoman.workflows.models.verify import verify_model

    check = verify_model(only_model(model, arguments), base=base)
    if as_json:
        print_json({"schema": "dragoman.model.verify/1", **facts_of(check)})
        return
    print(
        f"{'files':13} {counted(check.files, 'file')}, {check.bytes / 1e6:.1f} MB: sizes and hashes as in bundle.json"
    )
    if check.sentences:
        sentences = counted(check.sentences, "golden sentence")
        print(f"{'tokenizer':13} divides {sentences} as when the model was made")
    for engine in check.engines:
        same = f"{engine.identical:,} of {check.sentences:,} translated to the same tokens"
        print(f"{engine.engine:13} log P within {engine.largest:.1g} nats, {engine.mean:.1g} on average; {same}")
    for skipped in check.skipped:
        say(f"not verified: {skipped}", style="yellow")


@model_app.command("pack")
def pack(
    output: Annotated[Path, typer.Option("--output", "-o", help="The file to write, e.g. ko-en.dragoman.")],
    arguments: ModelArgument = None,
    model: OptionalModel = None,
    base: Base = None,
    weights: Annotated[
        bool, typer.Option("--weights/--no-weights", help="With the weights of training, or only the exports.")
    ] = True,
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it exists.")] = False,
    as_json: Json = False,
) -> None:
    """Write a model as one file, to be installed elsewhere.

    The same model gives the same bytes on every machine; the printed hash can be published with the file.
    """
    from dragoman.workflows.models.models import pack_model

    with sigterm_interrupts():
        file = pack_model(only_model(model, arguments), output, base=base, weights=weights, force=force)
    if as_json:
        print_json({"schema": "dragoman.model.pack/1", **facts_of(file)})
        return
    say(f"{file.path}: {file.name}, {file.bytes / 1e6:.1f} MB, sha256 {file.sha256}")
    say(f"Next, on any machine:\n  {program()} model install {quoted(file.path.name)}")


@model_app.command("install")
def install(
    path: Annotated[Path, typer.Argument(help="A packed model, or the folder of a model.", metavar="PATH")],
    name: Annotated[str | None, typer.Option(help="Name for -m. Default: the name that the model has.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an installed model of this name.")] = False,
    as_json: Json = False,
) -> None:
    """Install a model, so that -m NAME finds it from any folder.

    It is copied to the folder of installed models and verified before it gets its name. $DRAGOMAN_HOME chooses another
    folder.
    """
    from dragoman.workflows.models.models import install_model

    with sigterm_interrupts():
        model = install_model(path, name=name, force=force)
    if as_json:
        print_json({"schema": "dragoman.model.install/1", **_facts(model)})
        return
    say(f"Installed {model.name} ({', '.join(model.pairs)}), verified, in {model.model_path}")
    say(f'Next:\n  {program()} translate -m {quoted(model.name)} "…"')


@model_app.command("remove")
def remove(
    arguments: Annotated[list[str] | None, typer.Argument(help="Name of an installed model.", metavar="NAME")] = None,
    model: OptionalModel = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Remove an installed model."""
    from dragoman.workflows.models.models import adapters_of, removable_model, remove_model

    name = str(only_model(model, arguments))
    folder = removable_model(name)
    if adapters := adapters_of(folder):
        say(f"{name} is the base of {', '.join(adapters)}, which cannot be used without it", style="yellow")
    if not yes:
        if not is_terminal():
            raise ConfigError(f"{name}: --yes removes it without a question, and here nobody can be asked")
        print(f"Remove {folder}? [y/N] ", end="", file=sys.stderr, flush=True)
        if sys.stdin.readline().strip().casefold() not in ("y", "yes"):
            raise Interrupted(f"{name}: not removed")
    remove_model(name)
    say(f"{folder}: removed")


def is_terminal() -> bool:
    """Whether a person can be asked."""
    return sys.stdin.isatty()
