"""The gradient of one update: of the mean loss over all target tokens of all micro-batches of all processes.

Its value does not depend on how the pairs of an update are divided into micro-batches, splits, threads and processes;
precision, memory and the process group only decide how it is computed.
"""

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial

import torch
from torch import Tensor

from dragoman.config import TrainConfig
from dragoman.data.batches.batch import Batch, split
from dragoman.errors import ResourceError, counted
from dragoman.model.parts.device import autocast, within_memory
from dragoman.model.parts.network import EncoderDecoder
from dragoman.training.objective.balance import Balance
from dragoman.training.objective.objective import build_loss
from dragoman.training.update.distributed import ProcessGroup, no_sync, parallelize
from dragoman.training.update.layers import COMPILED_SHAPES, compile_layers, recompute_layers
from dragoman.training.update.precision import Precision
from dragoman.training.update.threads import run_in_threads, thread_count_for


class SplitsDoubled(ResourceError):
    """An update ran out of memory and can be tried again: `splits` is doubled, random states are restored."""


class _OutOfMemoryElsewhere(ResourceError):
    """Another process ran out of memory before gradients were exchanged."""


class GradientAccumulator:
    """Accumulates the gradient of an update in a model's parameters, averaged over the processes of a group."""

    def __init__(self, model: EncoderDecoder, train: TrainConfig, group: ProcessGroup, device: torch.device) -> None:
        self.train, self.group, self.device = train, group, device
        if train.compile:
            compile_layers(model)
        if train.recompute:
            recompute_layers(model)
        self.balance = Balance(model.config)
        self.totals = [0.0] * len(self.balance.coefficients)
        """Of the experts, in the last update of this process: the balance of the next one is made from them."""
        self.summed_loss = parallelize(build_loss(model, train), model, group, train.parallel, device)
        self.precision: Precision = "float32" if train.precision == "auto" else train.precision
        self.splits = 1
        """Into how many parts each micro-batch is cut, so that one fits in memory."""
        self.exchanging = False
        """Whether other processes wait, or may wait, for this one's weights or gradients."""
        self.exchanges = 0
        """Backward passes of this process that exchanged gradients."""
        # Only in a single process: DDP and FSDP need whole backward passes. And not with recomputed layers, which would
        # draw their dropout from the default generator the second time.
        self.in_threads = group.size == 1 and device.type == "cpu" and not (train.recompute or train.compile)
        self.parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
        self.sharded = group.size > 1 and train.parallel == "fsdp"
        self.remedy = self._remedy(model)

    def _remedy(self, model: EncoderDecoder) -> str:
        possible = {
            "train.recompute=true": not self.train.recompute and model.config.architecture == "transformer",
            "train.parallel=fsdp": self.group.size > 1 and not self.sharded,
        }
        keys = " and ".join(key for key, is_possible in possible.items() if is_possible)
        return (f"set {keys}, with --resume if there is a checkpoint; or " if keys else "") + (
            "start again with a lower train.batch_tokens, and train.accumulate as much higher"
        )

    def resume(self, precision: Precision, splits: int, coefficients: Sequence[float]) -> None:
        self.precision = precision
        # With sharded weights all processes run equally many batches, and a batch of few pairs cannot be cut.
        self.splits = 1 if self.sharded else splits
        self.balance.coefficients = list(coefficients) or self.balance.coefficients

    def rebalance(self, target_tokens: int) -> None:
        """The balance of experts for the next update, from the totals of this one in all processes."""
        if self.totals:
            self.balance.after(self.group.all_reduce_sum(self.totals), target_tokens)

    def backward(self, micro_batches: Sequence[Batch], token_count: int) -> float:
        """Accumulate the gradient of this process's `micro_batches`; returns their summed loss.

        The loss is divided by `token_count`, the target tokens of all processes, or the terms that an objective has in
        their place. Raises SplitsDoubled if memory ran out, here or in another process: after `zero_grad` the caller
        can try the same update again. Raises another ResourceError where that cannot help: for a single pair, or while
        other processes wait for this one.
        """
        random_state = torch.get_rng_state()
        self.totals = [0.0] * len(self.totals)
        gpu_state = torch.cuda.get_rng_state(self.device) if self.device.type == "cuda" else None
        parts = [part for batch in micro_batches for part in split(batch, self.splits)]
        largest = max(parts, key=lambda part: part.src.numel() + part.tgt_in.numel())
        rows, source, target = largest.src.size(0), largest.src.size(1), largest.tgt_in.size(1)
        # FSDP exchanges weights from the first layer on. DDP may exchange early in its second backward pass with an
        # exchange, before which it rearranges its buckets of gradients.
        self.exchanging = self.sharded or (self.group.size > 1 and self.exchanges == 1)
        try:
            with self.settings(), within_memory(f"{counted(rows, 'pair')} of {source} + {target} tokens", self.remedy):
                return sum(self._backward(part, token_count, last=part is parts[-1]) for part in parts)
        except _OutOfMemoryElsewhere:
            pass
        except ResourceError:
            if self.exchanging or rows == 1:
                raise
            self.group.any_rank(True)
        # Outside the handlers: an exception keeps the tensors of its traceback in memory.
        if self.group.size > 1:
            self._run_pending_allreduce(micro_batches[0])
        torch.set_rng_state(random_state)
        if gpu_state is not None:
            torch.cuda.set_rng_state(gpu_state, self.device)
        self.splits *= 2
        raise SplitsDoubled(f"out of memory; batches are cut into {self.splits} from here on")

    def _run_pending_allreduce(self, batch: Batch) -> None:
        """DDP may expect a backward pass with an exchange: every process runs one, of a single pair."""
        self.exchanging = True
        with within_memory("a single pair", self.remedy):
            self._summed_loss(split(batch, batch.src.size(0))[0])[0].backward()
        self.exchanges += 1

    def _backward(self, batch: Batch, token_count: int, last: bool) -> float:
        if self.in_threads and (count := thread_count_for(batch)) > 1:
            return self._backward_in_threads(split(batch, count), token_count)
        with nullcontext() if last else no_sync(self.summed_loss):
            loss, totals = self._summed_loss(batch)
            if last and not self.exchanging:
                if self.group.any_rank(False):
                    raise _OutOfMemoryElsewhere
                self.exchanging = self.group.size > 1
            # DDP and FSDP average gradients over the processes; the update needs their sum.
            (loss * (self.group.size / token_count)).backward()
        self.exchanges += last
        self._add(totals)
        return float(loss.item())

    def _backward_in_threads(self, parts: Sequence[Batch], token_count: int) -> float:
        """`_backward` with one thread per part. Gradients are added in the order of the parts."""

        def backward(part: Batch) -> tuple[float, Sequence[Tensor], Tensor]:
            loss, totals = self._summed_loss(part)
            return float(loss.item()), torch.autograd.grad(loss / token_count, self.parameters), totals

        results = run_in_threads([partial(backward, part) for part in parts])
        for _, gradients, totals in results:
            self._add(totals)
            for parameter, gradient in zip(self.parameters, gradients, strict=True):
                parameter.grad = gradient if parameter.grad is None else parameter.grad.add_(gradient)
        return sum(loss for loss, _, _ in results)

    def _add(self, totals: Tensor) -> None:
        if self.totals:
            self.totals = [before + more for before, more in zip(self.totals, totals.tolist(), strict=True)]

    def _summed_loss(self, batch: Batch) -> tuple[Tensor, Tensor]:
        with autocast(self.precision, self.device):
            moved = batch.to(self.device)
            loss, totals = self.summed_loss(*moved.tensors, self.balance.coefficients)
        return loss, totals

    @contextmanager
    def settings(self) -> Iterator[None]:
        """Process-wide settings of PyTorch that an update needs, restored afterwards."""
        with warnings.catch_warnings() if self.sharded or self.train.compile else nullcontext():
            if self.sharded:  # a warning against writing into a layer's output in place, which no layer here does
                warnings.filterwarnings("ignore", message=".*returned a view tensor", category=UserWarning)
            if self.train.compile:  # a table of positions is computed again; float32 is meant to be float32
                warnings.filterwarnings("ignore", message=".*functools.lru_cache|TensorFloat32", category=UserWarning)
            with torch._dynamo.config.patch(recompile_limit=COMPILED_SHAPES) if self.train.compile else nullcontext():
                yield
