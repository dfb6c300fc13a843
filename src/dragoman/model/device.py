"""Where and in which arithmetic a model runs."""

from contextlib import AbstractContextManager
from typing import Literal

import torch

from dragoman.errors import ResourceError


def pick_device(name: str) -> torch.device:
    """The device called `name`; `auto` is a GPU if there is one. Raises ResourceError."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError):
        raise ResourceError(f'device "{name}" is not on this machine; use "cpu" or "auto"') from None
    return device


def arithmetic(precision: Literal["float32", "bfloat16"], device: torch.device) -> AbstractContextManager[None]:
    """Matrix products in `precision`; everything else stays float32."""
    return torch.autocast(device.type, torch.bfloat16, enabled=precision == "bfloat16")
