"""The folder of a run: what the run was started with, and the checks before it is resumed.

config.toml     the configuration, with every default
data.json       the hashes of its text and of its tokenizer, and the keys given on its command line

A damaged run resumes from the latest intact checkpoint, with its copies of these files and of the tokenizer. What was
damaged is named; weights are not given up because of a file next to them.
"""

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from dragoman.config import CorpusConfig, RunConfig
from dragoman.config.file import differences, dump_config, portable, read_run_config
from dragoman.config.sizes import is_chosen, with_choices_of
from dragoman.data.corpus.report import CorpusReport
from dragoman.errors import ConfigError, DragomanError, ModelError, ResumeError
from dragoman.system.files import atomic_folder, locked, storage_error, write_text_atomically
from dragoman.system.parsing import parse_json
from dragoman.text.tokens.tokenizer import Tokenizer
from dragoman.training.resume.checkpoint import (
    RUN_FILES,
    RunProgress,
    checkpoint,
    checkpoint_steps,
    newest_intact,
    read_progress,
    resumable_steps,
)
from dragoman.training.resume.integrity import fault_in, has_hashes, read_note
from dragoman.workflows.models.origin import KEY, origin_of

Notice = Callable[[str], object]
# Keys that may change when a run is resumed: none of them changes the equations of an update. Threads and device change
# the order of its sums, which a notice reports.
MAY_CHANGE = (
    *(f"train.{key}" for key in ("patience", "tensorboard", "log_every", "output", "card_lines", "checkpoint_minutes")),
    *(f"train.{key}" for key in ("parallel", "peer_timeout", "recompute", "snapshots", "threads", "device")),
    "project.license",
    *("data.test", "data.general_test", "data.clean", "data.mix"),
    "decode.",
)
# These may change too, unless the learning rate depends on them.
ENDS = ("train.max_steps", "train.max_minutes")


def is_run_file(name: str) -> bool:
    """Whether a file of a checkpoint is a copy of one of the run."""
    return name.startswith(RUN_FILES)


def saved_run_files(folder: Path) -> Path | None:
    """The latest intact copies of the files of the run in `folder`; None if its checkpoints hold none."""
    checkpoints = folder / "checkpoints"
    for step in reversed(resumable_steps(checkpoints)):
        where = checkpoint(checkpoints, step)
        if (where / RUN_FILES).is_dir() and not fault_in(where, is_run_file):
            return where / RUN_FILES
    return None


def fault_in_copies(folder: Path) -> str | None:
    """The first damage in the latest copies of the run's files, if none of the copies is intact."""
    steps = resumable_steps(folder / "checkpoints")
    return (
        None
        if saved_run_files(folder) or not steps
        else fault_in(checkpoint(folder / "checkpoints", steps[-1]), is_run_file)
    )


def restore_run(folder: Path, notice: Notice) -> int:
    """The step that the run in `folder` resumes from; its damaged files are restored from that checkpoint.

    Raises ModelError if no checkpoint is intact.
    """
    step, faults = newest_intact(folder / "checkpoints")
    for fault in faults:
        notice(f"{fault}; resuming from step {step:,}, saved before it")
    where = checkpoint(folder / "checkpoints", step)
    if not has_hashes(where):
        notice(f"{where}: saved by an earlier version, without hashes; damage in it would not be noticed")
    if in_copies := fault_in(where, is_run_file):
        notice(f"{in_copies}; the run's own file is taken, or the copy before it")
    if copies := saved_run_files(folder):
        _restore_tokenizer(folder, copies, notice)
        for name in ("config.toml", "data.json"):
            _restore_text(folder / name, copies / name, notice)
    return step


def recorded_log(folder: Path, step: int) -> dict[str, object] | None:
    """Size and hash of `metrics.jsonl` when the checkpoint of `step` was written; None if it does not say."""
    log: dict[str, object] | None = read_note(checkpoint(folder / "checkpoints", step)).get("log")
    return log


def _restore_tokenizer(folder: Path, copies: Path, notice: Notice) -> None:
    saved, tokenizer = _contents(copies / "tokenizer"), folder / "tokenizer"
    if _contents(tokenizer) == saved:
        return
    names = [name for name, content in saved.items() if _contents(tokenizer).get(name) != content]
    changed = tokenizer / names[0] if names else tokenizer
    notice(f"{changed}: differs from what the run was trained with; restored from {copies}")
    with atomic_folder(tokenizer) as partial:
        for name, content in saved.items():
            (partial / name).write_bytes(content)


def _restore_text(path: Path, copy: Path, notice: Notice) -> None:
    if not copy.is_file() or (path.is_file() and path.read_bytes() == copy.read_bytes()):
        return
    alike = _same_configuration if path.name == "config.toml" else _same_hashes
    if not alike(path, copy):
        notice(f"{path}: differs from what the run was trained with; restored from {copy.parent}")
    write_text_atomically(path, copy.read_text(encoding="utf-8"))


def _same_configuration(path: Path, copy: Path) -> bool:
    """Whether two configurations are the same, apart from keys that a resumed run may change."""
    try:
        changed = differences(portable(read_run_config(copy.parent)), portable(read_run_config(path.parent)))
    except ConfigError:
        return False
    return all(key.startswith(MAY_CHANGE + ENDS) for key in changed)


def _same_hashes(path: Path, copy: Path) -> bool:
    """Whether two `data.json` are the same, apart from the test text and KEY=VALUE, which a resumed run may change."""
    try:
        both = [parse_json(file.read_bytes()).items() for file in (copy, path)]
        free = (*SCORED_ONLY, OVERRIDES)
        hashes = [{key: value for key, value in items if not key.startswith(free)} for items in both]
    except (OSError, ValueError, TypeError, AttributeError):
        return False
    return bool(hashes[0] == hashes[1])


def _contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.glob("*.model")) if path.is_file()}


DATA_NOTE, DISTILLED_NOTE = "data.json", "distilled.json"
LOCK = ".lock"
OVERRIDES = "overrides"
"""The key of `data.json` that every run has."""
SCORED_ONLY = ("test", "general_test")
INCOMPARABLE = "the run cannot be compared with how it started; start a new one"


def output_of(config: RunConfig) -> Path:
    """The folder of the run: for a configuration made without a file, `runs/NAME` in the working folder unless set."""
    return (config.train.output or Path("runs") / config.project.name).absolute()


@contextmanager
def lock_run(folder: Path) -> Iterator[None]:
    """Keep other processes from training in the same folder. Raises ConfigError if one does already.

    The operating system releases the lock when the process ends, however it ends.
    """
    with ExitStack() as stack:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            stack.enter_context(locked(folder / LOCK, wait=False))
        except BlockingIOError:
            raise ConfigError(
                f"{folder}: another process trains here; wait for it, or choose another train.output"
            ) from None
        except OSError as error:
            raise storage_error(folder, error) from None
        yield


def check_unused(folder: Path) -> None:
    """Raise ConfigError if another process trains in `folder` now."""
    if (folder / LOCK).exists():  # left by a process that was killed, it is free
        with lock_run(folder):
            pass


def check_resumable(folder: Path, config: RunConfig, resume: bool) -> None:
    """Check that a run may start or resume in `folder`.

    Raises ConfigError if the folder holds a run that is not to be resumed or a person's own files, ResumeError if it
    holds no run, or one with another configuration.
    """
    if folder.exists() and not folder.is_dir():
        raise ConfigError(f"{folder}: is a file; choose another train.output, the folder of the run")
    steps = checkpoint_steps(folder / "checkpoints")
    if steps and not resume:
        raise ConfigError(
            f"{folder}: holds a run at step {steps[-1]:,}; continue it with --resume, or choose another train.output"
        )
    if not resume:
        if folder.exists() and not steps and not _has_started(folder) and any(folder.iterdir()):
            raise ConfigError(f"{folder}: holds files that are not of a run; choose another train.output, a new folder")
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


def begin(folder: Path, overrides: Sequence[str]) -> None:
    """Mark the folder as that of a run, before anything else is written there."""
    write_text_atomically(folder / DATA_NOTE, json.dumps({OVERRIDES: [*overrides]}) + "\n")


def _has_started(folder: Path) -> bool:
    """Whether a run, or the distillation before it, has started in the folder."""
    if (folder / LOCK).exists() or (folder / DISTILLED_NOTE).exists():
        return True
    try:
        return OVERRIDES in parse_json((folder / DATA_NOTE).read_bytes())
    except (OSError, ValueError, TypeError):
        return False


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


def with_original_choices(folder: Path, config: RunConfig, user_keys: Collection[str]) -> RunConfig:
    """`config` with the numbers that the run in `folder` chose for `auto` when it started. Raises ResumeError."""
    return config if is_chosen(config) else with_choices_of(config, original_config(folder), user_keys)


def original_overrides(folder: Path) -> tuple[str, ...]:
    """The KEY=VALUE that the run in `folder` was started with, for a command that resumes it.

    An end that a finished run has reached is left out: the run resumes to train longer. One that was interrupted before
    its model was written keeps it, and resumes to write that model. Empty where there is no such run.
    """
    try:
        files = saved_run_files(folder) or folder
        overrides = [str(override) for override in parse_json((files / DATA_NOTE).read_bytes())[OVERRIDES]]
        if (folder / DISTILLED_NOTE).exists() and not checkpoint_steps(folder / "checkpoints"):
            return tuple(overrides)  # the teacher has not finished
        progress = latest_progress(folder / "checkpoints")
        config = read_run_config(files)
    except (OSError, ValueError, KeyError, TypeError, DragomanError):
        return ()  # what is wrong is reported when the run is resumed
    if not _has_model(folder, progress.step):
        return tuple(overrides)
    train = config.train
    reached = {
        "train.max_steps": train.max_steps != "auto" and progress.step >= train.max_steps,
        "train.max_minutes": train.max_minutes is not None and progress.seconds >= 60 * train.max_minutes,
    }
    is_free = train.schedule != "linear"
    return tuple(
        override for override in overrides if not (is_free and reached.get(override.partition("=")[0].strip()))
    )


def _has_model(folder: Path, step: int) -> bool:
    """Whether the model of the run in `folder` is that of a training which ended at `step`."""
    try:
        return bool(parse_json((folder / "model" / "bundle.json").read_bytes())["training"]["step"] == step)
    except (OSError, ValueError, KeyError, TypeError):
        return False


def latest_progress(checkpoints: Path) -> RunProgress:
    """The progress of the latest checkpoint whose note can be read. Raises ModelError if there is none."""
    *earlier, latest = resumable_steps(checkpoints)
    for step in (latest, *reversed(earlier)):
        with suppress(ModelError):
            return read_progress(checkpoints, step)
    return read_progress(checkpoints, latest)


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
    inputs = {**hashes, "tokenizer": tokenizer.sha256, OVERRIDES: [*overrides]}
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
