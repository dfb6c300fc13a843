"""What a damaged run resumes from: the latest intact checkpoint, and its copies of the run's own files.

Input: the folder of a run. Output: a step, and in the folder the `config.toml`, `data.json` and tokenizer that the run
was trained with. What was damaged is named; weights are not given up because of a file next to them.
"""

from collections.abc import Callable
from pathlib import Path

from dragoman.config.file import differences, portable, read_run_config
from dragoman.errors import ConfigError
from dragoman.system.files import atomic_folder, write_text_atomically
from dragoman.system.parsing import parse_json
from dragoman.training.resume.checkpoint import RUN_FILES, checkpoint, newest_intact, resumable_steps
from dragoman.training.resume.integrity import fault_in, has_hashes, read_note

Notice = Callable[[str], object]
# Keys that may change when a run is resumed: none of them changes the arithmetic of an update.
MAY_CHANGE = (
    *(f"train.{key}" for key in ("patience", "tensorboard", "log_every", "output", "card_lines", "checkpoint_minutes")),
    *(f"train.{key}" for key in ("parallel", "peer_timeout", "recompute")),
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
        free = ("test", "general_test", "overrides")
        hashes = [{key: value for key, value in each if not key.startswith(free)} for each in both]
    except (OSError, ValueError, TypeError, AttributeError):
        return False
    return bool(hashes[0] == hashes[1])


def _contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.glob("*.model")) if path.is_file()}
