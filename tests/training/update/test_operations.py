"""A budget of operations: each is a kernel that a GPU starts, and its Python, unless it is compiled or recorded.

Counted on a CPU with a GPU's branches, in bfloat16. How many there are depends on the layers of a preset, not on the
size of its tensors, which are small here.
"""

from collections import Counter

import pytest
import torch

from dragoman.config import ModelConfig, TrainConfig
from dragoman.data.batches.batch import Example
from dragoman.data.batches.rows import NumberedText, PackedRows
from dragoman.data.batches.stream import Position, Skipped, Update
from dragoman.model.transformer import Transformer
from dragoman.training.update.device_step import DeviceStep
from dragoman.training.update.distributed import ProcessGroup
from dragoman.training.update.gradient import GradientAccumulator
from dragoman.training.update.optimizer import build_optimizer
from operations import Counted, take_branches_of_a_gpu

# What a step of these presets may take; to raise a number is to make training on a GPU slower.
BUDGET = {"small": 1_360, "base": 1_760, "paper-base": 970}


@pytest.fixture(autouse=True)
def as_on_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    take_branches_of_a_gpu(monkeypatch)


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
