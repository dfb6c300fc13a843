"""Which arithmetic trains faster on this machine: measured on its own batches, not guessed.

bfloat16 products are several times faster where the processor has units for them (AMX, a GPU's tensor cores), and
tens of times slower where it emulates them. One small product distinguishes the two, so that no pass is made in an
emulated bfloat16; otherwise a few passes decide, within about two seconds.
"""

import math
import time
from collections.abc import Sequence
from typing import Literal

import torch

from dragoman.data.batches.batch import Batch, split
from dragoman.model.parts.device import FAR_SLOWER, PROBE, autocast, product_seconds
from dragoman.model.parts.network import EncoderDecoder
from dragoman.training.cost.flops import training_flops
from dragoman.training.objective.objective import batch_loss

Precision = Literal["float32", "bfloat16"]
ROUNDS = 4
# Seconds after which no further round begins. A pass in float32 is given rows for about a quarter of it.
BUDGET = 2.0
# The compute capability from which a GPU has units for products in bfloat16: Ampere, 2020.
WITH_UNITS = (8, 0)
# Rounding to bfloat16 costs accuracy: a gain below this is not worth it.
WORTH = 1.1


def choose_precision(
    model: EncoderDecoder, batches: Sequence[Batch], device: torch.device, smoothing: float
) -> tuple[Precision, str]:
    """The faster of the two by a few forward and backward passes, and why in one line.

    A pass takes at most a quarter of the largest of `batches`, so as not to need more memory than training will, and
    fewer rows where a quarter would take long. Leaves the model, its gradients and the random state as they were. A
    GPU that has units for bfloat16 is known to be faster with them.
    """
    if device.type == "cuda" and torch.cuda.get_device_capability(device) >= WITH_UNITS:
        return "bfloat16", "precision bfloat16: this GPU has units for its products"
    exact, rounded = (product_seconds(dtype, device) for dtype in (torch.float32, torch.bfloat16))
    if device.type == "cpu" and rounded > FAR_SLOWER * exact:
        return "float32", f"precision float32: a product in bfloat16 takes {rounded / exact:.0f} times as long here"
    batch = _part(max(batches, key=_positions), model, exact).to(device)
    taken: dict[Precision, float] = {"float32": math.inf, "bfloat16": math.inf}
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        for precision in taken if device.type == "cuda" else ():  # loads kernels, which may take longer than BUDGET
            _pass(model, batch, precision, device, smoothing)
        end = time.perf_counter() + BUDGET
        for number in range(ROUNDS):  # in turns, so that a noisy neighbour disturbs both; the first compiles kernels
            if number and time.perf_counter() > end:
                break
            for precision, best in taken.items():
                taken[precision] = min(best, _pass(model, batch, precision, device, smoothing))
    model.zero_grad()
    slow, fast = taken["float32"], taken["bfloat16"]
    chosen: Precision = "bfloat16" if slow >= WORTH * fast else "float32"
    return chosen, f"precision {chosen}: a pass in bfloat16 took {fast:.3f} s, in float32 {slow:.3f} s"


def _positions(batch: Batch) -> int:
    return batch.src.numel() + batch.tgt_out.numel()


def _part(batch: Batch, model: EncoderDecoder, product: float) -> Batch:
    """A quarter of the rows of `batch`, or as many as pass within a quarter of BUDGET.

    `product` is how many seconds a product of the size PROBE takes in float32 on one thread.
    """
    (rows, source), target, vocab = batch.src.shape, batch.tgt_out.size(1), model.projection.size(0)
    operations = training_flops(model.config, vocab, rows, source, target)
    expected = operations * product / (2 * math.prod(PROBE)) / torch.get_num_threads()
    return split(batch, max(4, math.ceil(4 * expected / BUDGET)))[0]


def _pass(model: EncoderDecoder, batch: Batch, precision: Precision, device: torch.device, smoothing: float) -> float:
    """Seconds of a forward and backward pass."""
    before = time.perf_counter()
    with autocast(precision, device):
        loss = batch_loss(model, batch, smoothing)
    loss.backward()
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return time.perf_counter() - before
