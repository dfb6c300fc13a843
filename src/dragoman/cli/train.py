"""`dragoman train`: run a configuration, show its progress, print the next commands."""

import shlex
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from dragoman.cli.console import print_json, program, say
from dragoman.cli.progress import Display
from dragoman.cli.reports import plain, shown
from dragoman.config import RunConfig
from dragoman.config.file import read_config
from dragoman.errors import Interrupted
from dragoman.workflows.run_folder import original_overrides, output_of
from dragoman.workflows.train import TrainResult, train

OUTPUT = "train.output="


def run_train(path: Path, overrides: Sequence[str], resume: bool, as_json: bool = False) -> None:
    """Train and report."""
    config, given, overrides = read_resumable(path, overrides, resume)
    command = resume_command("train", [str(path)], overrides)
    hints = [f"writes {shown(str(output_of(config)))}; Ctrl-C saves and stops, this continues:", f"  {command}"]
    with Display(hints) as display:
        try:
            result = train(config, resume, [display], given=given, overrides=overrides)
        except Interrupted as stopped:
            raise Interrupted(str(stopped).replace("with --resume", f"with: {command}")) from None
    if not result.scores:  # not the main process of several
        return
    if as_json:
        print_result("dragoman.train/1", result)
    say(f"\nThe model is in {result.model_path}. Next:")
    say(f'  {program()} translate -m {result.model_path} "…"\n  {program()} model show -m {result.model_path}')


def read_resumable(
    path: Path, overrides: Sequence[str], resume: bool
) -> tuple[RunConfig, frozenset[str], Sequence[str]]:
    """The configuration, the keys that were given and all KEY=VALUE: on resume those that the run was started with too.

    Those given now come later and replace them. Raises ConfigError.
    """
    config, given = read_config(path, overrides)
    original = original_overrides(output_of(config)) if resume else ()
    if not original:
        return config, given, overrides
    now = {one.partition("=")[0].strip() for one in overrides}
    kept = [one for one in original if one.partition("=")[0].strip() not in now | {"train.output"}]
    if kept:
        say(f"as at the start: {' '.join(map(shlex.quote, kept))}")
    every = [*kept, *overrides]
    return *read_config(path, every), every


def resume_command(verb: str, arguments: Sequence[str], overrides: Sequence[str]) -> str:
    """The command that resumes a run; the run keeps its other keys."""
    where = [one for one in overrides if one.startswith(OUTPUT)]
    return f"{program()} {verb} {shlex.join([*arguments, *where])} --resume"


def print_result(schema: str, result: TrainResult) -> None:
    """A finished run as one JSON object."""
    print_json(
        {
            "schema": schema,
            "model": str(result.model_path),
            "outcome": asdict(result.outcome),
            "scores": [plain(score) for score in result.scores],
            "copying": [plain(score) for score in result.copying],
            "fine_tuning": result.fine_tuning and asdict(result.fine_tuning),
            "estimate": result.estimate and result.estimate.summary(),
        }
    )
