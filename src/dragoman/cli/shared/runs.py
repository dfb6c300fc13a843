"""Runs of training: resumed with the keys that they were started with, and reported as JSON."""

import shlex
from collections.abc import Callable, Sequence
from pathlib import Path

from dragoman.cli.shared.console import print_json, program, say
from dragoman.cli.shared.reports import plain, shown
from dragoman.config import RunConfig
from dragoman.config.file import read_output, read_run_config
from dragoman.errors import ConfigError
from dragoman.training.resume.triggers import Triggers
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
    original = original_overrides(_folder_of(path, overrides, read)) if resume else ()
    if not original:
        return *read(path, overrides), overrides
    now = {override.partition("=")[0].strip() for override in overrides}
    unchanged = [override for override in original if override.partition("=")[0].strip() not in now | {"train.output"}]
    if unchanged:
        shortened = [item if len(item) <= LONGEST else f"{item[:LONGEST]}…" for item in unchanged]
        say(f"as at the start: {' '.join(map(shlex.quote, shortened))}")
    together = [*unchanged, *overrides]
    return *read(path, together), together


def _folder_of(path: Path, overrides: Sequence[str], read: Read) -> Path:
    """The folder of the run, even if the configuration is incomplete without the KEY=VALUE it was started with."""
    try:
        return output_of(read(path, overrides)[0])
    except ConfigError:
        return read_output(path, overrides)


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
        say(f"  and, if the text is right, longer: the same command with {_longer(result)}")
        return
    say(f"\n{what} is in {where}. Next:")
    for command in commands:
        say(f"  {program()} {command}")


def _longer(result: TrainResult) -> str:
    """What a command needs to train longer than a finished run, by what ended it.

    A linear decay has come to zero where steps or minutes end the run, so that it cannot be resumed from there.
    """
    train, outcome = read_run_config(result.model_path).train, result.outcome
    if outcome.reason != Triggers(train).end(outcome.step, outcome.seconds, bad_validations=0):
        return "--resume and train.patience=0"  # early stopping ended it, and would again
    end = "train.max_steps" if outcome.step >= train.total_steps else "train.max_minutes"
    again = "another train.output" if train.schedule == "linear" else "--resume"
    return f"{again} and a larger {end}"


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
