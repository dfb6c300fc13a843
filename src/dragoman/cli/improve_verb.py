"""The verb `improve`: its arguments and help. Heavy imports happen inside it."""

from pathlib import Path
from typing import Annotated

import typer

from dragoman.cli.arguments import Json, OptionalModel, app, model_first, split_keys
from dragoman.errors import ConfigError


@app.command()
def improve(
    arguments: Annotated[
        list[str] | None,
        typer.Argument(help="Model, then keys such as train.max_steps=200.", metavar="MODEL KEY=VALUE"),
    ] = None,
    corrections: Annotated[
        str,
        typer.Option("--from", help="Corrections: corrections.db or postgresql://… of a service, .tsv or .jsonl."),
    ] = "",
    model: OptionalModel = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Folder of the new version; NAME-2 next to NAME unless given.")
    ] = None,
    pair: Annotated[str, typer.Option(help="Languages of the corrections in a model of several, e.g. en-ko.")] = "",
    replay: Annotated[
        Path | None,
        typer.Option(help="Text against forgetting, if that of the run is gone: pairs (.tsv), or source sentences."),
    ] = None,
    test: Annotated[
        tuple[Path, Path] | None,
        typer.Option(help="Test set that must not get worse, if that of the run is gone.", metavar="SOURCE REFERENCE"),
    ] = None,
    page: Annotated[
        Path | None, typer.Option(help="The page that shows what changed; NAME-2.html unless given.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Learn from corrections: a new version of a model.

    The model is fine-tuned on the corrections with a replay of other text, exported, and compared with the version
    before. If the test set drops below its confidence interval, nothing is written and the exit code is 6.
    """
    from dragoman.cli.improve import run_improve

    folder, rest = model_first(model, arguments)
    paths, keys = split_keys(rest)
    if paths:
        raise ConfigError(f"{paths[0]}: too many arguments; give MODEL --from CORRECTIONS, and then keys")
    if not corrections:
        raise ConfigError("improve: needs corrections; give --from corrections.db, or --from FILE.tsv")
    run_improve(folder, corrections, output, pair, replay, test, page, keys, as_json)
