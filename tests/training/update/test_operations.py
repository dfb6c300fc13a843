"""A budget of operations: each is a kernel that a GPU starts, and its Python, unless it is compiled or recorded.

Counted on a CPU with a GPU's branches (PyTorch's dropout and attention, LayerNorm without conversion), in bfloat16. How
many there are depends on the layers of a preset, not on the size of its tensors, which are small here. Views and
allocations start nothing and are not counted.
"""

from collections import Counter
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from dragoman.config import ModelConfig, TrainConfig
from dragoman.data.batches.batch import Example
from dragoman.data.batches.rows import NumberedText, PackedRows
from dragoman.data.batches.stream import Position, Skipped, Update
from dragoman.model.parts.attention import ScaledDotProduct
from dragoman.model.parts.dropout import Dropout
from dragoman.model.parts.norm import LayerNorm
from dragoman.model.transformer import Transformer
from dragoman.training.update.device_step import DeviceStep
from dragoman.training.update.distributed import ProcessGroup
from dragoman.training.update.gradient import GradientAccumulator
from dragoman.training.update.optimizer import build_optimizer

# What a step of these presets may take; to raise a number is to make training on a GPU slower.
BUDGET = {"small": 1_360, "base": 1_760, "paper-base": 970}
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


@pytest.fixture(autouse=True)
def as_on_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """The branches that a GPU takes."""

    def dropout(self: Dropout, x: Tensor) -> Tensor:
        return torch.native_dropout(x, self.rate, True)[0]

    def attend(self: ScaledDotProduct, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)

    monkeypatch.setattr(Dropout, "forward", dropout)
    monkeypatch.setattr(ScaledDotProduct, "forward", attend)
    monkeypatch.setattr(LayerNorm, "forward", LayerNorm.unconverted)


def operations(preset: str) -> Counter[str]:
    """Those of the second step: the first makes tables and moments."""
    sizes = {"d_model": 32, "d_ff": 32, "heads": 2, "d_k": 16, "d_v": 16}
    model = Transformer(ModelConfig.model_validate({"preset": preset, **sizes}), 40, 40).train()
    train = TrainConfig(precision="bfloat16", clip_norm=1.0)
    accumulator = GradientAccumulator(model, train, ProcessGroup(), torch.device("cpu"))
    step = DeviceStep(model, accumulator, build_optimizer(model, train, recordable=True), None)
    pairs = [Example([5, 6, 7], [8, 9], ""), Example([5], [6, 7, 8], "")]
    batch = NumberedText(pairs).batch(PackedRows(16, ((0, 1), ())))
    update = Update([batch], batch.target_tokens, Position(), Skipped())
    step(update, 1e-3, 1)
    with Counted() as counted:
        step(update, 1e-3, 2)
    return counted.counts


@pytest.mark.parametrize("preset", BUDGET)
def test_a_step_keeps_to_its_budget_of_operations(preset: str) -> None:
    counts = operations(preset)
    assert counts.total() <= BUDGET[preset], counts.most_common()
