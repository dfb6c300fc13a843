"""Which arithmetic a model decodes in."""

import copy
from typing import Literal

import torch
from torch import nn

from dragoman.model.transformer import Transformer

Precision = Literal["auto", "float32", "bfloat16"]


def choose(precision: Precision, device: torch.device) -> Literal["float32", "bfloat16"]:
    """`auto` is float32 on a CPU, for exactness, and bfloat16 on a GPU that computes in it."""
    if precision != "auto":
        return precision
    return "bfloat16" if device.type == "cuda" and torch.cuda.is_bf16_supported() else "float32"


def in_bfloat16(model: Transformer) -> Transformer:
    """A copy whose matrices are bfloat16 already, for `arithmetic`, which would convert them in every product.

    Embeddings and norms stay float32.
    """
    copied = copy.deepcopy(model)
    for module in copied.modules():
        if isinstance(module, nn.Linear):
            module.to(torch.bfloat16)
    copied.projection = nn.Parameter(copied.projection.detach().to(torch.bfloat16))
    return copied
