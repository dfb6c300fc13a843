"""Which arithmetic trains faster on this machine: measured on its own batches, not guessed.

bfloat16 products are several times faster where the processor has units for them (AMX, a GPU's tensor cores), and
slower where it imitates them.
"""

import math
import time
from collections.abc import Sequence
from typing import Literal

import torch

from dragoman.data.batch import Batch, split
from dragoman.model.device import arithmetic
from dragoman.model.transformer import Transformer
from dragoman.training.validation import batch_loss

Precision = Literal["float32", "bfloat16"]
ROUNDS = 4
# Rounding to bfloat16 costs accuracy: a gain below this is not worth it.
WORTH = 1.1


def choose_precision(
    model: Transformer, batches: Sequence[Batch], device: torch.device, smoothing: float
) -> tuple[Precision, str]:
    """The faster of the two by a few forward and backward passes, and why in one line.

    Takes a quarter of the largest of `batches`, so as not to need more memory than training will; leaves the model, its
    gradients and the random state as they were.
    """
    batch = split(max(batches, key=lambda batch: batch.src.numel() + batch.tgt_out.numel()), 4)[0].to(device)
    taken: dict[Precision, float] = {"float32": math.inf, "bfloat16": math.inf}
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        for _ in range(ROUNDS):  # in turns, so that a noisy neighbour disturbs both; the first compiles kernels
            for precision, best in taken.items():
                taken[precision] = min(best, _pass(model, batch, precision, device, smoothing))
    model.zero_grad()
    slow, fast = taken["float32"], taken["bfloat16"]
    chosen: Precision = "bfloat16" if slow >= WORTH * fast else "float32"
    return chosen, f"precision {chosen}: a pass in bfloat16 took {fast:.3f} s, in float32 {slow:.3f} s"


def _pass(model: Transformer, batch: Batch, precision: Precision, device: torch.device, smoothing: float) -> float:
    """Seconds of a forward and backward pass."""
    before = time.perf_counter()
    with arithmetic(precision, device):
        loss = batch_loss(model, batch, smoothing)
    loss.backward()
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return time.perf_counter() - before
