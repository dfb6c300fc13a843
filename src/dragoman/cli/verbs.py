"""The verbs about runs: their arguments and help. Heavy imports happen inside them, so that `--help` is fast."""

from pathlib import Path
from typing import Annotated

import typer

from dragoman.cli.arguments import (
    Config,
    Json,
    OptionalModel,
    Overrides,
    app,
    data_app,
    model_first,
    split_keys,
)
from dragoman.errors import ConfigError


@app.command()
def demo(
    folder: Annotated[Path, typer.Option("--output", "-o", help="Folder that the demo writes.")] = Path(
        "dragoman-demo"
    ),
    minutes: Annotated[float, typer.Option(min=0.05, help="Minutes of training.")] = 4.0,
) -> None:
    """Train and use a small model on the embedded text.

    English → Korean in about five minutes, without a network: check, learn the tokenizer, train, score, translate.
    """
    from dragoman.cli.demo import run_demo

    run_demo(folder, minutes)


@app.command()
def init(
    name: Annotated[str, typer.Argument(help="Name of the project; its folder is created here.")],
    pair: Annotated[str, typer.Option(help="Languages, source-target, e.g. ko-en or pt-BR:en.")] = "ko-en",
) -> None:
    """Write a commented configuration, NAME/run.toml."""
    from dragoman.cli.init import write_project

    write_project(Path(name), pair)


@app.command()
def config(
    key: Annotated[str | None, typer.Argument(help="A key or a section, e.g. train.warmup or decode.")] = None,
    as_json: Json = False,
) -> None:
    """Explain the keys of the configuration."""
    from dragoman.cli.config import explain

    explain(key, as_json)


@app.command()
def doctor(as_json: Json = False) -> None:
    """Report what this machine has, what is missing, and the command that provides it."""
    from dragoman.cli.doctor import run_doctor

    run_doctor(as_json)


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
    """Count the faults in the text of a run, all of them, each with its first location."""
    from dragoman.cli.data import check

    check(config, overrides or [], as_json, html, estimate)


@data_app.command("split")
def data_split(
    config: Config,
    source: Annotated[Path, typer.Argument(help="Source sentences (or one .tsv or .jsonl file of both sides).")],
    rest: Annotated[
        list[str] | None,
        typer.Argument(help="Their translations, line by line; then configuration keys.", metavar="TARGET KEY=VALUE"),
    ] = None,
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

    target, keys = split_keys(rest)
    if len(target) > 1:
        raise ConfigError(f"{target[1]}: too many arguments; a corpus is one file or two")
    second = Path(target[0]) if target else None
    split(config, source, second, keys, as_json, held_out=held_out, seed=seed, near=near, drop=drop)


@app.command()
def train(
    config: Config,
    overrides: Overrides = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue exactly where the run stopped.")] = False,
    as_json: Json = False,
) -> None:
    """Train a model from text files.

    Checks the text, learns the tokenizer, trains, scores, writes the model. Ctrl-C saves; --resume continues.
    """
    from dragoman.cli.train import run_train

    run_train(config, overrides or [], resume, as_json)


@app.command()
def distill(
    arguments: Annotated[
        list[str],
        typer.Argument(help="Configuration of the student's run, then keys.", metavar="CONFIG KEY=VALUE"),
    ],
    teacher: OptionalModel = None,
    preset: Annotated[str | None, typer.Option(help="Shape of the student, the same as model.preset=.")] = None,
    keep_original: Annotated[
        bool, typer.Option("--keep-original", help="Train on the human reference translations too.")
    ] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Continue where the work stopped.")] = False,
    as_json: Json = False,
) -> None:
    """Train a small model on the translations of a large one.

    The teacher, -m, translates the training text; the student learns from that and is tested on the human references.
    """
    from dragoman.cli.distill import run_distill

    model, rest = model_first(teacher, arguments)
    if not rest:
        raise ConfigError("distill: needs a teacher and a configuration; give -m TEACHER CONFIG")
    keys = [*rest[1:], *([f"model.preset={preset}"] if preset else [])]
    run_distill(model, Path(rest[0]), keys, keep_original, resume, as_json)
