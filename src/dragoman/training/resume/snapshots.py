"""Snapshots: the weights of a run in float16 at log-spaced steps, from which its course is shown afterwards.

    snapshots/00000000.safetensors      the weights before the first step
    snapshots/00001024.safetensors      the weights after a step whose number is a power of two

They lie next to `checkpoints/`. Of more than `train.snapshots` the earliest after step 0 is removed, so which steps
remain depends on the last step alone, not on where the run was to end or how often it was resumed.
"""

import shutil
from collections.abc import Mapping
from pathlib import Path

from torch import Tensor

from dragoman.config import ModelConfig, RunConfig
from dragoman.errors import ModelError
from dragoman.model.parts.network import EncoderDecoder
from dragoman.model.weights import is_finite, load_tensors, save_tensors, use_weights
from dragoman.system.files import atomic_path, storage_error

COUNT = 12
# `auto`: the largest model whose snapshots take at most 100 MB, in parameters.
SMALL = 4_000_000


def snapshots(run: Path) -> dict[int, Path]:
    """The snapshots of the run in a folder, by step, the earliest first."""
    files = {path.stem: path for path in sorted((run / "snapshots").glob("*.safetensors"))}
    return {int(stem): path for stem, path in files.items() if stem.isascii() and stem.isdigit()}


def load_snapshot(model: EncoderDecoder, path: Path) -> None:
    """Make the weights of a snapshot, in float32, those of `model`. Raises ModelError if they are of another shape."""
    halves = load_tensors(path)
    shapes = {name: parameter.shape for name, parameter in model.named_parameters()}
    if {name: tensor.shape for name, tensor in halves.items()} != shapes:
        raise ModelError(f"{path}: its tensors are not those of the model; it is of another run")
    use_weights(model, {name: tensor.float() for name, tensor in halves.items()})


class Snapshots:
    """Writes the snapshots of one run into its folder."""

    def __init__(self, run: Path, config: RunConfig, model: EncoderDecoder) -> None:
        self.run = run
        self.count = config.train.snapshots if config.train.snapshots != "auto" else _automatic(config, model)

    def is_due(self, step: int) -> bool:
        """Whether the weights after `step` are one: the same in all processes."""
        return self.count > 0 and step & (step - 1) == 0

    def save(self, step: int, weights: Mapping[str, Tensor]) -> None:
        """Write `weights`, unless one of them is not finite. Raises DragomanError if writing fails."""
        halves = {name: tensor.detach().half() for name, tensor in weights.items()}
        if not all(is_finite(tensor) for tensor in halves.values()):
            return  # of a run that diverges, which its next loss reports
        with atomic_path(self.run / "snapshots" / f"{step:08d}.safetensors") as partial:
            save_tensors(partial, halves)
        steps = list(snapshots(self.run))
        self._remove([step for step in steps if step][: max(0, len(steps) - self.count)])

    def drop_after(self, step: int) -> None:
        """Remove the snapshots of steps that a run resumed at `step` makes again, and what a killed process left."""
        for torn in (self.run / "snapshots").glob(".*.partial"):
            shutil.rmtree(torn, ignore_errors=True)
        self._remove([other for other in snapshots(self.run) if other > step])

    def _remove(self, steps: list[int]) -> None:
        known = snapshots(self.run)
        try:
            for step in steps:
                known[step].unlink(missing_ok=True)
        except OSError as error:
            raise storage_error(self.run / "snapshots", error) from None


def _automatic(config: RunConfig, model: EncoderDecoder) -> int:
    """COUNT for a small Transformer, whose snapshots `look` can show."""
    parameters = sum(parameter.numel() for parameter in model.parameters())
    shown = isinstance(config.model, ModelConfig) and not config.train.lora_rank
    return COUNT if shown and parameters <= SMALL else 0
