"""The folder of a run: what the run was started with, and the checks before it is resumed.

config.toml     the configuration, with every default
data.json       the hashes of its text and of its tokenizer, and the keys given on its command line
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from dragoman.config import CorpusConfig, RunConfig
from dragoman.config.file import differences, dump_config, portable, read_run_config
from dragoman.config.sizes import is_chosen, with_choices_of
from dragoman.data.corpus.report import CorpusReport
from dragoman.errors import ConfigError, DragomanError, ResumeError
from dragoman.system.files import locked, storage_error, write_text_atomically
from dragoman.system.parsing import parse_json
from dragoman.text.tokens.tokenizer import Tokenizer
from dragoman.training.resume.checkpoint import checkpoint_steps, read_progress, resumable_steps
from dragoman.workflows.models.origin import KEY, origin_of
from dragoman.workflows.train.restoring import ENDS, MAY_CHANGE, fault_in_copies, saved_run_files

DATA_NOTE = "data.json"
SCORED_ONLY = ("test", "general_test")
INCOMPARABLE = "the run cannot be compared with how it started; start a new one"


def output_of(config: RunConfig) -> Path:
    """The folder of the run."""
    assert config.train.output is not None  # load_config fills it
    return config.train.output


@contextmanager
def lock_run(folder: Path) -> Iterator[None]:
    """Keep other processes from training in the same folder. Raises ConfigError if one does already.

    The operating system releases the lock when the process ends, however it ends.
    """
    with ExitStack() as stack:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            stack.enter_context(locked(folder / ".lock", wait=False))
        except BlockingIOError:
            raise ConfigError(
                f"{folder}: another process trains here; wait for it, or choose another train.output"
            ) from None
        except OSError as error:
            raise storage_error(folder, error) from None
        yield


def check_unused(folder: Path) -> None:
    """Raise ConfigError if another process trains in `folder` now."""
    if (folder / ".lock").exists():  # left by a process that was killed, it is free
        with lock_run(folder):
            pass


def check_resumable(folder: Path, config: RunConfig, resume: bool) -> None:
    """Check that a run may start or resume in `folder`.

    Raises ConfigError if the folder holds a run that is not to be resumed, ResumeError if it holds none or one
    with another configuration.
    """
    if folder.exists() and not folder.is_dir():
        raise ConfigError(f"{folder}: is a file; choose another train.output, the folder of the run")
    steps = checkpoint_steps(folder / "checkpoints")
    if steps and not resume:
        raise ConfigError(
            f"{folder}: holds a run at step {steps[-1]:,}; continue it with --resume, or choose another train.output"
        )
    if not resume:
        return
    old = original_config(folder)
    free = MAY_CHANGE + (() if config.train.schedule == "linear" else ENDS)
    changed = [key for key in differences(portable(old), portable(config)) if not key.startswith(free)]
    if changed:
        if fault := fault_in_copies(folder):
            raise ResumeError(
                f"{folder / 'config.toml'}: {changed[0]} differs, and {fault}; restore one of the two files"
            )
        raise ResumeError(
            f"{folder}: the run started with {changed[0]} = {_value(old, changed[0])}, "
            f"now it is {_value(config, changed[0])}; set it back, or start a new run with another train.output"
        )


def original_config(folder: Path) -> RunConfig:
    """The configuration that the run in `folder` started with. Raises ResumeError if there is nothing to resume."""
    if not resumable_steps(folder / "checkpoints"):
        if checkpoint_steps(folder / "checkpoints"):
            raise ResumeError(f"{folder}: no checkpoint is complete; start a new run with another train.output")
        raise ResumeError(f"{folder}: holds no checkpoint to resume; start without --resume")
    try:
        return read_run_config(saved_run_files(folder) or folder)
    except ConfigError as error:
        raise ResumeError(f"{error}; {INCOMPARABLE}") from None


def _value(config: RunConfig, key: str) -> str:
    value: object = config
    for part in key.split("."):
        value = getattr(value, part)
    corpora = value if isinstance(value, tuple) else (value,)
    if all(isinstance(corpus, CorpusConfig) for corpus in corpora):
        return ", ".join(f"{' + '.join(path.name for path in c.files)} (weight {c.weight:g})" for c in corpora)
    return "not set" if value is None else str(value)


def with_original_choices(folder: Path, config: RunConfig) -> RunConfig:
    """`config` with the numbers that the run in `folder` chose for `auto` when it started. Raises ResumeError."""
    return config if is_chosen(config) else with_choices_of(config, original_config(folder))


def original_overrides(folder: Path) -> tuple[str, ...]:
    """The KEY=VALUE that the run in `folder` was started with, for a command that resumes it.

    An end that the run has reached is left out: the run resumes to train longer. Empty where there is no such run.
    """
    try:
        files = saved_run_files(folder) or folder
        overrides = [str(one) for one in parse_json((files / DATA_NOTE).read_bytes())["overrides"]]
        progress = read_progress(folder / "checkpoints", resumable_steps(folder / "checkpoints")[-1])
        config = read_run_config(files)
    except (OSError, ValueError, KeyError, TypeError, IndexError, DragomanError):
        return ()  # what is wrong is reported when the run is resumed
    train = config.train
    reached = {
        "train.max_steps": train.max_steps != "auto" and progress.step >= train.max_steps,
        "train.max_minutes": train.max_minutes is not None and progress.seconds >= 60 * train.max_minutes,
    }
    is_free = train.schedule != "linear"
    return tuple(one for one in overrides if not (is_free and reached.get(one.partition("=")[0].strip())))


def record_inputs(
    folder: Path,
    config: RunConfig,
    reports: Sequence[CorpusReport],
    tokenizer: Tokenizer,
    resume: bool,
    overrides: Sequence[str] = (),
    base: tuple[str, str] | None = None,
    origin: Mapping[str, Any] | None = None,
) -> dict[str, bytes]:
    """Record the configuration, the hashes of text and tokenizer and the given KEY=VALUE in the run's folder.

    `base` are the file of the weights that an adapter is trained on, and its hash; `origin` is that of a base model or
    a teacher that was imported. Returns what a checkpoint keeps of them. On `resume` they are compared first, and the
    origin is the recorded one; raises ResumeError if text, tokenizer or base changed.
    """
    note = folder / DATA_NOTE
    if resume:
        recorded = (saved_run_files(folder) or folder) / note.name
        _check_inputs(recorded, folder, reports, tokenizer, base)
        origin = recorded_origin(recorded)
    hashes = {report.name: report.sha256 for report in reports}
    inputs = {**hashes, "tokenizer": tokenizer.sha256, "overrides": [*overrides]}
    inputs |= ({"base": base[1]} if base else {}) | ({KEY: origin} if origin else {})
    texts = {"config.toml": dump_config(config), note.name: json.dumps(inputs, indent=2) + "\n"}
    for name, text in texts.items():
        write_text_atomically(folder / name, text)
    pieces = {f"tokenizer/{name}": content for name, content in tokenizer.files.items()}
    return {name: text.encode() for name, text in texts.items()} | pieces


def recorded_origin(note: Path) -> dict[str, Any] | None:
    """The origin that `record_inputs` recorded; None if the run descends from no imported model."""
    try:
        return origin_of(parse_json(note.read_bytes()))
    except (OSError, ValueError, AttributeError):
        return None


def _check_inputs(
    note: Path, folder: Path, reports: Sequence[CorpusReport], tokenizer: Tokenizer, base: tuple[str, str] | None
) -> None:
    learned = [report for report in reports if not report.name.startswith(SCORED_ONLY)]
    try:
        hashes = parse_json(note.read_bytes())
        before = [tuple(hashes[report.name]) for report in learned]
        pieces = dict(hashes.get("tokenizer", tokenizer.sha256))  # runs of older versions do not have it
        weights = str(hashes["base"]) if base else ""
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        cause = getattr(error, "strerror", None) or str(error)
        raise ResumeError(f"{note}: cannot be read: {cause}; {INCOMPARABLE}") from None
    for report, known in zip(learned, before, strict=True):
        for name, now, then in zip(report.files, report.sha256, known, strict=False):
            _check_hash(name, now, then)
    for name, now in tokenizer.sha256.items():
        _check_hash(str(folder / "tokenizer" / name), now, str(pieces.get(name)))
    if base:
        _check_hash(*base, weights)


def _check_hash(name: str, now: str, before: str) -> None:
    if now != before:
        raise ResumeError(
            f"{name}: has changed since the run began (sha256 {before[:12]}… then, {now[:12]}… now); "
            "restore it, or start a new run"
        )
