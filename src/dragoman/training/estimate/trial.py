"""Some timed updates before a run: how long a step takes on this machine, and how much memory.

Input: a model and the shapes of its batches. Output: seconds and bytes. Weights, gradients and random states are left
as they were: nothing that a trial does changes a run.
"""

import random
import time
from dataclasses import dataclass

import torch
from torch import nn

from dragoman.config import AnyModel, TrainConfig
from dragoman.data.batches.batch import Batch, Example, collate, split
from dragoman.data.batches.batching import Workload, shape_of
from dragoman.errors import ResourceError
from dragoman.model.parts.network import EncoderDecoder
from dragoman.system.machine import resident_memory
from dragoman.training.cost.flops import training_flops
from dragoman.training.update.gradient import GradientAccumulator
from dragoman.training.update.optimizer import build_optimizer, clip_grad_norm

# Seconds after which no further batch is timed.
BUDGET = 3.0
# Batches that are timed at most, and parameters of the optimizer's trial.
BATCHES, SCRATCH = 8, 2_000_000
# Adam's two moments, in bytes per parameter.
MOMENTS = 8


@dataclass(frozen=True, slots=True)
class StepTrial:
    """What a step of one model takes."""

    step_seconds: float
    memory: int | None
    """Peak memory in bytes: of the process on a CPU, of the GPU otherwise."""


def time_updates(
    gradient: GradientAccumulator, model: EncoderDecoder, workload: Workload, budget: float = BUDGET
) -> StepTrial | None:
    """The mean time of an update of `workload`, from some of its batches. None if a batch needs too much memory."""
    device, vocab, splits = gradient.device, model.projection.size(0), gradient.splits
    order = sorted(range(len(workload.batches)), key=lambda index: -_positions(workload.batches[index]))
    chosen = [order[0], *(index for index in range(len(workload.batches)) if index != order[0])][:BATCHES]
    per_batch = sum(flops_of(model.config, vocab, batch) for batch in workload.batches) / len(workload.batches)
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
    seconds = flops = 0.0
    try:
        with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
            first = synthetic(workload.batches[chosen[0]], vocab)
            gradient.backward([split(first, 4)[0]], first.target_tokens)  # compiles kernels, fills caches
            for index in chosen:
                batch = synthetic(workload.batches[index], vocab)
                before = time.perf_counter()
                gradient.backward([batch], batch.target_tokens)
                seconds += time.perf_counter() - before
                flops += flops_of(model.config, vocab, workload.batches[index])
                if seconds > budget:
                    break
            optimizer = _optimizer_seconds(gradient.train, min(model.parameter_count, SCRATCH), device)
        memory = torch.cuda.max_memory_allocated(device) if device.type == "cuda" else resident_memory()
    except ResourceError:
        return None
    finally:
        model.zero_grad()
        gradient.splits = splits
    parameters = model.parameter_count
    update = seconds / flops * per_batch * workload.batches_per_step / max(1, gradient.group.size)
    update += optimizer * parameters / SCRATCH
    return StepTrial(update, memory and memory + MOMENTS * parameters)


def synthetic(lengths: tuple[tuple[int, int], ...], vocab: int) -> Batch:
    """Random ids of these lengths, with EOS."""
    rng = random.Random(0)

    def sentence(length: int) -> list[int]:
        return [rng.randrange(4, vocab) for _ in range(length - 1)]

    return collate([Example(sentence(source), sentence(target), "") for source, target in lengths])


def flops_of(model: AnyModel, vocab: int, batch: tuple[tuple[int, int], ...]) -> int:
    """Operations of a batch."""
    rows, source, target = shape_of(batch)
    return training_flops(model, vocab, rows, source, target)


def _positions(batch: tuple[tuple[int, int], ...]) -> int:
    rows, source, target = shape_of(batch)
    return rows * (source + target)


def _optimizer_seconds(train: TrainConfig, size: int, device: torch.device) -> float:
    """Seconds in which Adam updates SCRATCH numbers, from the second of two updates of `size` numbers."""
    scratch = nn.Linear(1, 1)
    scratch.weight = nn.Parameter(torch.ones(size, 1, device=device))
    scratch.bias = None  # type: ignore[assignment]
    optimizer = build_optimizer(scratch, train)
    taken = 0.0
    for _ in range(2):
        scratch.weight.grad = torch.ones_like(scratch.weight)
        before = time.perf_counter()
        clip_grad_norm(scratch.parameters(), 1.0)
        optimizer.step()
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        taken = time.perf_counter() - before
    return taken * SCRATCH / size
