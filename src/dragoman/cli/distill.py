"""`dragoman distill`: train a student on a teacher's translations, show the progress, print the next commands."""

from collections.abc import Sequence
from pathlib import Path

from dragoman.cli.console import program, say
from dragoman.cli.progress import Display
from dragoman.cli.train import print_result, read_resumable
from dragoman.workflows.train.distil import distill


def run_distill(
    teacher: Path, path: Path, overrides: Sequence[str], keep_original: bool, resume: bool, as_json: bool = False
) -> None:
    """Translate, train and report."""
    config, given, overrides = read_resumable(path, overrides, resume)
    with Display() as display:
        result = distill(
            teacher,
            config,
            keep_original=keep_original,
            resume=resume,
            listeners=[display],
            user_keys=given,
            where=str(path),
            overrides=overrides,
        )
    if as_json:
        print_result("dragoman.distill/1", result)
    say(f"\nThe student is in {result.model_path}. Next:")
    say(f'  {program()} translate -m {result.model_path} "…"\n  {program()} evaluate -m {result.model_path} …')
