"""`dragoman compare`: its arguments and help. Heavy imports happen inside it."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from dragoman.cli.arguments import Json, app


class Equal(StrEnum):
    """What the systems have in common."""

    flops = "flops"
    minutes = "minutes"
    updates = "updates"
    parameters = "parameters"


@app.command()
def compare(
    runs: Annotated[
        list[Path],
        typer.Argument(help="Configurations, or folders of finished runs; the first is the baseline.", metavar="RUN"),
    ],
    equal: Annotated[
        Equal | None, typer.Option(help="Give the others the budget of the first: what they have in common.")
    ] = None,
    page: Annotated[Path, typer.Option("--output", "-o", help="The page that it writes.")] = Path("compare.html"),
    tokenize: Annotated[str | None, typer.Option(help="Tokeniser of sacreBLEU for BLEU.")] = None,
    as_json: Json = False,
) -> None:
    """Compare systems on one test set: quality, cost, speed.

    Configurations are trained first, interrupted ones resumed. A table here, and a page with curves and attention.
    """
    from dragoman.cli.compare import run_compare

    run_compare(runs, equal.value if equal else None, page, tokenize, as_json)
