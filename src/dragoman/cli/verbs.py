"""The verbs about runs: their arguments and help. Heavy imports happen inside them, so that `--help` is fast."""

from pathlib import Path
from typing import Annotated

import typer

from dragoman.cli.arguments import Config, Json, OptionalModel, Overrides, app, model_first
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
    text: Annotated[
        list[Path] | None,
        typer.Argument(help="A corpus to split into it: two files, or one .tsv or .jsonl.", metavar="SOURCE TARGET"),
    ] = None,
    pair: Annotated[
        str | None, typer.Option(help="Languages, source-target, e.g. ko-en (the default) or pt-BR:en.")
    ] = None,
    both: Annotated[
        bool, typer.Option("--both", help="One model for both directions of the pair; with --from, its text in both.")
    ] = False,
    base: Annotated[Path | None, typer.Option("--from", help="Model to fine-tune: defaults for little text.")] = None,
) -> None:
    """Write a commented configuration, NAME/run.toml."""
    from dragoman.cli.init import run_init

    run_init(Path(name), text or [], pair, base, both)


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
    """Report what this machine has and what is missing.

    Processor, memory, GPU, versions, models; for what is missing, the command that provides it.
    """
    from dragoman.cli.doctor import run_doctor

    run_doctor(as_json)


@app.command()
def train(
    config: Config,
    overrides: Overrides = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue exactly where the run stopped.")] = False,
    language_model: Annotated[
        bool, typer.Option("--language-model", help="Train a language model of the run's target text and pieces.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Train a model from text files.

    Checks the text, learns the tokenizer, trains, scores, writes the model. Ctrl-C saves; --resume continues.
    """
    from dragoman.cli.train import run_train

    run_train(config, overrides or [], resume, as_json, language_model)


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
