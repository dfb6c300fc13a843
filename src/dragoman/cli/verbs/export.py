"""`dragoman export`: convert a model to CTranslate2, show what was verified, print the next commands."""

from pathlib import Path
from typing import Annotated

import typer

from dragoman.cli.shared.arguments import Base, Json, OptionalModel, app, model_first, search_keys
from dragoman.cli.shared.console import print_json, program, say
from dragoman.errors import ConfigError


@app.command()
def export(
    arguments: Annotated[
        list[str] | None,
        typer.Argument(
            help="Text to verify the export with; default: the validation text of the model's run.",
            metavar="SOURCE REFERENCE KEY=VALUE",
        ),
    ] = None,
    model: OptionalModel = None,
    to: Annotated[str, typer.Option(help="The format: ctranslate2.")] = "ctranslate2",
    quantization: Annotated[str, typer.Option("--quantization", "-q", help="int8, int8_bfloat16 or float32.")] = "int8",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="A new model folder, without the training weights.")
    ] = None,
    lines: Annotated[int, typer.Option(min=1, help="Maximum number of sentences to verify with.")] = 1000,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing export.")] = False,
    base: Base = None,
    languages: Annotated[
        str, typer.Option(help="Languages of SOURCE REFERENCE, in a model of several pairs, e.g. ko-en.")
    ] = "",
    as_json: Json = False,
) -> None:
    """Export a model to CTranslate2, which needs no torch.

    An export translates faster. It is verified before it is written: float32 against the model's own log P and
    translations, int8 by BLEU.
    """
    from dragoman.cli.shared.loading import changes
    from dragoman.cli.shared.progress import Display
    from dragoman.workflows.models.export import export as run

    if to != "ctranslate2":
        raise ConfigError(f"--to {to}: choose one of: ctranslate2")
    folder, rest = model_first(model, arguments)
    text, keys = search_keys(rest, 2, "SOURCE REFERENCE")
    with Display() as display:
        result = run(
            folder,
            *text,
            quantization=quantization,
            output=output,
            options=changes(keys),
            lines=lines,
            force=force,
            base=base,
            languages=languages,
            listeners=[display],
        )
    if as_json:
        print_json(
            {
                "schema": "dragoman.export/1",
                "model": result.model_path,
                "export": result.name,
                "float32": result.float32,
                "verdict": result.verdict,
            }
        )
    say(
        f'The export is in {result.model_path / result.name}. Next:\n  {program()} translate -m {result.model_path} "…"'
    )
