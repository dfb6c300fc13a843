"""`dragoman model …`: the verbs that show and change a model folder. Heavy imports happen inside them."""

from pathlib import Path
from typing import Annotated

import typer

from dragoman.cli.arguments import GLOSSARY_HELP, Base, Device, Json, OptionalModel, model_app, model_first
from dragoman.errors import ConfigError


@model_app.command("glossary")
def model_glossary(
    arguments: Annotated[list[str], typer.Argument(help=GLOSSARY_HELP, metavar="GLOSSARY")],
    model: OptionalModel = None,
) -> None:
    """Attach a glossary to a model.

    It applies to every line that the model translates; an empty file removes it.
    """
    from dragoman.cli.model import attach_glossary

    folder, rest = model_first(model, arguments)
    if len(rest) != 1:
        raise ConfigError("model glossary: give -m MODEL and one glossary")
    attach_glossary(folder, Path(rest[0]))


@model_app.command("show")
def model_show(
    arguments: Annotated[list[str] | None, typer.Argument(help="The model, without -m.", metavar="MODEL")] = None,
    model: OptionalModel = None,
    base: Base = None,
    as_json: Json = False,
) -> None:
    """Verify a model and describe it."""
    from dragoman.cli.model import show

    folder, rest = model_first(model, arguments)
    if rest:
        raise ConfigError(f"{rest[0]}: too many arguments; give one model")
    show(folder, as_json, base)


@model_app.command("perplexity")
def model_perplexity(
    arguments: Annotated[
        list[str] | None, typer.Argument(help="Files of lines; without any, stdin.", metavar="FILE")
    ] = None,
    model: OptionalModel = None,
    device: Device = "auto",
    as_json: Json = False,
) -> None:
    """Print the perplexity of each line to a language model.

    Per piece, one number a line: to find unlikely text, or text like that of the model.
    """
    from dragoman.cli.perplexity import run_perplexity

    folder, rest = model_first(model, arguments)
    run_perplexity(folder, [Path(each) for each in rest], device, as_json)


@model_app.command("merge")
def model_merge(
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder of the whole model.")],
    arguments: Annotated[list[str] | None, typer.Argument(help="The adapter, without -m.", metavar="ADAPTER")] = None,
    model: OptionalModel = None,
    base: Base = None,
) -> None:
    """Merge an adapter and its base model into a whole model."""
    from dragoman.cli.model import merge

    adapter, rest = model_first(model, arguments)
    if rest:
        raise ConfigError(f"{rest[0]}: too many arguments; give one adapter")
    merge(adapter, output, base)


@model_app.command("shortlist")
def model_shortlist(
    arguments: Annotated[
        list[str],
        typer.Argument(
            help="Source sentences and their translations, line by line (or one .tsv or .jsonl file).",
            metavar="SOURCE TARGET",
        ),
    ],
    model: OptionalModel = None,
    per_piece: Annotated[int, typer.Option(min=1, help="Maximum number of candidates that a source piece adds.")] = 50,
    frequent: Annotated[int, typer.Option(min=0, help="Most frequent pieces, allowed for every source.")] = 1000,
    pairs: Annotated[
        int, typer.Option(min=2, help="Maximum number of pairs to learn from, drawn at random.")
    ] = 100_000,
    device: Device = "auto",
    as_json: Json = False,
) -> None:
    """Learn a shortlist, for faster translation.

    It lists the target pieces that a source may need. It is learned from pairs that the model was trained on, and
    written into the model as shortlist.txt.
    """
    from dragoman.cli.shortlist import run_shortlist

    folder, rest = model_first(model, arguments)
    if not 1 <= len(rest) <= 2:
        raise ConfigError("model shortlist: give -m MODEL and the text: SOURCE TARGET, or one .tsv or .jsonl file")
    target = Path(rest[1]) if len(rest) > 1 else None
    run_shortlist(
        folder,
        Path(rest[0]),
        target,
        per_piece=per_piece,
        frequent=frequent,
        pairs=pairs,
        device=device,
        as_json=as_json,
    )


@model_app.command("confidence")
def model_confidence(
    arguments: Annotated[
        list[str],
        typer.Argument(
            help="Validation text: source sentences and their reference translations (or one .tsv or .jsonl file).",
            metavar="SOURCE REFERENCE",
        ),
    ],
    model: OptionalModel = None,
    accept: Annotated[float, typer.Option(help="Sentence-level chrF of a translation that counts as accepted.")] = 50.0,
    samples: Annotated[
        int, typer.Option(min=0, help="Random translations of each line, whose agreement is learned from too.")
    ] = 8,
    lines: Annotated[int, typer.Option(min=1, help="Maximum number of lines to learn from.")] = 2000,
    as_json: Json = False,
) -> None:
    """Learn how probable it is that a person accepts a translation.

    Needs text that the model was not trained on; writes confidence.json into the model, and a section into its card.
    """
    from dragoman.cli.quality import run_confidence

    folder, rest = model_first(model, arguments)
    if not 1 <= len(rest) <= 2:
        raise ConfigError("model confidence: give -m MODEL and the text: SOURCE REFERENCE, or one .tsv or .jsonl file")
    reference = Path(rest[1]) if len(rest) > 1 else None
    run_confidence(folder, Path(rest[0]), reference, accept=accept, samples=samples, lines=lines, as_json=as_json)
