"""The precision in which a model decodes."""

from typing import Literal

import torch
from torch import nn

from dragoman.config.sections.decode import Precision
from dragoman.model.build import build_network
from dragoman.model.parts.device import without_values
from dragoman.model.parts.network import EncoderDecoder


def resolve_precision(precision: Precision, device: torch.device) -> Literal["float32", "bfloat16"]:
    """`auto` is float32 on a CPU, for exactness, and bfloat16 on a GPU that computes in it."""
    if precision != "auto":
        return precision
    return "bfloat16" if device.type == "cuda" and torch.cuda.is_bf16_supported() else "float32"


def to_bfloat16(model: EncoderDecoder) -> EncoderDecoder:
    """The same model with its matrices already in bfloat16; autocast would convert them at every call.

    Embeddings and norms stay float32 and are shared with the given model, which is not changed.
    """
    matrices = {f"{name}.{kind}" for name, module in model.named_modules() for kind in _kinds(module)}
    matrices |= {"projection", "projection_bias"}
    weights = model.state_dict()
    converted = {name: w.to(torch.bfloat16) if name in matrices else w for name, w in weights.items()}
    with without_values():
        same = build_network(model.config, *model.vocabularies)
    same.load_state_dict(converted, assign=True)
    return same.eval()


def _kinds(module: nn.Module) -> tuple[str, ...]:
    return ("weight", "bias") if isinstance(module, nn.Linear) else ()
