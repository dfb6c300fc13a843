"""Runs of training: resumed with the keys that they were started with, and reported as JSON."""

import shlex
from collections.abc import Callable, Sequence
from pathlib import Path

from dragoman.cli.shared.console import print_json, program, say
from dragoman.cli.shared.reports import plain, shown
from dragoman.config import RunConfig
from dragoman.workflows.train.run_folder import original_overrides, output_of
from dragoman.workflows.train.train import TrainResult

OUTPUT = "train.output="
LONGEST = 100  # characters of a KEY=VALUE that is shown: a list of corpora may have thousands
Read = Callable[[Path, Sequence[str]], tuple[RunConfig, frozenset[str]]]
"""Reads a configuration with KEY=VALUE: it, and the keys that were given."""


def read_resumable(
    path: Path, overrides: Sequence[str], resume: bool, read: Read
) -> tuple[RunConfig, frozenset[str], Sequence[str]]:
    """The configuration, the keys that were given and all KEY=VALUE: on resume those that the run was started with too.

    Those given now come later and replace them. Raises ConfigError.
    """
    config, keys = read(path, overrides)
    original = original_overrides(output_of(config)) if resume else ()
    if not original:
        return config, keys, overrides
    now = {override.partition("=")[0].strip() for override in overrides}
    unchanged = [override for override in original if override.partition("=")[0].strip() not in now | {"train.output"}]
    if unchanged:
        shortened = [item if len(item) <= LONGEST else f"{item[:LONGEST]}…" for item in unchanged]
        say(f"as at the start: {' '.join(map(shlex.quote, shortened))}")
    together = [*unchanged, *overrides]
    return *read(path, together), together


def resume_command(verb: str, arguments: Sequence[str], overrides: Sequence[str]) -> str:
    """The command that resumes a run; the run keeps its other keys."""
    where = [override for override in overrides if override.startswith(OUTPUT)]
    return f"{program()} {verb} {shlex.join([*arguments, *where])} --resume"


def say_next(result: TrainResult, what: str, config: Path, commands: Sequence[str]) -> None:
    """Where the finished run's model is and the commands that follow: `commands` if it is of use, others if not."""
    where = shown(str(result.model_path))
    if result.doubts:
        say(f"\n{what} is in {where}, but it is of no use yet, see above. Next:")
        say(f"  {program()} data check {shlex.quote(str(config))}")
        say("  and, if the text is right, longer: the same command with --resume and a larger train.max_steps")
        return
    say(f"\n{what} is in {where}. Next:")
    for command in commands:
        say(f"  {program()} {command}")


def print_result(schema: str, result: TrainResult) -> None:
    """A finished run as one JSON object."""
    print_json(
        {
            "schema": schema,
            "model": result.model_path,
            "outcome": result.outcome,
            "scores": [plain(score) for score in result.scores],
            "copying": [plain(score) for score in result.copying],
            "fine_tuning": result.fine_tuning,
            "doubts": result.doubts,
            "estimate": result.estimate and result.estimate.summary(),
        }
    )
