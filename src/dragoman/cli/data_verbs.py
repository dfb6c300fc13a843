"""`dragoman data …`: the arguments and help of the verbs about text. Heavy imports happen inside them."""

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


@data_app.command("check")
def data_check(
    config: Config,
    overrides: Overrides = None,
    estimate: Annotated[
        bool, typer.Option("--estimate", help="Time a few updates of each preset: what training would cost.")
    ] = False,
    as_json: Json = False,
    html: Annotated[Path | None, typer.Option(help="Write a page with histograms and examples.")] = None,
) -> None:
    """Count the faults in the text of a run.

    All of them are counted in one run, each with its share and first location; nothing is changed. Thresholds are those
    of [data.clean], which `data clean` uses too.
    """
    from dragoman.cli.data import check

    check(config, overrides or [], as_json, html, estimate)


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

    target, keys = _target_and_keys(rest)
    clean(config, source, target, keys, as_json, output=output, workers=workers, ray=ray, force=force)


@data_app.command("split")
def data_split(
    config: Config,
    source: Source,
    rest: TargetAndKeys = None,
    held_out: Annotated[int | None, typer.Option(min=1, help="Exact number of pairs for each of valid, test.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Another seed draws other pairs.")] = 1,
    near: Annotated[bool, typer.Option("--near/--no-near", help="Keep near-duplicates of a sentence together.")] = True,
    drop: Annotated[
        bool, typer.Option("--drop", help="Drop lines with an empty side or bad bytes, and count.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Split a corpus into train, valid and test.

    The files are those that the configuration names. Repeats of a sentence stay together, near-duplicates too.
    """
    from dragoman.cli.data import split

    target, keys = _target_and_keys(rest)
    split(config, source, target, keys, as_json, held_out=held_out, seed=seed, near=near, drop=drop)


@data_app.command("mix")
def data_mix(config: Config, overrides: Overrides = None, force: Force = False, as_json: Json = False) -> None:
    """Mix several corpora into the training text of a run.

    Reads the corpora of [data.mix], with their weights and tags; writes the first corpus of data.train, shuffled.
    """
    from dragoman.cli.data import mix

    mix(config, overrides or [], as_json, force=force)


@data_app.command("convert")
def data_convert(
    files: Annotated[list[Path], typer.Argument(help="Bilingual documents: .tmx, .po, .xlf, .xliff.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The .tsv to write: source, tab, target.")],
    source: Annotated[str, typer.Option("--from", help="Language of the first column, e.g. en.")],
    target: Annotated[str, typer.Option("--to", help="Language of the second column, e.g. ko.")],
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Write the pairs of bilingual documents as text to train on.

    Inline codes are left out; of PO and XLIFF files only finished translations are taken.
    """
    from dragoman.cli.data import convert

    convert(files, output, as_json, source=source, target=target, force=force)


def _target_and_keys(rest: list[str] | None) -> tuple[Path | None, list[str]]:
    """The file of the other side, if one is given, and the configuration keys."""
    target, keys = split_keys(rest)
    if len(target) > 1:
        raise ConfigError(f"{target[1]}: too many arguments; a corpus is one file or two")
    return (Path(target[0]) if target else None), keys
