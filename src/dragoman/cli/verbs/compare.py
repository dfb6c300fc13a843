"""`dragoman compare`: train what is not trained, print a table, write a page."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from dragoman.cli.shared.arguments import Json, app, split_keys
from dragoman.cli.shared.console import print_json, print_table, say
from dragoman.errors import Interrupted

if TYPE_CHECKING:
    from dragoman.workflows.compare.result import ComparedRun, RunComparison

COLUMNS = ("system", "architecture", "M params", "updates", "minutes", "operations", "tokens/s", "BLEU", "chrF")


@app.command()
def compare(
    runs: Annotated[
        list[str],
        typer.Argument(
            help="Configurations, or folders of finished runs; the first is the baseline. Keys are for all of them.",
            metavar="RUN|KEY=VALUE",
        ),
    ],
    equal: Annotated[
        Literal["flops", "minutes", "updates", "parameters"] | None,
        typer.Option(help="Give the others the budget of the first: what they have in common."),
    ] = None,
    page: Annotated[Path, typer.Option("--output", "-o", help="The page that it writes.")] = Path("compare.html"),
    tokenize: Annotated[str | None, typer.Option(help="Tokeniser of sacreBLEU for BLEU.")] = None,
    as_json: Json = False,
) -> None:
    """Compare systems on one test set: quality, cost, speed.

    Configurations are trained first, interrupted ones resumed. A table here, and a page with curves and attention.
    """
    from dragoman.cli.shared.progress import Display
    from dragoman.system.files import refuse_unwritable_file
    from dragoman.system.pages import refuse_other_file
    from dragoman.workflows.compare.compare import compare_runs

    paths, overrides = split_keys(runs)
    refuse_other_file(page)
    refuse_unwritable_file(page)
    try:
        with Display() as display:
            result = compare_runs(
                paths, overrides=overrides, equal=equal, page=page, tokenize=tokenize, listeners=[display]
            )
    except Interrupted as stopped:
        raise Interrupted(str(stopped).replace("continue with --resume", "the same command continues")) from None
    if as_json:
        print_json(
            {
                "schema": "dragoman.compare/1",
                "equal": result.equal,
                "lines": len(result.test_set.sources),
                "runs": [_facts(run) for run in result.runs],
                "tests": result.tests,
            }
        )
    else:
        _print_table(result)
    say(f"{page}: learning curves, long sentences, attention; a page to open in a browser")


def _print_table(result: "RunComparison") -> None:
    from dragoman.cli.shared.reports import print_comparison

    print_table([COLUMNS, *map(_row, result.runs)], numbers=True)
    print()
    print_comparison(result.tests)


def _row(run: "ComparedRun") -> tuple[str, ...]:
    return (
        run.name,
        run.architecture,
        f"{run.parameters / 1e6:.2f}",
        f"{run.cost.steps:,}",
        f"{run.cost.seconds / 60:.1f}",
        f"{run.cost.flops:.2e}",
        f"{run.cost.tokens_per_second:,.0f}",
        f"{run.scores[0].value:.1f}",
        f"{run.scores[1].value:.1f}",
    )


def _facts(run: "ComparedRun") -> dict[str, object]:
    from dragoman.cli.shared.reports import plain

    return {
        "name": run.name,
        "folder": run.folder,
        "architecture": run.architecture,
        "parameters": run.parameters,
        "cost": run.cost,
        "target_tokens_per_second": run.target_tokens_per_second,
        "lines_per_second": run.lines_per_second,
        "scores": [plain(score) for score in run.scores],
        "by_length": run.by_length,
        "chains": run.chains,
    }
