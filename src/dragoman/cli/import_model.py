"""`dragoman import`: read a model of another toolkit, show what was verified, print the next commands."""

from dataclasses import asdict
from pathlib import Path

from dragoman.cli.console import print_json, program, say
from dragoman.cli.progress import Display
from dragoman.system.processes import sigterm_interrupts
from dragoman.workflows.importing.import_model import ImportResult, import_model
from dragoman.workflows.models.origin import licence


def run_import(
    model: str,
    output: Path,
    source: str | None,
    reference: str | None,
    *,
    pair: str | None,
    license: str | None,
    kind: str | None,
    quantization: str | None,
    weights: bool,
    trial: bool,
    force: bool,
    as_json: bool,
) -> None:
    """Import and report."""
    with sigterm_interrupts(), Display() as display:
        result = import_model(
            model,
            output,
            source,
            reference,
            pair=pair,
            license=license,
            kind=kind,
            quantization=quantization,
            weights=weights,
            trial=trial,
            force=force,
            listeners=[display],
        )
    if as_json:
        print_json(
            {
                "schema": "dragoman.import/1",
                "model": str(result.model_path),
                "origin": result.origin.facts(),
                "trial": result.trial and result.trial.facts(),
                "scores": [{"metric": one.name, "value": one.value} for one in result.scores],
                "copying": [{"metric": one.name, "value": one.value} for one in result.copying],
                "export": result.export and {"name": result.export.name, "verdict": asdict(result.export.verdict)},
            }
        )
    _say_result(result, output)


def _say_result(result: ImportResult, output: Path) -> None:
    origin = result.origin
    say(f"The model is in {output}. Licence: {licence(origin.facts())}.")
    to = f" --to {result.targets[0]}" if len(result.targets) > 1 else ""
    say(f'Next:\n  {program()} translate -m {output}{to} "…"\n  {program()} model show -m {output}')
    if result.non_commercial:
        say(f"NOT FOR COMMERCIAL USE: the licence of {origin.name} is {origin.license}.", style="bold red")
