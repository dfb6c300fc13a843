"""Validation on held-out text: the loss, the best value so far, and how many validations ago it was reached."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, Self

import torch

from dragoman.config import TrainConfig
from dragoman.data.batches.batch import Batch
from dragoman.model.build import require_transformer
from dragoman.model.parts.device import autocast
from dragoman.model.parts.network import EncoderDecoder
from dragoman.training.objective.objective import batch_loss
from dragoman.training.objective.row_loss import RowLoss
from dragoman.training.update.precision import Precision


@dataclass(frozen=True)
class BestTracker:
    """The best value of the watched metric, and how many validations have passed without a better one."""

    metric: Literal["loss", "bleu", "chrf"]
    best: float | None = None
    best_step: int = 0
    bad_validations: int = 0

    def improves(self, value: float) -> bool:
        if self.best is None:
            return not math.isnan(value)
        return value < self.best if self.metric == "loss" else value > self.best

    def update(self, value: float, step: int) -> Self:
        """The tracker after `value` was measured at `step`."""
        if self.improves(value):
            return replace(self, best=value, best_step=step, bad_validations=0)
        return replace(self, bad_validations=self.bad_validations + 1)

    def to_average(self, validated: Mapping[int, float], train: TrainConfig) -> list[int]:
        """The steps, of those `validated` with a value, whose weights make up the final model; ascending."""
        steps = sorted(validated)
        if train.average == "best":
            sign = 1 if self.metric == "loss" else -1
            steps.sort(key=lambda step: -sign * validated[step])
        return sorted(steps[-1 if train.average == "ema" else -train.average_count :])


@torch.inference_mode()
def validation_loss(
    model: EncoderDecoder, batches: Sequence[Batch], device: torch.device, on_device: Precision | None = None
) -> float:
    """Mean negative log-likelihood in nats per target token, without label smoothing. `model` is in eval mode.

    In float32, or as steps on the device are: in their precision, and read once at the end.
    """
    exact = device if device.type in ("cpu", "cuda") else torch.device("cpu")  # a GPU of Apple has no float64
    total, tokens = torch.zeros((), dtype=torch.float64, device=exact), 0
    of_rows = RowLoss(require_transformer(model, "validation on the device"), smoothing=0.0) if on_device else None
    for batch in batches:
        there = batch.to(device)
        with autocast(on_device or "float32", device):
            loss = of_rows(*there.tensors) if of_rows else batch_loss(model, there, smoothing=0.0)
        total += loss.to(exact)
        tokens += batch.target_tokens
    return total.item() / tokens
