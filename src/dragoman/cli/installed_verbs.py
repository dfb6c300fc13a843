"""`dragoman model …`: the verbs about models at hand. Heavy imports happen inside them."""

from pathlib import Path
from typing import Annotated

import typer

from dragoman.cli.arguments import Base, Json, OptionalModel, model_app, model_first
from dragoman.errors import ConfigError

WITHOUT_M = "The model, without -m."


@model_app.command("list")
def model_list(as_json: Json = False) -> None:
    """List the installed and the bundled models."""
    from dragoman.cli.models import run_list

    run_list(as_json)


@model_app.command("verify")
def model_verify(
    arguments: Annotated[list[str] | None, typer.Argument(help=WITHOUT_M, metavar="MODEL")] = None,
    model: OptionalModel = None,
    base: Base = None,
    as_json: Json = False,
) -> None:
    """Verify that a model is complete and translates as it did.

    Every file by its hash, the tokenizer, and the golden sentences with each engine that the model has.
    """
    from dragoman.cli.models import run_verify

    run_verify(_one_model(model, arguments), base, as_json)


@model_app.command("pack")
def model_pack(
    output: Annotated[Path, typer.Option("--output", "-o", help="The file to write, e.g. ko-en.dragoman.")],
    arguments: Annotated[list[str] | None, typer.Argument(help=WITHOUT_M, metavar="MODEL")] = None,
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
    from dragoman.cli.models import run_pack

    run_pack(_one_model(model, arguments), output, base, weights, force, as_json)


@model_app.command("install")
def model_install(
    path: Annotated[Path, typer.Argument(help="A packed model, or the folder of a model.", metavar="PATH")],
    name: Annotated[str | None, typer.Option(help="Name for -m. Default: the name that the model has.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an installed model of this name.")] = False,
    as_json: Json = False,
) -> None:
    """Install a model, so that -m NAME finds it from any folder.

    It is copied to the folder of installed models and verified before it gets its name. $DRAGOMAN_HOME chooses another
    folder.
    """
    from dragoman.cli.models import run_install

    run_install(path, name, force, as_json)


@model_app.command("remove")
def model_remove(
    arguments: Annotated[list[str] | None, typer.Argument(help="Name of an installed model.", metavar="NAME")] = None,
    model: OptionalModel = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Remove an installed model."""
    from dragoman.cli.models import run_remove

    run_remove(str(_one_model(model, arguments)), yes)


def _one_model(model: Path | None, arguments: list[str] | None) -> Path:
    """The model of -m or of the only argument. Raises ConfigError for more."""
    folder, rest = model_first(model, arguments)
    if rest:
        raise ConfigError(f"{rest[0]}: too many arguments; give one model")
    return folder
