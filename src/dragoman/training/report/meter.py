"""Loss, speed and utilisation of the device, over the updates since the last report."""

from collections.abc import Sequence
from functools import lru_cache, partial
from typing import Any

import torch

from dragoman.config import AnyModel
from dragoman.data.batches.batch import Batch
from dragoman.training.cost.flops import peak_flops, training_flops

# Seconds: steps take at least as long, also by a clock that has not moved on.
RESOLUTION = 1e-6


class Meter:
    """Adds up steps, and starts again with each report. Seconds are of training, without pauses.

    `passes` is how often each pair goes through the model in a step: twice with R-Drop.
    """

    def __init__(self, model: AnyModel, vocab: int, device: torch.device, passes: int = 1) -> None:
        self.model, self.vocab, self.passes = model, vocab, passes
        self.flops_of = lru_cache(maxsize=1 << 16)(partial(training_flops, model, vocab, passes))
        self.peak = peak_flops(torch.cuda.get_device_name(device)) if device.type == "cuda" else None
        self.start(0.0)

    def start(self, seconds: float) -> None:
        self.since, self.loss, self.terms, self.tokens, self.flops = seconds, 0.0, 0, 0, 0

    def pause(self, seconds: float) -> None:
        """Exclude `seconds` from the time of the steps."""
        self.since += seconds

    def add_loss(self, loss: float) -> None:
        """Add the loss of steps that `add` had with a loss of 0, because it was not known yet."""
        self.loss += loss

    def add(self, loss: float, tokens: int, batches: Sequence[Batch], terms: int | None = None) -> None:
        """Add a step: summed loss and target tokens of all processes, and the batches of this one.

        `terms` are those of the loss, if not the target tokens.
        """
        self.loss += loss
        self.terms += tokens if terms is None else terms
        self.tokens += tokens
        for batch in batches:
            if batch.lengths:  # of rows that hold several pairs, the pairs count
                self.flops += sum(self.flops_of(*lengths) for lengths in batch.lengths)
                continue
            (rows, source), target = batch.src.shape, batch.tgt_in.size(1)
            self.flops += training_flops(self.model, self.vocab, self.passes * rows, source, target)

    def read(self, seconds: float) -> dict[str, Any]:
        """What is measured of the steps since the last call, at this time: fields of a `StepReport`."""
        taken = max(seconds - self.since, RESOLUTION)
        measured = {
            "loss": self.loss / self.terms,
            "tokens_per_second": self.tokens / taken,
            "flops_per_second": self.flops / taken,
            "utilisation": self.flops / taken / self.peak if self.peak else None,
            "seconds": seconds,
        }
        self.start(seconds)
        return measured
