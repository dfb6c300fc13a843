"""Adam, section 5.3 (Kingma and Ba 2015), and its state as named tensors for a checkpoint."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from dragoman.config import TrainConfig


def build_optimizer(model: nn.Module, config: TrainConfig) -> torch.optim.Adam:
    """Adam over all parameters, tied ones once; the learning rate is set before each step."""
    parameters = list(model.parameters())
    fused = parameters[0].device.type in ("cpu", "cuda")
    return torch.optim.Adam(parameters, lr=0.0, betas=config.betas, eps=config.epsilon, fused=fused)


def state_tensors(optimizer: torch.optim.Optimizer, model: nn.Module) -> dict[str, Tensor]:
    """`parameter.moment` → tensor."""
    state = optimizer.state_dict()["state"]
    names = [name for name, _ in model.named_parameters()]
    return {
        f"{names[index]}.{moment}": tensor for index, moments in state.items() for moment, tensor in moments.items()
    }


def load_state_tensors(optimizer: torch.optim.Optimizer, model: nn.Module, tensors: Mapping[str, Tensor]) -> None:
    """Put back what `state_tensors` gave."""
    index = {name: number for number, (name, _) in enumerate(model.named_parameters())}
    state: dict[int, dict[str, Any]] = {}
    for key, tensor in tensors.items():
        name, _, moment = key.rpartition(".")
        state.setdefault(index[name], {})[moment] = tensor
    optimizer.load_state_dict({**optimizer.state_dict(), "state": state})
