"""Which arithmetic trains faster on this machine: measured on its own batches, not guessed.

bfloat16 products are several times faster where the processor has units for them (AMX, a GPU's tensor cores), and
slower where it imitates them.
"""

import time
from collections.abc import Callable, Sequence
from typing import Literal

import torch

from dragoman.data.batch import Batch
from dragoman.model.device import arithmetic
from dragoman.model.transformer import Transformer
from dragoman.train.validation import batch_loss

Precision = Literal["float32", "bfloat16"]
ROUNDS = 3
# Rounding to bfloat16 costs accuracy: a gain below this is not worth it.
WORTH = 1.1


def choose_precision(
    model: Transformer, batches: Sequence[Batch], device: torch.device, smoothing: float
) -> tuple[Precision, str]:
    """The faster of the two by a few forward and backward passes, and why in one line.

    Takes the largest of `batches`; leaves the model, its gradients and the random state as they were.
    """
    batch = max(batches, key=lambda batch: batch.src.numel() + batch.tgt_out.numel()).to(device)
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        slow = min(_seconds(lambda: _pass(model, batch, "float32", device, smoothing)))
        fast = min(_seconds(lambda: _pass(model, batch, "bfloat16", device, smoothing)))
    model.zero_grad()
    ratio = slow / fast
    chosen: Precision = "bfloat16" if ratio >= WORTH else "float32"
    return chosen, f"precision {chosen}: a pass in bfloat16 took {fast:.3f} s, in float32 {slow:.3f} s ({ratio:.1f} ×)"


def _pass(model: Transformer, batch: Batch, precision: Precision, device: torch.device, smoothing: float) -> None:
    with arithmetic(precision, device):
        loss = batch_loss(model, batch, smoothing)
    loss.backward()
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def _seconds(run: Callable[[], None]) -> list[float]:
    run()  # compiles kernels for these shapes
    taken = []
    for _ in range(ROUNDS):
        before = time.perf_counter()
        run()
        taken.append(time.perf_counter() - before)
    return taken
