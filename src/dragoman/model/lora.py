"""LoRA (Hu et al. 2021): W x becomes W₀ x + α/r · B A x, where only A (r × in) and B (out × r) are trained.

Input: a `Transformer`, of which chosen matrices are replaced from outside; its equations do not change. Output: A and B
as the model's only parameters, and from them the weights W₀ + α/r · B A of a plain `Transformer`. A is random and B is
zero at the start, so that the first model is the base model. What is not adapted becomes a buffer: a tensor of the
model that no gradient, no optimizer and no checkpoint has.
"""

import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import cast

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from dragoman.config import TrainConfig
from dragoman.errors import ModelError
from dragoman.model.parts.dropout import Dropout
from dragoman.model.parts.network import EncoderDecoder
from dragoman.model.weights import load_tensors

# Groups of matrices, by the names of MultiHeadAttention, FeedForward and GatedFeedForward.
GROUPS = {"attention": ("w_q", "w_k", "w_v", "w_o"), "feed_forward": ("w_1", "w_2", "w_3")}
A, B = ".lora_a", ".lora_b"


class LowRankLinear(nn.Module):
    """x W₀ᵀ + b + α/r · Dropout(x) Aᵀ Bᵀ, section 4.1 of Hu et al. (2021)."""

    def __init__(self, linear: nn.Linear, rank: int, scale: float, dropout: float) -> None:
        super().__init__()
        self.scale, self.dropout = scale, Dropout(dropout)
        columns, rows, like = linear.in_features, linear.out_features, linear.weight
        self.weight, self.bias = linear.weight, linear.bias
        self.lora_a = nn.Parameter(torch.empty(rank, columns, device=like.device))
        self.lora_b = nn.Parameter(torch.zeros(rows, rank, device=like.device))

    def forward(self, x: Float[Tensor, "*any _"]) -> Float[Tensor, "*any _"]:
        """The projection, without the product of B and A ever being formed."""
        low = F.linear(self.dropout(x), self.lora_a)
        return F.linear(x, self.weight, self.bias) + self.scale * F.linear(low, self.lora_b)


def adapted_matrices(model: nn.Module, matrices: Iterable[str]) -> list[str]:
    """The names of the linear modules that `matrices`, of GROUPS or single ones, choose; frozen ones are left out."""
    chosen = {name for group in matrices for name in GROUPS.get(group, (group,))}
    return [
        name
        for name, module in model.named_modules()
        if isinstance(module, nn.Linear) and name.rpartition(".")[2] in chosen and module.weight.requires_grad
    ]


def attach(model: EncoderDecoder, train: TrainConfig) -> None:
    """Replace the matrices of `train.lora_matrices` by LowRankLinear, whose A and B become the only parameters.

    A is drawn from U(−1/√in, 1/√in) by the run's seed, on the CPU: the same on every device.
    """
    random = torch.Generator().manual_seed(train.seed)
    for name in adapted_matrices(model, train.lora_matrices):
        parent, _, attribute = name.rpartition(".")
        linear = cast("nn.Linear", model.get_submodule(name))
        adapted = LowRankLinear(linear, train.lora_rank, train.lora_scale, train.lora_dropout)
        bound = 1 / math.sqrt(linear.in_features)
        with torch.no_grad():
            adapted.lora_a.copy_(torch.empty(adapted.lora_a.shape).uniform_(-bound, bound, generator=random))
        setattr(model.get_submodule(parent), attribute, adapted)
    for name, parameter in list(model.named_parameters(remove_duplicate=False)):
        if not name.endswith((A, B)):
            parent, _, attribute = name.rpartition(".")
            module = model.get_submodule(parent)
            delattr(module, attribute)
            module.register_buffer(attribute, parameter.requires_grad_(False))  # a shared matrix stays shared


def merged_weights(base: Mapping[str, Tensor], adapter: Mapping[str, Tensor], scale: float) -> dict[str, Tensor]:
    """`base` with W₀ + α/r · B A for every matrix that `adapter` has an A and a B for; on the CPU.

    Computed in double precision and rounded once: the same weights on every machine.
    """
    merged = dict(base)
    for name in [name.removesuffix(A) for name in adapter if name.endswith(A)]:
        a, b = adapter[name + A].cpu().double(), adapter[name + B].cpu().double()
        weight = base[f"{name}.weight"].cpu()
        merged[f"{name}.weight"] = torch.addmm(weight.double(), b, a, alpha=scale).to(weight.dtype)
    return merged


def load_merged(model: EncoderDecoder, base: EncoderDecoder, adapter: Mapping[str, Tensor], scale: float) -> None:
    """Make the weights of the plain `model` those of `base`, plain or adapted, merged with `adapter`."""
    tensors = {**dict(base.named_parameters()), **dict(base.named_buffers())}
    merged = merged_weights(tensors, adapter, scale)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(merged[name])


def read_adapter(path: Path, base: nn.Module) -> dict[str, Tensor]:
    """The A and B in `path`. Raises ModelError if they do not fit the matrices of `base`, or are not finite."""
    tensors, parameters = load_tensors(path), dict(base.named_parameters())
    for name, tensor in tensors.items():
        stem = name.removesuffix(A).removesuffix(B)
        weight, other = parameters.get(f"{stem}.weight"), tensors.get(stem + (B if name.endswith(A) else A))
        if stem == name or weight is None or other is None or weight.dim() != 2:
            raise ModelError(f"{path}: unexpected tensor {name}, or its other half is missing; copy the adapter again")
        rows, columns = weight.shape
        rank = tensor.size(0 if name.endswith(A) else -1)
        expected = (rank, columns) if name.endswith(A) else (rows, rank)
        if tensor.shape != expected or other.numel() != rank * (rows + columns) - tensor.numel():
            raise ModelError(f"{path}: tensor {name} is {tuple(tensor.shape)}, expected {expected}; copy it again")
        if tensor.dtype != torch.float32 or not tensor.isfinite().all():
            raise ModelError(f"{path}: tensor {name} is not float32 or contains NaN or infinity; copy it again")
    return tensors
