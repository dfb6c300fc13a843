"""`dragoman export`: convert a model to CTranslate2, show what was verified, print the next commands."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from dragoman.cli.console import print_json, program, say
from dragoman.cli.loading import changes
from dragoman.cli.progress import Display
from dragoman.workflows.models.export import export


def run_export(
    model: Path,
    text: Sequence[Path],
    keys: Sequence[str],
    quantization: str,
    output: Path | None,
    lines: int,
    force: bool,
    as_json: bool = False,
    base: Path | None = None,
    languages: str = "",
) -> None:
    """Export and report."""
    with Display() as display:
        result = export(
            model,
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
                "model": str(result.model_path),
                "export": result.name,
                "float32": asdict(result.float32),
                "verdict": asdict(result.verdict),
            }
        )
    say(
        f'The export is in {result.model_path / result.name}. Next:\n  {program()} translate -m {result.model_path} "…"'
    )
