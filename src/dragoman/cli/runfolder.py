"""The folder of a run: what it was begun with, and the refusal to go on with anything else.

config.toml     the configuration, every default written out
data.json       the hashes of its text and of its pieces
"""

import json
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from dragoman.config import CorpusConfig, RunConfig
from dragoman.config.file import build_config, differences, dump_config, portable
from dragoman.data.check import CorpusReport
from dragoman.errors import ConfigError, ResumeError
from dragoman.storage import storage_error, whole_text
from dragoman.text.tokenizer import Tokenizer
from dragoman.training.checkpoint import checkpoint_steps, resumable_steps

# Keys that may change between a run and its resumption: none of them touches an update's arithmetic.
MAY_CHANGE = (
    *(f"train.{key}" for key in ("patience", "tensorboard", "log_every", "output")),
    *(f"train.{key}" for key in ("parallel", "peer_timeout", "recompute")),
    "project.license",
    "data.test",
    "decode.",
)
# Nor do these, unless the learning rate goes by them.
ENDS = ("train.max_steps", "train.max_minutes")


def output_of(config: RunConfig) -> Path:
    """The folder of the run."""
    assert config.train.output is not None  # load_config fills it
    return config.train.output


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Keep other processes from training into the same folder. Raises ConfigError if one does already.

    The lock is the system's and goes with the process, however it ends.
    """
    lock = FileLock(folder / ".lock", blocking=False)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock.acquire()
    except Timeout:
        raise ConfigError(
            f"{folder}: another process trains here; wait for it, or choose another train.output"
        ) from None
    except OSError as error:
        raise storage_error(folder, error) from None
    with lock:
        yield


def refuse_mix_up(folder: Path, config: RunConfig, resume: bool) -> None:
    """No run is overwritten, and none is resumed with another configuration. Raises ConfigError or ResumeError."""
    steps = checkpoint_steps(folder / "checkpoints")
    if steps and not resume:
        raise ConfigError(
            f"{folder}: holds a run at step {steps[-1]:,}; go on with --resume, or choose another train.output"
        )
    if not resume:
        return
    old = begun_with(folder)
    free = MAY_CHANGE + (() if config.train.schedule == "linear" else ENDS)
    changed = [key for key in differences(portable(old), portable(config)) if not key.startswith(free)]
    if changed:
        raise ResumeError(
            f"{folder}: was begun with {changed[0]} = {_value(old, changed[0])}, "
            f"now it is {_value(config, changed[0])}; set it back, or start anew with another train.output"
        )


def begun_with(folder: Path) -> RunConfig:
    """The configuration with which the run in `folder` began. Raises ResumeError if there is nothing to resume."""
    if not resumable_steps(folder / "checkpoints"):
        if checkpoint_steps(folder / "checkpoints"):
            raise ResumeError(f"{folder}: no checkpoint is whole; start anew with another train.output")
        raise ResumeError(f"{folder}: holds no checkpoint to resume; start without --resume")
    before = folder / "config.toml"
    try:
        return build_config(tomllib.loads(before.read_text(encoding="utf-8")), str(before), folder)
    except (OSError, ValueError) as error:  # TOML's error is a ValueError, and so is that of bytes that are no UTF-8
        raise _unreadable(before, error) from None


def _unreadable(path: Path, error: Exception) -> ResumeError:
    cause = getattr(error, "strerror", None) or str(error)
    return ResumeError(f"{path}: cannot be read: {cause}; the run cannot be compared with its beginning, start anew")


def _value(config: RunConfig, key: str) -> str:
    value: object = config
    for part in key.split("."):
        value = getattr(value, part)
    corpora = value if isinstance(value, tuple) else (value,)
    if all(isinstance(corpus, CorpusConfig) for corpus in corpora):
        return ", ".join(f"{' + '.join(path.name for path in c.files)} (weight {c.weight:g})" for c in corpora)
    return str(value)


def open_folder(
    folder: Path, config: RunConfig, reports: Sequence[CorpusReport], tokenizer: Tokenizer, resume: bool
) -> None:
    """Note in the run's folder what the run is made of; on resume, refuse other text or pieces than before."""
    note = folder / "data.json"
    if resume:
        learned = [report for report in reports if report.name != "test"]
        try:
            hashes = json.loads(note.read_text(encoding="utf-8"))
            before = [tuple(hashes[report.name]) for report in learned]
            pieces = dict(hashes.get("tokenizer", tokenizer.sha256))  # a run may be older than this note
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise _unreadable(note, error) from None
        _refuse_other_text(learned, before)
        for name, now in tokenizer.sha256.items():
            _refuse_change(str(folder / "tokenizer" / name), now, str(pieces.get(name)))
    whole_text(folder / "config.toml", dump_config(config))
    made_of = {report.name: report.sha256 for report in reports} | {"tokenizer": tokenizer.sha256}
    whole_text(note, json.dumps(made_of, indent=2) + "\n")


def _refuse_other_text(reports: Sequence[CorpusReport], hashes: Sequence[Sequence[str]]) -> None:
    for report, known in zip(reports, hashes, strict=True):
        for name, now, before in zip(report.files, report.sha256, known, strict=False):
            _refuse_change(name, now, before)


def _refuse_change(name: str, now: str, before: str) -> None:
    if now != before:
        raise ResumeError(
            f"{name}: has changed since the run began (sha256 {before[:12]}… then, {now[:12]}… now); "
            "restore it, or start a new run"
        )
