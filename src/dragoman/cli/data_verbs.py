"""The verbs that make training text: `data clean` and `data mix`, their arguments and help."""

from pathlib import Path
from typing import Annotated

import typer

from dragoman.cli.arguments import Config, Json, Overrides, data_app, split_keys
from dragoman.errors import ConfigError

Source = Annotated[Path, typer.Argument(help="Source sentences (or one .tsv or .jsonl file of both sides).")]
TargetAndKeys = Annotated[
    list[str] | None,
    typer.Argument(help="Their translations, line by line; then configuration keys.", metavar="TARGET KEY=VALUE"),
]
Force = Annotated[bool, typer.Option("--force", help="Replace files that exist.")]


@data_app.command("clean")
def data_clean(
    config: Config,
    source: Source,
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the cleaned files and the rejects.")],
    rest: TargetAndKeys = None,
    workers: Annotated[int, typer.Option(min=1, help="Processes; the result is the same for any number.")] = 1,
    ray: Annotated[bool, typer.Option("--ray", help="Run the rules under Ray Data, on the cluster it finds.")] = False,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Remove the pairs of a corpus that break a rule.

    The rules and thresholds are [data.clean] of the configuration. Cleaned files have the names of the given ones;
    rejects.jsonl has what was removed, with line and reasons.
    """
    from dragoman.cli.data import clean

    target, keys = split_keys(rest)
    if len(target) > 1:
        raise ConfigError(f"{target[1]}: too many arguments; a corpus is one file or two")
    second = Path(target[0]) if target else None
    clean(config, source, second, keys, as_json, output=output, workers=workers, ray=ray, force=force)


@data_app.command("mix")
def data_mix(config: Config, overrides: Overrides = None, force: Force = False, as_json: Json = False) -> None:
    """Mix several corpora into the training text of a run.

    Reads the corpora of [data.mix], with their weights and tags; writes the first corpus of data.train, shuffled.
    """
    from dragoman.cli.data import mix

    mix(config, overrides or [], as_json, force=force)
