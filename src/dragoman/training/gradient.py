"""The gradient of one update: the mean loss over all target tokens of all micro-batches of all processes.

It is the same number however the pairs of an update are cut up; arithmetic, memory and the group decide only how it is
found.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from dragoman.config import TrainConfig
from dragoman.data.batch import Batch, split
from dragoman.errors import ResourceError
from dragoman.model.device import arithmetic, within_memory
from dragoman.model.transformer import Transformer
from dragoman.training.distributed import ProcessGroup, no_sync, parallelize
from dragoman.training.precision import Precision
from dragoman.training.threads import at_once, shares
from dragoman.training.validation import SummedLoss

# So many shapes a layer is compiled for; further ones are computed as they are written.
SHAPES = 64


class _OutOfMemoryElsewhere(ResourceError):
    """In another process, before gradients were exchanged."""


class Gradient:
    """Leaves gradients in the parameters of a model, shared out over a group."""

    def __init__(self, model: Transformer, train: TrainConfig, group: ProcessGroup, device: torch.device) -> None:
        self.group, self.device = group, device
        if train.compile:
            compile_layers(model)
        if train.recompute:
            recompute_layers(model)
        summed_loss = SummedLoss(model, train.label_smoothing, train.r_drop)
        self.summed_loss = parallelize(summed_loss, model, group, train.parallel, device)
        self.precision: Precision = "float32" if train.precision == "auto" else train.precision
        self.pieces = 1
        self.exchanging = False
        """Whether other processes are or may be waiting for this one's weights or gradients."""
        self.exchanges = 0
        """Backward passes of this process that exchanged gradients."""
        # Elsewhere than in a single process the exchange listens for whole backward passes, and what is recomputed
        # draws its dropout anew from the default generator.
        self.divides = group.size == 1 and device.type == "cpu" and not (train.recompute or train.compile)
        self.parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
        self.in_parts = group.size > 1 and train.parallel == "fsdp"
        saving = {
            "train.recompute=true": not train.recompute,
            "train.parallel=fsdp": group.size > 1 and not self.in_parts,
        }
        keys = " and ".join(key for key, left in saving.items() if left)
        self.remedy = (f"give {keys}, with --resume if there is a checkpoint; or " if keys else "") + (
            "start anew with a lower train.batch_tokens, and train.accumulate as much higher"
        )

    def of(self, batches: Sequence[Batch], tokens: int) -> float | None:
        """The summed loss of this process's `batches`; their gradient, divided by everyone's `tokens`, is accumulated.

        None if memory did not suffice, here or in another process: `pieces`, into which batches are cut, has been
        doubled and the random state is as before, so that after `zero_grad` the same update can be tried again. Raises
        ResourceError where that cannot help: on a single pair, or while others wait for this process.
        """
        random = torch.get_rng_state()
        on_gpu = torch.cuda.get_rng_state(self.device) if self.device.type == "cuda" else None
        parts = [part for batch in batches for part in split(batch, self.pieces)]
        most = max(parts, key=lambda part: part.src.numel() + part.tgt_in.numel())
        rows, source, target = most.src.size(0), most.src.size(1), most.tgt_in.size(1)
        # FSDP exchanges from the first layer on; so does DDP after its first exchange, to arrange gradients anew.
        self.exchanging = self.in_parts or (self.group.size > 1 and self.exchanges == 1)
        try:
            with within_memory(f"{rows} pairs of {source} + {target} tokens", self.remedy):
                return sum(self._backward(part, tokens, last=part is parts[-1]) for part in parts)
        except _OutOfMemoryElsewhere:
            pass
        except ResourceError:
            if self.exchanging or rows == 1:
                raise
            self.group.any_rank(True)
        if self.group.size > 1:
            self._keep_promise(batches[0])
        torch.set_rng_state(random)
        if on_gpu is not None:
            torch.cuda.set_rng_state(on_gpu, self.device)
        self.pieces *= 2
        return None

    def _keep_promise(self, batch: Batch) -> None:
        """DDP may have been promised a backward pass with an exchange: everyone gives it one, of a single pair."""
        self.exchanging = True
        with within_memory("a single pair", self.remedy):
            self._summed_loss(split(batch, batch.src.size(0))[0]).backward()
        self.exchanges += 1

    def _backward(self, batch: Batch, tokens: int, last: bool) -> float:
        if self.divides and (parts := shares(batch)) > 1:
            return self._divided(split(batch, parts), tokens)
        with nullcontext() if last else no_sync(self.summed_loss):
            summed = self._summed_loss(batch)
            if last and not self.exchanging:
                if self.group.any_rank(False):
                    raise _OutOfMemoryElsewhere
                self.exchanging = self.group.size > 1
            # Over the processes gradients are averaged, and ours is to be their sum.
            (summed * (self.group.size / tokens)).backward()
        self.exchanges += last
        return float(summed.item())

    def _divided(self, parts: Sequence[Batch], tokens: int) -> float:
        """`_backward` of parts that threads take, each one's gradient apart and then their sum in order."""

        def of(part: Batch) -> tuple[float, Sequence[Tensor]]:
            summed = self._summed_loss(part)
            return float(summed.item()), torch.autograd.grad(summed / tokens, self.parameters)

        done = at_once([partial(of, part) for part in parts])
        for _, gradients in done:
            for parameter, gradient in zip(self.parameters, gradients, strict=True):
                parameter.grad = gradient if parameter.grad is None else parameter.grad.add_(gradient)
        return sum(loss for loss, _ in done)

    def _summed_loss(self, batch: Batch) -> Tensor:
        with arithmetic(self.precision, self.device):
            there = batch.to(self.device)
            summed: Tensor = self.summed_loss(there.src, there.tgt_in, there.tgt_out)
        return summed


def layers_of(model: Transformer) -> list[nn.Module]:
    """Those of the encoder, then those of the decoder."""
    return [*model.encoder, *model.decoder]


def recompute_layers(model: Transformer) -> None:
    """Have each layer keep its input alone, and compute the rest again in the backward pass."""
    for layer in layers_of(model):
        layer.forward = partial(checkpoint, layer.forward, use_reentrant=False)


def compile_layers(model: Transformer) -> None:
    """Have each layer compiled for every shape that it meets, which must be few: see `BatchStream`'s `few_shapes`."""
    torch._dynamo.config.recompile_limit = SHAPES
    for layer in layers_of(model):
        layer.forward = torch.compile(layer.forward, dynamic=False)


@contextmanager
def recomputed(model: Transformer, really: bool) -> Iterator[None]:
    """`recompute_layers` for a while, if `really`."""
    if not really:
        yield
        return
    recompute_layers(model)
    try:
        yield
    finally:
        for layer in layers_of(model):
            del layer.forward  # the class's own comes back
