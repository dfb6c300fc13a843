"""`dragoman import`: read a model of another toolkit, show what was verified, print the next commands."""

from pathlib import Path
from typing import Annotated

import typer

from dragoman.cli.shared.arguments import Json, app
from dragoman.cli.shared.console import print_json, program, quoted, say
from dragoman.errors import ConfigError
from dragoman.system.processes import sigterm_interrupts


@app.command("import")
def import_model(
    arguments: Annotated[
        list[str],
        typer.Argument(
            help="Folder or file of the model, or hf:NAME[@REVISION]; then text to try it on.",
            metavar="MODEL SOURCE REFERENCE",
        ),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder of the new model.")],
    pair: Annotated[
        str | None, typer.Option(help="Languages, e.g. en-ko, where the files do not name them, or name many.")
    ] = None,
    license: Annotated[str | None, typer.Option(help="Licence of the model, where its files name none.")] = None,
    kind: Annotated[
        str | None, typer.Option("--as", help="marian, m2m, npz, ctranslate2 or argos; default: by the files.")
    ] = None,
    quantization: Annotated[
        str | None, typer.Option("--quantization", "-q", help="Export too: int8, int8_bfloat16 or float32.")
    ] = None,
    weights: Annotated[
        bool,
        typer.Option("--weights", help="CTranslate2, Argos: dequantise, so that it can be trained."),
    ] = False,
    no_trial: Annotated[bool, typer.Option("--no-trial", help="Do not try whether the model translates.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace a model that was imported before.")] = False,
    as_json: Json = False,
) -> None:
    """Turn a model of another toolkit into a model of Dragoman.

    OPUS-MT and other MarianMT folders, M2M-100 and NLLB, Marian's .npz, CTranslate2 folders, .argosmodel packages. The
    model is verified and tried before it is written: on SOURCE REFERENCE, or on the embedded text (English, Korean).
    """
    from dragoman.cli.shared.progress import Display
    from dragoman.workflows.importing.import_model import import_model as run
    from dragoman.workflows.models.origin import licence

    if len(arguments) > 3:
        raise ConfigError(f"{arguments[3]}: too many arguments; give MODEL, or MODEL SOURCE REFERENCE")
    with sigterm_interrupts(), Display() as display:
        result = run(
            arguments[0],
            output,
            *arguments[1:],
            pair=pair,
            license=license,
            kind=kind,
            quantization=quantization,
            weights=weights,
            trial=not no_trial,
            force=force,
            listeners=[display],
        )
    origin = result.origin
    if as_json:
        print_json(
            {
                "schema": "dragoman.import/1",
                "model": result.model_path,
                "origin": origin.facts(),
                "trial": result.trial and result.trial.facts(),
                "scores": [{"metric": score.name, "value": score.value} for score in result.scores],
                "copying": [{"metric": score.name, "value": score.value} for score in result.copying],
                "export": result.export and {"name": result.export.name, "verdict": result.export.verdict},
            }
        )
    say(f"The model is in {output}. Licence: {licence(origin.facts())}.")
    to = f" --to {result.targets[0]}" if len(result.targets) > 1 else ""
    say(f'Next:\n  {program()} translate -m {quoted(output)}{to} "…"\n  {program()} model show -m {quoted(output)}')
    if result.non_commercial:
        say(f"NOT FOR COMMERCIAL USE: the licence of {origin.name} is {origin.license}.", style="bold red")
