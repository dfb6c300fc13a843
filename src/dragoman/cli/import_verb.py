"""The verb `import`: its arguments and help. Heavy imports happen inside it."""

from pathlib import Path
from typing import Annotated

import typer

from dragoman.cli.arguments import Json, app
from dragoman.errors import ConfigError


@app.command("import")
def import_verb(
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
    from dragoman.cli.import_model import run_import

    if len(arguments) > 3:
        raise ConfigError(f"{arguments[3]}: too many arguments; give MODEL, or MODEL SOURCE REFERENCE")
    model, source, reference = [*arguments, None, None][:3]
    run_import(
        str(model),
        output,
        source,
        reference,
        pair=pair,
        license=license,
        kind=kind,
        quantization=quantization,
        weights=weights,
        trial=not no_trial,
        force=force,
        as_json=as_json,
    )
