"""Adam, section 5.3 (Kingma and Ba 2015), and its state as named tensors for a checkpoint."""

from collections.abc import Iterable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from dragoman.config import TrainConfig
from dragoman.training.update.distributed import full_tensor, shard_like


def build_optimizer(model: nn.Module, config: TrainConfig, recordable: bool = False) -> torch.optim.Adam:
    """Adam over all parameters, tied ones once; the learning rate is set before each step.

    A `recordable` one keeps all of its state on the device, so that a CUDA graph can hold its step.
    """
    parameters = list(model.parameters())
    fused = parameters[0].device.type in ("cpu", "cuda")
    return torch.optim.Adam(
        parameters, lr=0.0, betas=config.betas, eps=config.epsilon, fused=fused, capturable=recordable
    )


def clip_grad_norm(parameters: Iterable[nn.Parameter], limit: float) -> float:
    """Scale the gradient down to a norm of `limit`, over all shards. Returns the norm before."""
    return float(full_tensor(torch.nn.utils.clip_grad_norm_(parameters, limit)))


def state_tensors(optimizer: torch.optim.Optimizer, model: nn.Module) -> dict[str, Tensor]:
    """`parameter.moment` → tensor."""
    state = optimizer.state_dict()["state"]
    names = [name for name, _ in model.named_parameters()]
    return {
        f"{names[index]}.{moment}": tensor for index, moments in state.items() for moment, tensor in moments.items()
    }


def empty_state(model: nn.Module) -> dict[str, Tensor]:
    """Tensors of the shapes that `state_tensors` returns, to be read into; frozen parameters have no state."""
    state: dict[str, Tensor] = {}
    for name, parameter in model.named_parameters():
        if not parameter.requires_grad:
            continue
        state[f"{name}.step"] = torch.zeros(())
        state[f"{name}.exp_avg"] = torch.zeros_like(parameter.detach())
        state[f"{name}.exp_avg_sq"] = torch.zeros_like(parameter.detach())
    return state


def load_state_tensors(optimizer: torch.optim.Optimizer, model: nn.Module, tensors: Mapping[str, Tensor]) -> None:
    """Restore what `state_tensors` returned, also with another number of processes."""
    parameters = dict(model.named_parameters())
    index = {name: number for number, name in enumerate(parameters)}
    state: dict[int, dict[str, Any]] = {}
    for key, tensor in tensors.items():
        name, _, moment = key.rpartition(".")
        state.setdefault(index[name], {})[moment] = shard_like(tensor, parameters[name])
    optimizer.load_state_dict({**optimizer.state_dict(), "state": state})
