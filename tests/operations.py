"""Operations of a piece of work, counted on a CPU with a GPU's branches: each is a kernel that a GPU starts.

Views and allocations start nothing and are not counted. The branches are PyTorch's dropout and attention, and LayerNorm
without conversion.
"""

from collections import Counter
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from dragoman.model.parts.attention import ScaledDotProduct
from dragoman.model.parts.dropout import Dropout
from dragoman.model.parts.norm import LayerNorm

# Operations that start no kernel.
FREE = {
    *("view", "_unsafe_view", "t", "transpose", "unsqueeze", "squeeze", "expand", "slice", "select", "split", "detach"),
    *(
        "alias",
        "as_strided",
        "permute",
        "unbind",
        "empty",
        "empty_like",
        "new_empty",
        "empty_strided",
        "chunk",
        "unfold",
    ),
    *("split_with_sizes", "_reshape_alias", "lift_fresh", "is_same_size", "promote_types"),
}


class Counted(TorchDispatchMode):
    """How often each operation is called in this context."""

    def __init__(self) -> None:
        super().__init__()
        self.counts: Counter[str] = Counter()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func._schema.name.partition("::")[2]
        if name not in FREE:
            self.counts[name] += 1
        return func(*args, **(kwargs or {}))


def take_branches_of_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model computes as on a GPU for the rest of a test."""

    def dropout(self: Dropout, x: Tensor) -> Tensor:
        return torch.native_dropout(x, self.rate, True)[0] if self.training else x

    def attend(self: ScaledDotProduct, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)

    monkeypatch.setattr(Dropout, "forward", dropout)
    monkeypatch.setattr(ScaledDotProduct, "forward", attend)
    monkeypatch.setattr(LayerNorm, "forward", LayerNorm.unconverted)
