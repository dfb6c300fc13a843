"""L2-SP (Li et al. 2018, section 3; Barone et al. 2017 for translation): a pull toward the weights at the start.

After each step θ ← θ − η λ (θ − θ₀), with the learning rate η of the step and λ = `train.pull`: decoupled from the
gradient and from Adam's moments, as weight decay is in AdamW (Loshchilov and Hutter 2019). θ₀ is a copy in the folder
of the run, with hashes, so that a resumed run is pulled toward the same weights when the base model is gone.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from dragoman.errors import ModelError
from dragoman.model.parts.network import EncoderDecoder
from dragoman.model.weights import read_weights, save_tensors
from dragoman.system.files import atomic_folder
from dragoman.training.resume.integrity import WEIGHTS, fault_in, write_note
from dragoman.training.update.distributed import shard_like

START = "start"
"""The folder of θ₀ in the folder of a run."""


class Pull:
    """To be called after each step of the optimizer, which holds the learning rate."""

    def __init__(self, model: nn.Module, start: Mapping[str, Tensor], strength: float) -> None:
        self.strength = strength
        self.start = [
            (parameter, shard_like(start[name].to(parameter.device), parameter))
            for name, parameter in model.named_parameters()
            if parameter.requires_grad
        ]

    @torch.no_grad()
    def __call__(self, optimizer: torch.optim.Optimizer, *_: Any) -> None:
        """Move every weight toward its start."""
        fraction = min(1.0, self.strength * float(optimizer.param_groups[0]["lr"]))
        for parameter, start in self.start:
            parameter.lerp_(start, fraction)


def save_start(folder: Path, weights: Mapping[str, Tensor]) -> None:
    """Write the weights at the start of the run in `folder`."""
    with atomic_folder(folder / START) as partial:
        save_tensors(partial / WEIGHTS, weights)
        write_note(partial, {})


def read_start(folder: Path, model: EncoderDecoder) -> dict[str, Tensor]:
    """What `save_start` wrote. Raises ModelError if it is damaged."""
    where = folder / START
    if fault := fault_in(where):
        raise ModelError(f"{fault}; train.pull needs it: restore it, or start a new run with another train.output")
    return read_weights(model, where / WEIGHTS)
