"""`dragoman train`: run a configuration, show its progress, print the next commands."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from dragoman.cli.console import print_json, program, say
from dragoman.cli.progress import Display
from dragoman.cli.reports import plain
from dragoman.config.file import read_config
from dragoman.workflows.train import TrainResult, train


def run_train(path: Path, overrides: Sequence[str], resume: bool, as_json: bool = False) -> None:
    """Train and report."""
    config, given = read_config(path, overrides)
    with Display(config.train) as display:
        result = train(config, resume, [display], given=given)
    if not result.scores:  # not the main process of several
        return
    if as_json:
        print_result("dragoman.train/1", result)
    say(f"\nThe model is in {result.model_path}. Next:")
    say(f'  {program()} translate -m {result.model_path} "…"\n  {program()} model show -m {result.model_path}')


def print_result(schema: str, result: TrainResult) -> None:
    """A finished run as one JSON object."""
    print_json(
        {
            "schema": schema,
            "model": str(result.model_path),
            "outcome": asdict(result.outcome),
            "scores": [plain(score) for score in result.scores],
            "copying": [plain(score) for score in result.copying],
        }
    )
