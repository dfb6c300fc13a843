"""`dragoman export`: convert a model to CTranslate2, or write it into one HTML file; print the next commands."""

from pathlib import Path
from typing import Annotated

import typer

from dragoman.cli.shared.arguments import MODEL_HELP, Base, Json, app, model_first, search_keys
from dragoman.cli.shared.console import print_json, program, quoted, say
from dragoman.errors import ConfigError
from dragoman.system.processes import sigterm_interrupts

LINES = 1000


@app.command()
def export(
    arguments: Annotated[
        list[str] | None,
        typer.Argument(
            help="Text to verify the export with; default: the validation text of the model's run.",
            metavar="SOURCE REFERENCE KEY=VALUE",
        ),
    ] = None,
    model: Annotated[
        list[Path] | None, typer.Option("--model", "-m", help=f"{MODEL_HELP} For html also several, one a direction.")
    ] = None,
    to: Annotated[str, typer.Option(help="The format: ctranslate2 or html.")] = "ctranslate2",
    quantization: Annotated[
        str | None,
        typer.Option(
            "--quantization",
            "-q",
            help="ctranslate2: int8, which is the default, int8_bfloat16 or float32. html: int8, or float16, which is "
            "the default of a small model.",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="A new model folder, without the training weights; of html the file.",
        ),
    ] = None,
    lines: Annotated[int, typer.Option(min=1, help="Maximum number of sentences to verify with.")] = LINES,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing export.")] = False,
    base: Base = None,
    languages: Annotated[
        str, typer.Option(help="Languages of SOURCE REFERENCE, in a model of several pairs, e.g. ko-en.")
    ] = "",
    as_json: Json = False,
) -> None:
    """Export a model to CTranslate2, or to one HTML file.

    An export to CTranslate2 needs no torch and translates faster. It is verified before it is written: float32 against
    the model's own log P and translations, int8 by BLEU. A page (`--to html`) has the model inside and opens in any
    browser, without a network and without an installation.
    """
    from dragoman.cli.shared.loading import changes
    from dragoman.cli.shared.progress import Display
    from dragoman.workflows.models.export import export as run

    if to == "html":
        if languages or lines != LINES:
            name = "--languages" if languages else "--lines"
            raise ConfigError(f"{name}: has no effect with --to html, whose page is not verified on text; leave it out")
        _page(model, arguments, quantization, output, force, base, as_json)
        return
    if to != "ctranslate2":
        raise ConfigError(f"--to {to}: choose one of: ctranslate2, html")
    if len(model or ()) > 1:
        raise ConfigError("--model: several models are for --to html; export one after the other")
    folder, rest = model_first(model[0] if model else None, arguments)
    text, keys = search_keys(rest, 2, "SOURCE REFERENCE")
    with sigterm_interrupts(), Display() as display:
        result = run(
            folder,
            *text,
            quantization=quantization or "int8",
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
    say(f"The export is in {result.model_path / result.name}. Next:")
    say(f'  {program()} translate -m {quoted(result.model_path)} "…"')


def _page(
    models: list[Path] | None,
    arguments: list[str] | None,
    quantization: str | None,
    output: Path | None,
    force: bool,
    base: Path | None,
    as_json: bool,
) -> None:
    from dragoman.cli.shared.progress import Display
    from dragoman.workflows.models.html import export_page

    if output is None:
        raise ConfigError("--output: name the file, as in `dragoman export --to html -m en-ko -o translator.html`")
    named = models or [Path(argument) for argument in arguments or ()]
    if not named or (models and arguments):
        raise ConfigError("--to html: give models, each with -m, and nothing else; no text is verified with")
    with sigterm_interrupts(), Display() as display:
        page = export_page(named, output, numbers=quantization, force=force, base=base, listeners=[display])
    if as_json:
        print_json({"schema": "dragoman.page/1", "path": page.path, "bytes": page.bytes, "pairs": page.pairs})
    say(f"{page.path} translates {', '.join(page.pairs)} in any browser, offline ({page.bytes / 1e6:.1f} MB).")
