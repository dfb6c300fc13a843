"""`dragoman train`: run a configuration, show its progress, print the next commands."""

import shlex
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

from dragoman.cli.console import print_json, program, say
from dragoman.cli.progress import Display
from dragoman.cli.reports import plain, shown
from dragoman.config import LanguageModelConfig, RunConfig
from dragoman.config.file import read_config
from dragoman.errors import Interrupted
from dragoman.workflows.train.language_model import read_language_model, shared_tokenizer
from dragoman.workflows.train.run_folder import original_overrides, output_of
from dragoman.workflows.train.train import TrainResult, train

OUTPUT = "train.output="


Read = Callable[[Path, Sequence[str]], tuple[RunConfig, frozenset[str]]]


def run_train(
    path: Path, overrides: Sequence[str], resume: bool, as_json: bool = False, language_model: bool = False
) -> None:
    """Train and report."""
    config, given, overrides = read_resumable(
        path, overrides, resume, read_language_model if language_model else read_config
    )
    command = resume_command("train", [*(["--language-model"] if language_model else []), str(path)], overrides)
    tokenizer = None
    if isinstance(config.model, LanguageModelConfig) and language_model and not resume:
        tokenizer = shared_tokenizer(path, config.model.language)
    hints = [f"writes {shown(str(output_of(config)))}; Ctrl-C saves and stops, this continues:", f"  {command}"]
    with Display(hints) as display:
        try:
            result = train(config, resume, [display], user_keys=given, tokenizer=tokenizer, overrides=overrides)
        except Interrupted as stopped:
            raise Interrupted(str(stopped).replace("with --resume", f"with: {command}")) from None
    if not result.scores:  # not the main process of several
        return
    if as_json:
        print_result("dragoman.train/1", result)
    say(f"\nThe model is in {result.model_path}. Next:")
    if language_model:
        say(f"  {program()} model perplexity -m {result.model_path} FILE")
        say(f"  {program()} translate -m MODEL -O language_model={result.model_path} -O language_model_weight=0.2")
        return
    say(f'  {program()} translate -m {result.model_path} "…"\n  {program()} model show -m {result.model_path}')


def read_resumable(
    path: Path, overrides: Sequence[str], resume: bool, read: Read = read_config
) -> tuple[RunConfig, frozenset[str], Sequence[str]]:
    """The configuration, the keys that were given and all KEY=VALUE: on resume those that the run was started with too.

    Those given now come later and replace them. Raises ConfigError.
    """
    config, given = read(path, overrides)
    original = original_overrides(output_of(config)) if resume else ()
    if not original:
        return config, given, overrides
    now = {one.partition("=")[0].strip() for one in overrides}
    kept = [one for one in original if one.partition("=")[0].strip() not in now | {"train.output"}]
    if kept:
        say(f"as at the start: {' '.join(map(shlex.quote, kept))}")
    every = [*kept, *overrides]
    return *read(path, every), every


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
