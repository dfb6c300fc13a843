"""Checkpoints: everything a run needs to resume as if it had never stopped.

    checkpoints/00001000/
        model.safetensors       weights, or their moving average
        optimizer.safetensors   Adam's moments (and the weights, if the above are their average), or if sharded:
        optimizer/              the same by torch.distributed.checkpoint, one shard per process
        random.safetensors      random states of every process
        run/                    copies of the run's config.toml, data.json and tokenizer
        training.json           step, data position, best value so far, time; for the same version of dragoman;
                                size and SHA-256 of all these files, and of itself

A checkpoint is written atomically. The last two are kept in full, so that a run resumes from the one before if a disk
damages the last. Of older ones only the weights are kept, as long as averaging or the best so far need them. Any
number of processes can resume a checkpoint, whatever number saved it.
"""

import json
import shutil
from collections.abc import Collection, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import torch
from pydantic import Field, TypeAdapter, ValidationError
from torch import Tensor
from torch.distributed.checkpoint.api import CheckpointException
from torch.distributed.checkpoint.state_dict_loader import load as load_parts
from torch.distributed.checkpoint.state_dict_saver import save as save_parts

from dragoman.data.batches.stream import Position
from dragoman.errors import ModelError
from dragoman.model.parts.network import EncoderDecoder
from dragoman.model.weights import load_tensors, read_weights, save_tensors
from dragoman.system.files import atomic_folder, fingerprint, partial_folder, restore, storage_error
from dragoman.training.resume.integrity import NOTE, WEIGHTS, fault_in, read_note, write_note
from dragoman.training.resume.validation import BestTracker
from dragoman.training.update.distributed import ProcessGroup, gather_full_state, is_sharded, load_parameters
from dragoman.training.update.ema import MovingAverage
from dragoman.training.update.optimizer import empty_state, load_state_tensors, state_tensors

TRAINED = ".weight being trained"
RESUME_HINT = "what was saved before is intact, continue with --resume"
RUN_FILES = "run/"
Record = TypeVar("Record")
LOG = "metrics.jsonl"
Count = Annotated[int, Field(ge=0, lt=2**63)]
FOR_RESUMING = ("random.safetensors", "optimizer.safetensors", "optimizer")


@dataclass(frozen=True)
class RunProgress:
    """The state of a run at one step, apart from tensors."""

    step: Count
    position: dict[str, Count]
    """Position in the batch stream: epoch, part and batch."""
    tracker: dict[str, Any]
    seconds: float
    target_tokens: Count
    precision: Literal["float32", "bfloat16"]
    """Precision of matrix products."""
    processes: Count
    """Size of the process group."""
    accumulate: Count
    """Micro-batches per process in an update."""
    batch_tokens: Count
    """Maximum number of tokens of a micro-batch, padding counted."""
    splits: Count
    """Into how many parts each micro-batch is cut, so that one fits in memory."""
    threads: Count
    """CPU threads per process: the order of sums depends on them, and dropout if threads take rows of a batch."""
    torch: str
    """Version of PyTorch: the order of sums depends on its kernels."""
    validated: dict[int, float] = field(default_factory=dict)
    """Watched value at each validated step whose checkpoint is kept."""
    balance: list[float] = field(default_factory=list)
    """Coefficients of the balance of experts for the next update; none without experts."""
    device: str = ""
    """The type of the device: the order of sums depends on it. Empty in checkpoints of earlier versions."""
    in_rows: bool = False
    """Whether a row of a batch holds several pairs: the position counts batches of this kind."""


def save_checkpoint(
    folder: Path,
    progress: RunProgress,
    model: EncoderDecoder,
    optimizer: torch.optim.Optimizer,
    keep: Collection[int],
    group: ProcessGroup,
    mean: MovingAverage | None = None,
    run_files: Mapping[str, bytes] | None = None,
) -> None:
    """Write the checkpoint of `progress.step` with `run_files`; remove older ones that are not in `keep`.

    Every process of the group must call this. Rank 0 writes everything but the shards of the others.
    """
    write_checkpoint(folder, progress, state_of(model, optimizer, group, mean), keep, group, run_files)


@dataclass(frozen=True)
class TrainingState:
    """The tensors of a checkpoint, by name."""

    weights: Mapping[str, Tensor]
    moments: Mapping[str, Tensor]
    random: Mapping[str, Tensor]

    def copied(self) -> "TrainingState":
        """The state in memory of its own on the CPU, from which it can be written while training continues."""
        copies = [{name: _copied(tensor) for name, tensor in vars(self)[part].items()} for part in vars(self)]
        if torch.cuda.is_initialized():
            torch.cuda.synchronize()
        return TrainingState(*copies)


def _copied(tensor: Tensor) -> Tensor:
    copy = torch.empty_like(tensor, device="cpu", pin_memory=tensor.is_cuda)
    return copy.copy_(tensor.detach(), non_blocking=True)


def state_of(
    model: EncoderDecoder, optimizer: torch.optim.Optimizer, group: ProcessGroup, mean: MovingAverage | None
) -> TrainingState:
    """What a checkpoint holds of a run. A collective operation."""
    weights = gather_full_state(evaluation_weights(model, mean), group)
    states = group.all_gather(torch.get_rng_state())
    on_gpu = group.all_gather(torch.cuda.get_rng_state()) if torch.cuda.is_initialized() else []
    random = {f"cpu.{rank}": state for rank, state in enumerate(states)}
    random |= {f"cuda.{rank}": state for rank, state in enumerate(on_gpu)}
    return TrainingState(weights, state_tensors(optimizer, model) | (_trained(model) if mean else {}), random)


def write_checkpoint(
    folder: Path,
    progress: RunProgress,
    state: TrainingState,
    keep: Collection[int],
    group: ProcessGroup,
    run_files: Mapping[str, bytes] | None = None,
    log: Mapping[str, Any] | None = None,
) -> None:
    """`save_checkpoint` of a state that has been taken; `log` is size and hash of the run's log at that time."""
    in_parts = any(map(is_sharded, state.moments.values()))
    final = checkpoint(folder, progress.step)
    also = RESUME_HINT if resumable_steps(folder) else "nothing had been saved before, start again"
    with atomic_folder(final, also) if group.is_main else nullcontext(partial_folder(final)) as partial:
        group.barrier()  # the folder exists
        if in_parts:
            _save_parts(dict(state.moments), partial / "optimizer", final, also)
        if group.is_main:
            save_tensors(partial / WEIGHTS, state.weights)
            if not in_parts:
                save_tensors(partial / "optimizer.safetensors", state.moments)
            save_tensors(partial / "random.safetensors", state.random)
            _write_run_files(partial / RUN_FILES, run_files or {})
            log = log or log_of(folder)
            write_note(partial, vars(progress) | ({"log": log} if log else {}))
    group.barrier()  # the checkpoint exists
    if group.is_main:
        _tidy(folder, progress.step, keep)


class BackgroundWriter:
    """Writes the checkpoints of one process while training continues: one at a time, in their order."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(max_workers=1)
        self._writing: Future[None] | None = None

    def save(
        self,
        folder: Path,
        progress: RunProgress,
        state: TrainingState,
        keep: Collection[int],
        run_files: Mapping[str, bytes],
    ) -> None:
        """`write_checkpoint` of a copy of `state`, after the last one. Raises what went wrong with that."""
        self.wait()
        what = folder, progress, state.copied(), keep, ProcessGroup(), run_files, log_of(folder)
        self._writing = self._thread.submit(write_checkpoint, *what)

    def wait(self) -> None:
        """Until the last checkpoint is on disk. Raises what went wrong."""
        if self._writing:
            writing, self._writing = self._writing, None
            writing.result()


def log_of(folder: Path) -> dict[str, Any]:
    """Size and hash of the log of the run whose checkpoints are in `folder`; empty if it has none."""
    log = folder.parent / LOG
    return fingerprint(log) if log.is_file() else {}


def _write_run_files(folder: Path, files: Mapping[str, bytes]) -> None:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)


def _save_parts(moments: dict[str, Tensor], where: Path, final: Path, also: str) -> None:
    try:
        save_parts(moments, checkpoint_id=where)
    except CheckpointException as error:  # a BaseException, which nothing else would report
        cause = _cause(error)
        refused = cause if isinstance(cause, OSError) else OSError(0, str(cause).strip().partition("\n")[0])
        raise storage_error(final, refused, f"; {also}") from None


def _cause(error: BaseException) -> BaseException:
    """The error of the first process that failed; torch's own message contains a traceback for each."""
    if isinstance(error, CheckpointException) and error.failures:
        return next(iter(error.failures.values()))[0]
    return error


def _tidy(folder: Path, latest: int, keep: Collection[int]) -> None:
    try:
        for torn in folder.glob(".*.partial"):  # left by a process that was killed while writing
            shutil.rmtree(torn)
        whole = [step for step in resumable_steps(folder) if step <= latest][-2:]
        for step in checkpoint_steps(folder):
            where = checkpoint(folder, step)
            if step not in {*whole, *keep}:
                shutil.rmtree(where)
            elif step not in whole:
                shutil.rmtree(where / "optimizer", ignore_errors=True)
                for name in ("random.safetensors", "optimizer.safetensors"):
                    (where / name).unlink(missing_ok=True)
    except OSError as error:
        raise storage_error(folder, error) from None


def evaluation_weights(model: EncoderDecoder, mean: MovingAverage | None) -> dict[str, Tensor]:
    """The weights to validate and to put into the bundle: the model's own, or their moving average."""
    return mean.weights if mean else {name: parameter.detach() for name, parameter in model.named_parameters()}


def _trained(model: EncoderDecoder) -> dict[str, Tensor]:
    return {name + TRAINED: parameter.detach() for name, parameter in model.named_parameters()}


def read_progress(folder: Path, step: int) -> RunProgress:
    """The progress of the run at `step`. Raises ModelError."""
    where = checkpoint(folder, step)
    try:
        record = {key: value for key, value in read_note(where).items() if key not in ("files", "log")}
        progress = _typed(RunProgress, record)
        _typed(Position, progress.position)
        _typed(BestTracker, progress.tracker)
    except (OSError, ValueError) as error:
        raise _unreadable(where / NOTE, folder, step, error) from None
    if progress.step != step:
        raise _unreadable(where / NOTE, folder, step, ValueError(f"it is the note of step {progress.step}"))
    return progress


def _typed(kind: type[Record], record: Mapping[str, Any]) -> Record:
    """A dataclass from JSON. Raises ValueError that names the field at fault."""
    if unknown := record.keys() - {known.name for known in fields(kind)}:  # type: ignore[arg-type]
        raise ValueError(f"unknown field: {min(unknown)}")
    try:
        return TypeAdapter(kind).validate_json(json.dumps(record), strict=True)
    except ValidationError as error:
        first = error.errors()[0]
        named = ".".join(map(str, first["loc"]))
        raise ValueError(f"{named}: {first['msg'][:1].lower()}{first['msg'][1:]}") from None


def newest_intact(folder: Path) -> tuple[int, list[str]]:
    """The step of the latest checkpoint without damage, and the first fault of each later one.

    Its copies of the run's files do not count: the run has them too. Raises ModelError if there is none.
    """
    complete, faults = set(resumable_steps(folder)), list[str]()
    for step in reversed(checkpoint_steps(folder)):
        where = checkpoint(folder, step)
        if not (fault := fault_in(where, lambda name: not name.startswith(RUN_FILES))):
            if step in complete:
                return step, faults
            fault = f"{where}: it cannot be resumed, files are missing"
        faults.append(fault)
    if not faults:
        raise ModelError(f"{folder}: holds no checkpoint to resume; start without --resume")
    others = f"; the others are damaged too ({len(faults) - 1})" if len(faults) > 1 else ""
    raise ModelError(f"{faults[0]}{others}; no checkpoint is intact, start again with another train.output")


def load_checkpoint(
    folder: Path,
    step: int,
    model: EncoderDecoder,
    optimizer: torch.optim.Optimizer,
    group: ProcessGroup,
    mean: MovingAverage | None = None,
) -> RunProgress:
    """Restore model, optimizer and random states of `step`. Raises ModelError.

    Random states are restored only if the number of processes is the same.
    """
    where, progress = checkpoint(folder, step), read_progress(folder, step)
    random: dict[str, Tensor] = {}
    try:
        load_parameters(model, read_weights(model, where / WEIGHTS))
        if (where / "optimizer").is_dir():
            moments = empty_state(model) | ({name: t.clone() for name, t in _trained(model).items()} if mean else {})
            load_parts(moments, checkpoint_id=where / "optimizer", no_dist=group.size == 1)
        else:
            moments = load_tensors(where / "optimizer.safetensors")
        if progress.processes == group.size:
            random = load_tensors(where / "random.safetensors")
    except (ModelError, CheckpointException, OSError, RuntimeError) as error:
        raise _unreadable(where, folder, step, error) from None
    if mean:
        mean.restart()
        load_parameters(model, {name.removesuffix(TRAINED): moments.pop(name) for name in _trained(model)})
    load_state_tensors(optimizer, model, moments)
    if random:
        torch.set_rng_state(random[f"cpu.{group.rank}"])
        if torch.cuda.is_initialized() and f"cuda.{group.rank}" in random:
            torch.cuda.set_rng_state(random[f"cuda.{group.rank}"])
    return progress


def _unreadable(where: Path, folder: Path, step: int, error: BaseException) -> ModelError:
    cause = _cause(error)
    reason = str(cause).strip().partition("\n")[0]
    reason = reason if str(where) in reason else f"{where}: cannot be read: {reason or type(cause).__name__}"
    if isinstance(cause, PermissionError):
        return ModelError(f"{reason}; allow this user to read it")
    if earlier := [other for other in resumable_steps(folder) if other < step]:
        whole = checkpoint(folder, step)
        return ModelError(f"{reason}; move {whole} elsewhere, and --resume continues from step {earlier[-1]:,}")
    return ModelError(f"{reason}; no earlier checkpoint is complete, start again with another train.output")


def checkpoint(folder: Path, step: int) -> Path:
    """The folder of one step's checkpoint."""
    return folder / f"{step:08d}"


def checkpoint_steps(folder: Path) -> list[int]:
    """Steps of the checkpoints on disk, ascending; incomplete ones are left out."""
    for moved in folder.glob(".*.old"):
        restore(folder / moved.name.removeprefix(".").removesuffix(".old"))
    numbered = [path for path in folder.glob("[0-9]" * 8 + "*") if path.name.isdecimal() and path.is_dir()]
    return sorted(int(path.name) for path in numbered)


def resumable_steps(folder: Path) -> list[int]:
    """Steps of the checkpoints that a run can resume from, judged by the names of their files."""
    return [
        step
        for step in checkpoint_steps(folder)
        if sum((checkpoint(folder, step) / name).exists() for name in FOR_RESUMING) == 2
    ]


def what_is_kept(folder: Path) -> str:
    """The latest checkpoint on disk, for the error message of a run that fails."""
    saved = checkpoint_steps(folder)
    return f"the checkpoint of step {saved[-1]:,} is kept" if saved else "no checkpoint had been saved yet"
