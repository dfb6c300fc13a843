"""Checkpoints: everything a run needs to go on as if it had never stopped.

    checkpoints/00001000/
        model.safetensors       weights
        optimizer.safetensors   Adam's moments and the random states; in the latest checkpoint only
        training.json           step, data position, best so far, time spent

A checkpoint appears whole or not at all. Older ones are kept as far as averaging or the best so far need them.
"""

import json
import shutil
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor

from dragoman.bundle import load_tensors, load_weights, restore, save_tensors, storage_error, whole_folder
from dragoman.errors import ModelError
from dragoman.model.transformer import Transformer
from dragoman.train.optimizer import load_state_tensors, state_tensors

RANDOM_STATE = "random_state."


@dataclass(frozen=True)
class Progress:
    """The numbers of a run at one step."""

    step: int
    stream: dict[str, int]
    watch: dict[str, Any]
    seconds: float
    target_tokens: int
    precision: Literal["float32", "bfloat16"]
    """The arithmetic in use."""
    validated: dict[int, float] = field(default_factory=dict)
    """Watched value at each validated step whose checkpoint is kept."""


def save_checkpoint(
    folder: Path,
    progress: Progress,
    model: Transformer,
    optimizer: torch.optim.Optimizer,
    keep: Collection[int],
) -> None:
    """Write the checkpoint of `progress.step`; remove those that are neither it nor in `keep`."""
    also = "what was saved before is intact, go on with --resume"
    with whole_folder(checkpoint(folder, progress.step), also) as partial:
        save_tensors(partial / "model.safetensors", dict(model.named_parameters()))
        save_tensors(partial / "optimizer.safetensors", state_tensors(optimizer, model) | _random_states())
        (partial / "training.json").write_text(json.dumps(vars(progress), indent=2) + "\n", encoding="utf-8")
    try:
        for torn in folder.glob(".*.partial"):  # of a process that was killed while it wrote
            shutil.rmtree(torn)
        for step in checkpoint_steps(folder):
            if step not in {progress.step, *keep}:
                shutil.rmtree(checkpoint(folder, step))
            elif step != progress.step:
                (checkpoint(folder, step) / "optimizer.safetensors").unlink(missing_ok=True)
    except OSError as error:
        raise storage_error(folder, error) from None


def load_checkpoint(folder: Path, step: int, model: Transformer, optimizer: torch.optim.Optimizer) -> Progress:
    """Put model, optimizer and random states back as they were at `step`. Raises ModelError."""
    where = checkpoint(folder, step)
    try:
        record = json.loads((where / "training.json").read_text(encoding="utf-8"))
        record["validated"] = {int(key): value for key, value in record["validated"].items()}
        progress = Progress(**record)
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise ModelError(f"{where}/training.json: cannot be read: {error}; remove this checkpoint") from None
    load_weights(model, where / "model.safetensors")
    tensors = load_tensors(where / "optimizer.safetensors")
    random_states = {key: tensors.pop(key) for key in list(tensors) if key.startswith(RANDOM_STATE)}
    load_state_tensors(optimizer, model, tensors)
    torch.set_rng_state(random_states[RANDOM_STATE + "cpu"])
    if torch.cuda.is_available() and RANDOM_STATE + "cuda" in random_states:
        torch.cuda.set_rng_state(random_states[RANDOM_STATE + "cuda"])
    return progress


def checkpoint(folder: Path, step: int) -> Path:
    """The folder of one step's checkpoint."""
    return folder / f"{step:08d}"


def checkpoint_steps(folder: Path) -> list[int]:
    """Steps of the checkpoints on disk, ascending; half-written ones do not count."""
    for moved in folder.glob(".*.old"):
        restore(folder / moved.name.removeprefix(".").removesuffix(".old"))
    return sorted(int(path.name) for path in folder.glob("[0-9]*") if path.name.isdecimal())


def average_weights(folder: Path, steps: Sequence[int]) -> dict[str, Tensor]:
    """The mean of the weights of several checkpoints, section 6.1."""
    total: dict[str, Tensor] = {}
    for step in steps:
        for name, tensor in load_tensors(checkpoint(folder, step) / "model.safetensors").items():
            total[name] = total[name] + tensor.double() if name in total else tensor.double()
    return {name: (tensor / len(steps)).float() for name, tensor in total.items()}


def _random_states() -> dict[str, Tensor]:
    states = {RANDOM_STATE + "cpu": torch.get_rng_state()}
    if torch.cuda.is_available():
        states[RANDOM_STATE + "cuda"] = torch.cuda.get_rng_state()
    return states
