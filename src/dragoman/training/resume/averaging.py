"""Averaging of checkpoints, section 6.1: the mean of their weights, from files that are verified first."""

from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path

from torch import Tensor

from dragoman.errors import ModelError
from dragoman.model.weights import load_tensors
from dragoman.training.resume.checkpoint import checkpoint, checkpoint_steps
from dragoman.training.resume.integrity import WEIGHTS, fault_in


def unusable_weights(folder: Path, steps: Collection[int]) -> dict[int, str]:
    """Why the weights of a step cannot be averaged, for those of `steps` that are damaged or not on disk."""
    there, faults = checkpoint_steps(folder), dict[int, str]()
    for step in sorted(steps):
        where = checkpoint(folder, step)
        if fault := fault_in(where, WEIGHTS.__eq__) if step in there else f"{where}: missing":
            faults[step] = fault
    return faults


def average_weights(folder: Path, steps: Sequence[int]) -> dict[str, Tensor]:
    """The mean of the weights of checkpoints. Raises ModelError if one is damaged."""
    total: dict[str, Tensor] = {}
    for step in steps:
        where = checkpoint(folder, step)
        try:
            if fault := fault_in(where, WEIGHTS.__eq__):
                raise ModelError(fault)
            weights = load_tensors(where / WEIGHTS)
        except ModelError as error:
            raise ModelError(f"{error}; move {where} elsewhere, and --resume continues without it") from None
        for name, tensor in weights.items():
            total[name] = total[name] + tensor.double() if name in total else tensor.double()
    return {name: (tensor / len(steps)).float() for name, tensor in total.items()}


def best_average(
    folder: Path,
    candidates: Iterable[tuple[int, ...]],
    load: Callable[[dict[str, Tensor]], object],
    loss: Callable[[], float],
) -> tuple[float, tuple[int, ...]]:
    """Of several sets of steps, the one whose mean has the lowest loss, which is loaded; with that loss.

    Raises ModelError if there is none.
    """
    losses: dict[tuple[int, ...], float] = {}
    for steps in candidates:
        load(average_weights(folder, steps))
        losses[steps] = loss()
    if not losses:
        raise ModelError(f"{folder}: no checkpoint is intact; start again with another train.output")
    best = min(losses, key=losses.__getitem__)
    load(average_weights(folder, best))
    return losses[best], best
