"""An update on a GPU that asks the device nothing: the host starts it and prepares the next.

    gradient   of each micro-batch:  loss of its rows → ∇(loss / terms), added to those before
    update     once:                 norm → clipped → Adam, average of the weights, tally

They are recorded (`dragoman.model.parts.recorded`) for tensors that stay where they are: the batch, the learning
rate and what the loss is divided by are written into them before. An update of one micro-batch is one recording. The
equations are those of the update on a CPU (`Trainer._update`); the tests hold the two equal. A gradient that is not
finite changes no weight and no moment: the tally has the first of them, for the error that ends the run.
"""

import math
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import torch
from torch import Tensor, nn

from dragoman.config import TrainConfig
from dragoman.data.batches.stream import Update
from dragoman.errors import ResourceError, counted
from dragoman.model.parts.device import autocast, within_memory
from dragoman.model.parts.recorded import Recorder, Work
from dragoman.model.transformer import Transformer
from dragoman.training.objective.row_loss import RowLoss
from dragoman.training.update.distributed import ProcessGroup
from dragoman.training.update.ema import MovingAverage
from dragoman.training.update.gradient import GradientAccumulator, SplitsDoubled
from dragoman.training.update.layers import compile_row_loss
from dragoman.training.update.tally import Tally

# Updates that the host may be ahead of the device: enough that the device never waits, few enough to stop at once.
AHEAD = 8
# What `torch.nn.utils.clip_grad_norm_` adds to a norm.
EPSILON = 1e-6
# `src`, `tgt_in` and `tgt_out` of a batch, and their shapes.
Tensors = tuple[Tensor, ...]
Shapes = tuple[torch.Size, ...]


def suits_the_device(model: nn.Module, train: TrainConfig, group: ProcessGroup, device: torch.device) -> bool:
    """Whether updates can be those of DeviceStep: a Transformer that one process trains on a GPU by likelihood.

    Everything else keeps the update of a CPU: several processes, which wait for each other; networks whose shapes
    depend on the data, as experts do; objectives that sample; and what reads the step on the host.
    """
    is_plain = isinstance(model, Transformer) and model.config.architecture == "transformer"
    on_host = train.objective != "likelihood" or train.r_drop or train.recompute or train.pull
    return device.type == "cuda" and group.size == 1 and is_plain and not on_host


class DeviceStep:
    """The updates of a Transformer by likelihood in one process, for batches of few shapes.

    Precision and splits are those of `accumulator`, which computes the gradient where this one does not.
    """

    def __init__(
        self,
        model: Transformer,
        accumulator: GradientAccumulator,
        optimizer: torch.optim.Adam,
        mean: MovingAverage | None,
    ) -> None:
        self.accumulator, self.optimizer, self.mean = accumulator, optimizer, mean
        self.train, self.device = train, device = accumulator.train, accumulator.device
        self.parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
        self.summed_loss = RowLoss(model, train.label_smoothing)
        if train.compile:
            compile_row_loss(self.summed_loss)
        self.tally, self.recorder = Tally(device), Recorder(device)
        self.rate, self.terms, self.blend, self.loss, self.rehearsing = torch.zeros(5, device=device).unbind()
        self.inputs: dict[Shapes, Tensors] = {}
        self.works: dict[tuple[str, Shapes], Work] = {}
        """What has been recorded: `step` of one micro-batch, or `gradient` of one of several, and `update`."""
        self.sums: list[Tensor] = []
        """The gradients of several micro-batches."""
        self.queued: deque[torch.cuda.Event] = deque()

    def __call__(self, update: Update, rate: float, step: int) -> None:
        """Start the update `step`, counted from 1, with this learning rate.

        Raises SplitsDoubled if memory ran out, before anything has changed: the caller can try again.
        """
        parts = [part for batch in update.batches for part in cut(batch.tensors, self.accumulator.splits)]
        kind = "step" if len(parts) == 1 else "gradient"
        for part in parts:
            self._prepare(kind, part)
        self.rate.fill_(rate)
        self.terms.fill_(update.divisor)
        if self.mean:
            self.blend.fill_(1 - self.mean.decay_at(step))
        for part in parts:
            self._load(part)
            self.works[kind, shapes_of(part)]()
        if kind == "gradient":
            self.works["update", ()]()
        self._stay_near()

    # --- what is recorded --------------------------------------------------------------------------------------------

    def _step(self, inputs: Tensors) -> None:
        """An update of one micro-batch: its gradient takes the memory that it is computed in."""
        self._hold([None] * len(self.parameters))
        self._backward(inputs)
        self._update()

    def _gradient(self, inputs: Tensors) -> None:
        self._hold(self.sums)
        self._backward(inputs)

    def _summed_update(self) -> None:
        self._hold(self.sums)
        self._update()
        torch._foreach_zero_(self.sums)

    def _backward(self, inputs: Tensors) -> None:
        with autocast(self.accumulator.precision, self.device):
            loss = self.summed_loss(*inputs)
        (loss / self.terms).backward()
        self.loss.add_(loss.detach())

    @torch.no_grad()
    def _update(self) -> None:
        norm = torch.nn.utils.get_total_norm([p.grad for p in self.parameters if p.grad is not None])
        is_wrong = ~(norm.isfinite() & self.loss.isfinite())
        for group in self.optimizer.param_groups:
            group["lr"] = self.rate
        # Adam's kernel divides by `grad_scale`, and does nothing where `found_inf` is 1.
        scale = ((norm + EPSILON) / self.train.clip_norm).clamp(min=1.0) if self.train.clip_norm else None
        self.optimizer.grad_scale = scale  # type: ignore[attr-defined]
        self.optimizer.found_inf = is_wrong.float().maximum(self.rehearsing)  # type: ignore[attr-defined]
        self.optimizer.step()
        if self.mean:
            self.mean.blend(self.blend)
        self.tally.add(self.loss, norm, is_wrong)
        self.loss.zero_()

    def _hold(self, gradients: list[Tensor] | list[None]) -> None:
        for parameter, gradient in zip(self.parameters, gradients, strict=True):
            parameter.grad = gradient

    # --- recording ---------------------------------------------------------------------------------------------------

    def _prepare(self, kind: str, part: Tensors) -> None:
        """Record what an update with `part` needs. Weights, moments, sums, tally and random states stay."""
        shapes = shapes_of(part)
        if (kind, shapes) in self.works:
            return
        (rows, source), (_, target), _ = shapes
        memory = within_memory(f"{counted(rows, 'row')} of {source} + {target} tokens", self.accumulator.remedy)
        try:
            with self.accumulator.settings(), memory, self._rehearsal():
                self.inputs[shapes] = tuple(torch.empty_like(tensor, device=self.device) for tensor in part)
                self._load(part)
                if kind == "step":
                    self._record(kind, shapes, partial(self._step, self.inputs[shapes]))
                else:
                    self.sums = self.sums or [torch.zeros_like(parameter) for parameter in self.parameters]
                    self._record(kind, shapes, partial(self._gradient, self.inputs[shapes]))
                    self._record("update", (), self._summed_update)
            return
        except ResourceError:
            if rows == 1:
                raise
        # Outside the handler: an exception keeps the tensors of its traceback in memory.
        self.accumulator.splits *= 2
        self.inputs, self.works = {}, {}
        raise SplitsDoubled(f"out of memory; batches are cut into {self.accumulator.splits} from here on")

    def _record(self, kind: str, shapes: Shapes, work: Work) -> None:
        if (kind, shapes) not in self.works:
            self.recorder.rehearse(work)
            self.works[kind, shapes] = self.recorder.record(work)

    def _load(self, part: Tensors) -> None:
        for here, tensor in zip(self.inputs[shapes_of(part)], part, strict=True):
            here.copy_(tensor, non_blocking=True)

    @contextmanager
    def _rehearsal(self) -> Iterator[None]:
        """In this context the work of an update changes nothing but what is restored at its end."""
        tally = self.tally.values.clone()
        with torch.random.fork_rng(devices=[self.device] if self.device.type == "cuda" else []):
            self.rehearsing.fill_(1)
            self.terms.fill_(1)
            self.blend.zero_()
            try:
                yield
            finally:
                self._hold([None] * len(self.parameters))
                torch._foreach_zero_([*self.sums, self.loss, self.rehearsing])
                self.tally.values.copy_(tally)

    def _stay_near(self) -> None:
        """Wait until the device is at most AHEAD updates behind."""
        if self.device.type != "cuda":
            return
        event = torch.cuda.Event()
        event.record()
        self.queued.append(event)
        if len(self.queued) > AHEAD:
            self.queued.popleft().synchronize()


def cut(tensors: Tensors, parts: int) -> list[Tensors]:
    """Their rows in up to `parts` parts, of which none is empty."""
    rows = math.ceil(tensors[0].size(0) / parts)
    return list(zip(*(tensor.split(rows) for tensor in tensors), strict=True))


def shapes_of(tensors: Tensors) -> Shapes:
    """What a recording is for: it serves all batches of these shapes."""
    return tuple(tensor.shape for tensor in tensors)
