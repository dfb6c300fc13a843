"""`dragoman compare`: train what is not trained, print a table, write a page."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from dragoman.cli.console import print_json, say
from dragoman.cli.progress import Display
from dragoman.cli.reports import plain, print_comparison
from dragoman.errors import Interrupted
from dragoman.system.files import refuse_unwritable_file
from dragoman.workflows.compare.budget import Equal
from dragoman.workflows.compare.compare import compare_runs
from dragoman.workflows.compare.result import ComparedRun, RunComparison
from dragoman.workflows.data.check_page import refuse_other_file

COLUMNS = ("system", "architecture", "M params", "updates", "minutes", "operations", "tokens/s", "BLEU", "chrF")


def run_compare(
    runs: Sequence[Path], equal: Equal | None, page: Path, tokenize: str | None, as_json: bool = False
) -> None:
    """Compare, print, write the page."""
    refuse_other_file(page)
    refuse_unwritable_file(page)
    try:
        with Display() as display:
            result = compare_runs(runs, equal=equal, page=page, tokenize=tokenize, listeners=[display])
    except Interrupted as stopped:
        raise Interrupted(str(stopped).replace("continue with --resume", "the same command continues")) from None
    if as_json:
        _print_json(result)
    else:
        _print_table(result)
    say(f"{page}: learning curves, long sentences, attention; a page to open in a browser")


def _print_table(result: RunComparison) -> None:
    rows = [COLUMNS, *map(_row, result.runs)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        first, *others = zip(row, widths, strict=True)
        cells = [first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in others)]
        print("  ".join(cells).rstrip())
    print()
    print_comparison(result.tests)


def _row(one: ComparedRun) -> tuple[str, ...]:
    return (
        one.name,
        one.architecture,
        f"{one.parameters / 1e6:.2f}",
        f"{one.cost.steps:,}",
        f"{one.cost.seconds / 60:.1f}",
        f"{one.cost.flops:.2e}",
        f"{one.cost.tokens_per_second:,.0f}",
        f"{one.scores[0].value:.1f}",
        f"{one.scores[1].value:.1f}",
    )


def _print_json(result: RunComparison) -> None:
    print_json(
        {
            "schema": "dragoman.compare/1",
            "equal": result.equal,
            "lines": len(result.test_set.sources),
            "runs": [_as_json(one) for one in result.runs],
            "tests": asdict(result.tests),
        }
    )


def _as_json(one: ComparedRun) -> dict[str, object]:
    return {
        "name": one.name,
        "folder": str(one.folder),
        "architecture": one.architecture,
        "parameters": one.parameters,
        "cost": asdict(one.cost),
        "target_tokens_per_second": one.target_tokens_per_second,
        "lines_per_second": one.lines_per_second,
        "scores": [plain(score) for score in one.scores],
        "by_length": [asdict(part) for part in one.by_length],
        "chains": [asdict(chain) for chain in one.chains],
    }
