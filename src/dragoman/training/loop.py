"""The training loop, section 5: update, validate, save, and resume exactly where it stopped.

Input: a `RunConfig`, a model, a stream of batches and the validation set. Output: checkpoints and, averaged, the final
weights in the model. Validation by translation is passed as a callable, so that training imports no search.
"""

import copy
import math
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path

import torch

from dragoman.config import RunConfig
from dragoman.data.batches.batch import Batch
from dragoman.data.batches.stream import BatchStream, Update
from dragoman.errors import DivergenceError, DragomanError, Interrupted, counted
from dragoman.model.build import require_transformer
from dragoman.model.lora import attach, load_merged
from dragoman.model.parts.device import emulation_notice
from dragoman.model.parts.network import EncoderDecoder
from dragoman.system.processes import sigterm_interrupts, stop_on_signals
from dragoman.training.report.meter import Meter
from dragoman.training.report.reports import (
    Outcome,
    StepReport,
    TrainingListener,
    TranslationScores,
    ValidationReport,
)
from dragoman.training.resume.averaging import best_average, unusable_weights
from dragoman.training.resume.checkpoint import (
    BackgroundWriter,
    RunProgress,
    evaluation_weights,
    load_checkpoint,
    newest_intact,
    save_checkpoint,
    state_of,
    what_is_kept,
)
from dragoman.training.resume.snapshots import Snapshots
from dragoman.training.resume.triggers import Triggers
from dragoman.training.resume.validation import BestTracker, validation_loss
from dragoman.training.update.device_step import DeviceStep, suits_the_device
from dragoman.training.update.distributed import ProcessGroup, gather_full_state, load_parameters
from dragoman.training.update.ema import MovingAverage
from dragoman.training.update.gradient import GradientAccumulator, SplitsDoubled
from dragoman.training.update.optimizer import build_optimizer, clip_grad_norm
from dragoman.training.update.precision import choose_precision
from dragoman.training.update.prefetch import Prefetched
from dragoman.training.update.schedule import learning_rate
from dragoman.training.update.threads import continue_with_threads

# Updates on a device after which their losses are read, if no report does so before.
UNREAD = 100
# A validation loss of this many times that of guessing is that of weights that diverged, finite as it is.
FAR_ABOVE = 2.0
DIVERGENCE_HINT = "start again with a lower train.learning_rate, or with train.clip_norm"


class Trainer:
    """Trains a model, alone or as one process of a group. `fit` ends with the final weights in `final`."""

    def __init__(
        self,
        config: RunConfig,
        model: EncoderDecoder,
        stream: BatchStream,
        valid: Sequence[Batch],
        *,
        folder: Path,
        device: torch.device,
        translate: Callable[[EncoderDecoder], TranslationScores] | None = None,
        group: ProcessGroup = ProcessGroup(),  # noqa: B008 - a frozen value
        on_device: bool | None = None,
    ) -> None:
        """`on_device`: whether updates are those of `DeviceStep`; None: wherever they can be."""
        train = config.train
        if on_device is None:
            on_device = suits_the_device(model, train, group, device)
        stream.in_rows = on_device
        self.config, self.valid, self.group, self.stream = config, valid, group, stream
        self.updates = Prefetched(stream, pinned=True) if device.type == "cuda" else stream
        self.position, self.skipped = stream.position, stream.skipped
        self.folder, self.device, self.translate = folder, device, translate
        self.complete: Callable[[EncoderDecoder, Batch, int], Batch] | None = None  # adds what the objective needs
        self.listeners: list[TrainingListener] = []
        self.model = model.to(device)
        sharded = group.size > 1 and train.parallel == "fsdp"
        apart = train.average == "ema" or train.compile or train.lora_rank or sharded
        # What is validated and ends in the bundle: the model itself, or a full one next to what is being trained.
        self.final = copy.deepcopy(self.model) if apart and group.is_main else self.model
        self.load_final = partial(load_parameters, self.final)
        self.snapshots = Snapshots(folder.parent, config, self.final)
        if train.lora_rank:  # from here on the model's parameters are A and B
            attach(self.model, train)
            self.load_final = partial(load_merged, self.final, self.model, scale=train.lora_scale)
        self.gradient = GradientAccumulator(self.model, train, group, device)
        self.optimizer = build_optimizer(self.model, train, recordable=on_device)
        self.mean = MovingAverage(self.model, train.ema_decay) if train.average == "ema" else None
        self.device_step: DeviceStep | None = None
        if on_device:
            transformer = require_transformer(self.model, "a step on the device")
            self.device_step = DeviceStep(transformer, self.gradient, self.optimizer, self.mean)
        self.writer = BackgroundWriter() if on_device else None
        self.unread: list[list[str]] = []  # the pairs of updates whose loss the device still has
        self.rate, self.norm = 0.0, 0.0
        if group.size > 1:  # the initial weights are equal, dropout differs
            torch.manual_seed(train.seed + 1_000_003 * group.rank)
        self.tracker, self.triggers = BestTracker(train.watch), Triggers(train)
        self.validated: dict[int, float] = {}
        self.lost: set[int] = set()
        self.run_files: dict[str, bytes] = {}  # what each checkpoint keeps of the run's folder
        self.accumulate = train.accumulate
        self.step, self.target_tokens, self.seconds_before, self.prepared = 0, 0, 0.0, False
        self.started = time.monotonic()
        self.clock = 0.0  # of the main process, at the last step
        self.guessing = math.log(self.model.projection.size(0))  # ln V: the loss where all pieces are equally likely
        self.meter = Meter(config.model, self.model.projection.size(0), device, passes=2 if train.r_drop else 1)

    def resume(self, step: int | None = None) -> None:
        """Continue from the checkpoint of `step`, by default the latest that is intact."""
        step = newest_intact(self.folder)[0] if step is None else step
        progress = load_checkpoint(self.folder, step, self.model, self.optimizer, self.group, self.mean)
        self.step, self.target_tokens, self.seconds_before = step, progress.target_tokens, progress.seconds
        self.clock = self.triggers.saved = progress.seconds
        if self.group.is_main:
            self.snapshots.drop_after(step)
        self.stream.batch_tokens = progress.batch_tokens
        if progress.in_rows == self.stream.in_rows:
            self.updates.load_state_dict(progress.position)
        else:
            self.updates.load_state_dict({**progress.position, "batch": 0})
            self._notice("updates are made of other pairs than before: this part of the text begins again")
        self.position = self.stream.position
        self.tracker = BestTracker(**progress.tracker)
        lost = self._lost({*progress.validated, self.tracker.best_step})
        self.validated = {step: value for step, value in progress.validated.items() if step not in lost}
        self.accumulate = progress.accumulate
        if not self._end():  # drop a validation that only an earlier end of the run caused
            self.validated = {s: value for s, value in self.validated.items() if self.triggers.is_validation(s)}
        self.gradient.resume(progress.precision, progress.splits, progress.balance)
        on_cpu = self.device.type == "cpu"
        if on_cpu and (changed := continue_with_threads(progress.threads, self.config.train.threads)):
            self._notice(changed)
        if progress.device not in ("", self.device.type):
            moved = f"started on {progress.device}, now on {self.device.type}"
            self._notice(f"{moved}: results will not be bit-identical")
        if progress.torch != torch.__version__:
            self._notice(
                f"started with PyTorch {progress.torch}, now {torch.__version__}: results will not be bit-identical"
            )
        if progress.processes != self.group.size:
            self._change_group_size(progress)

    def _change_group_size(self, before: RunProgress) -> None:
        """Keep the pairs of an update the same, if this number of processes can divide them."""
        batches = before.accumulate * before.processes
        self.accumulate = max(1, round(batches / self.group.size))
        torch.manual_seed(self.config.train.seed + 1_000_003 * self.group.rank + 7919 * self.step)
        change = f"{before.processes} → {self.group.size} processes: dropout differs from here on"
        if self.accumulate * self.group.size != batches:
            change += f", and an update is {self.accumulate * self.group.size} batches instead of {batches}"
        self._notice(change)

    @property
    def seconds(self) -> float:
        """Training time in seconds, summed over resumed parts."""
        return self.seconds_before + time.monotonic() - self.started

    def fit(self) -> Outcome:
        """Train to the end.

        Raises Interrupted after a signal, with everything saved; DivergenceError if the loss is not finite, or at the
        end far above that of guessing; DistributedError if another process is lost.
        """
        self.started = time.monotonic()
        self.model.train()
        self.prepare()
        if not self.step:
            if self.group.is_main:  # of a run that was killed before its first checkpoint
                self.snapshots.drop_after(-1)
            self._snapshot()
        self.meter.start(self.seconds)
        with stop_on_signals() as stopped:
            while not (reason := self._end()):
                with self.group.raise_if_lost(f"step {self.step + 1:,}"):
                    before, stop = self.clock, self._update(stopped)
                    self._snapshot()
                    event = self.triggers.after(self.step, before, self.clock, ends=bool(self._end()))
                    if event == "checkpoint":
                        self._save()
                    elif event:
                        self._validate(counts=event == "validation")
                    if stop or (self.group.size == 1 and stopped()):
                        self._save()
                        self._wait_for_disk()
                        raise self._stopped()
            if not self.validated:  # a run stopped before its first validation and resumed with less to do
                self._validate()
        try:
            with sigterm_interrupts():
                return self._finish(reason)
        except KeyboardInterrupt:
            raise self._stopped() from None

    def _stopped(self) -> Interrupted:
        return Interrupted(f"stopped at step {self.step:,}, saved; continue with --resume")

    def prepare(self) -> None:
        """Choose the precision of a new run; `fit` does so unless it was called before."""
        if self.prepared or self.step:
            return
        self.prepared, train = True, self.config.train
        if train.precision != "auto":
            if train.precision == "bfloat16" and (notice := emulation_notice(self.device, "train.precision")):
                self._notice(notice)
            return
        if self.group.is_main:
            chosen = choose_precision(self.final, self.device)
        self.gradient.precision, why = self.group.broadcast(chosen if self.group.is_main else None)
        self._notice(why)

    def _end(self) -> str | None:
        return self.triggers.end(self.step, self.clock, self.tracker.bad_validations)

    def _update(self, stopped: Callable[[], bool]) -> bool:
        """One step, from the mean loss over the target tokens of all processes; returns whether to stop after it."""
        train = self.config.train
        update = self.updates.next_update(self.accumulate)
        self.position, self.skipped = update.position, update.skipped
        if self.device_step:
            self._start_on_device(self.device_step, update)
            return stopped()
        mine = self._backward(update)
        norm = clip_grad_norm(self.model.parameters(), train.clip_norm or math.inf)
        here = [float(rank == self.group.rank and not math.isfinite(mine)) for rank in range(self.group.size)]
        loss, stop, clock, *wrong = self.group.all_reduce_sum(
            [mine, float(stopped()), self.seconds if self.group.is_main else 0.0, *here]
        )
        if not math.isfinite(loss) or not math.isfinite(norm):
            ranks = [rank for rank, is_wrong in enumerate(wrong) if is_wrong]
            raise divergence(self.folder, self.step + 1, self.group, locations_of(update), loss, norm, ranks)
        self.step, self.clock, self.norm = self.step + 1, clock, norm
        self.rate = learning_rate(self.step, self.config.model.d_model, train, clock / 60)
        for group in self.optimizer.param_groups:
            group["lr"] = self.rate
        self.optimizer.step()
        self.optimizer.zero_grad()
        if self.mean:
            self.mean.update(self.step)
        self.gradient.rebalance(update.target_tokens)
        self._count(update, loss)
        return stop > 0

    def _start_on_device(self, step: DeviceStep, update: Update) -> None:
        """`_update` without waiting for its result: `_read` has the loss, and an error of it, when it is needed."""
        clock = self.seconds
        rate = learning_rate(self.step + 1, self.config.model.d_model, self.config.train, clock / 60)
        while True:
            try:
                step(update, rate, self.step + 1)
                break
            except SplitsDoubled as doubled:
                self._notice(f"step {self.step + 1:,}: {doubled}")
        self.step, self.clock, self.rate = self.step + 1, clock, rate
        self.unread.append(locations_of(update))
        self._count(update, 0.0)
        if len(self.unread) == UNREAD:
            self._read()

    def _count(self, update: Update, loss: float) -> None:
        """The step that `update` made: its tokens and, if it is known, its summed loss; a report if one is due."""
        self.target_tokens += update.target_tokens
        self.meter.add(loss, update.target_tokens, update.batches, update.divisor)
        for listener in self.listeners:
            listener.on_update(self.step)
        if self.step % self.config.train.log_every == 0:
            self._read()
            self._report()

    def _read(self) -> None:
        """Wait for the steps on the device. Raises DivergenceError for the first that went wrong."""
        if not self.device_step or not self.unread:
            return
        before, unread = self.step - len(self.unread), self.unread
        reading, self.unread = self.device_step.tally.read(), []
        if wrong := reading.wrong:
            self._wait_for_disk()
            step, pairs = before + wrong.update, unread[wrong.update - 1]
            raise divergence(self.folder, step, self.group, pairs, wrong.loss, wrong.norm, [0])
        self.norm = reading.norm
        self.meter.add_loss(reading.loss)

    def _backward(self, update: Update) -> float:
        """The gradient of an update; while it runs out of memory, its batches are cut into more splits."""
        batches = update.batches
        if self.complete:
            batches = [self.complete(self.model, batch, self.step) for batch in batches]
        while True:
            try:
                return self.gradient.backward(batches, update.divisor)
            except SplitsDoubled as doubled:
                self.optimizer.zero_grad()
                self._notice(f"step {self.step + 1:,}: {doubled}")

    def _report(self) -> None:
        report = StepReport(
            step=self.step,
            epoch=self.position.epoch,
            learning_rate=self.rate,
            gradient_norm=self.norm,
            target_tokens=self.target_tokens,
            uneven_load=self.gradient.balance.uneven,
            **self.meter.read(self.seconds),
        )
        for listener in self.listeners:
            listener.on_step(report)

    def _validate(self, counts: bool = True) -> None:
        """Measure, save and report; a score that does not count changes nothing in the run."""
        self._read()
        paused = self.seconds
        loss, scores, value = self.group.broadcast(self._measure())
        if self._far_above_guessing(loss):
            self._notice(f"{self._divergence(loss)}; unless it falls, {DIVERGENCE_HINT}")
        best = counts and self.tracker.improves(value)
        if counts:
            self.tracker = self.tracker.update(value, self.step)
            self.validated[self.step] = value
        self._save()
        report = ValidationReport(
            step=self.step,
            epoch=self.position.epoch,
            seconds=self.seconds,
            loss=loss,
            best=best,
            translations=scores,
            skipped=self.skipped.count,
            first_skipped=self.skipped.first,
        )
        for listener in self.listeners:
            listener.on_validation(report)
        self.meter.pause(self.seconds - paused)

    def _measure(self) -> tuple[float, TranslationScores | None, float] | None:
        """In the main process: the validation loss, the scores if the model translates, and the watched value."""
        weights = gather_full_state(evaluation_weights(self.model, self.mean), self.group)
        if not self.group.is_main:
            return None
        if self.final is not self.model:
            self.load_final(weights)
        self.final.eval()
        loss = self._validation_loss()
        if not math.isfinite(loss):  # before it replaces a checkpoint
            self._wait_for_disk()
            raise DivergenceError(
                f"step {self.step:,}: the validation loss is {loss}; {what_is_kept(self.folder)}; {DIVERGENCE_HINT}"
            )
        scores = self.translate(self.final) if self.translate else None
        self.final.train()
        watched = loss if self.tracker.metric == "loss" or scores is None else getattr(scores, self.tracker.metric)
        return loss, scores, watched

    def _validation_loss(self) -> float:
        precision = self.gradient.precision if self.device_step else None
        return validation_loss(self.final, self.valid, self.device, precision)

    def _notice(self, text: str) -> None:
        for listener in self.listeners:
            listener.on_notice(self.step, text)

    def _save(self) -> None:
        self._read()  # no checkpoint has the weights of a step that went wrong
        keep = {*self.tracker.to_average(self.validated, self.config.train), self.tracker.best_step}
        self.validated = {step: value for step, value in self.validated.items() if step in keep}
        progress = RunProgress(
            self.step,
            asdict(self.position),
            asdict(self.tracker),
            self.seconds,
            self.target_tokens,
            self.gradient.precision,
            self.group.size,
            self.accumulate,
            self.stream.batch_tokens,
            self.gradient.splits,
            torch.get_num_threads(),
            torch.__version__,
            dict(self.validated),
            self.gradient.balance.coefficients,
            self.device.type,
            self.stream.in_rows,
        )
        if self.writer:
            state = state_of(self.model, self.optimizer, self.group, self.mean)
            self.writer.save(self.folder, progress, state, keep, self.run_files)
        else:
            run = self.model, self.optimizer, keep, self.group, self.mean, self.run_files
            save_checkpoint(self.folder, progress, *run)
        self.triggers.saved = self.clock

    def _snapshot(self) -> None:
        """A snapshot of the weights, if one is due after this step. It draws no random number."""
        if self.snapshots.is_due(self.step):
            weights = gather_full_state(evaluation_weights(self.model, self.mean), self.group)
            if self.group.is_main:
                try:
                    self.snapshots.save(self.step, weights)
                except (DragomanError, OSError) as error:  # a film is worth less than the run
                    self._notice(f"no snapshot of this step: {error}")

    def _wait_for_disk(self) -> None:
        """Until the last checkpoint is written, where it is written while training continues."""
        if self.writer:
            self.writer.wait()

    def _finish(self, reason: str) -> Outcome:
        """Load the averaged checkpoints or the best one into `final`, whichever has the lower validation loss."""
        self._wait_for_disk()
        chosen = None
        if self.group.is_main:
            averaged, best = self.tracker.to_average(self.validated, self.config.train), self.tracker.best_step
            lost = self._lost({*averaged, best})
            candidates = [tuple(step for step in steps if step not in lost) for steps in ([best], averaged)]
            self.final.eval()
            chosen = best_average(
                self.folder,
                filter(any, candidates),
                self.load_final,
                self._validation_loss,
            )
        loss, steps = self.group.broadcast(chosen)
        if self._far_above_guessing(loss):
            raise DivergenceError(
                f"{self._divergence(loss)}: the run diverged, and no model is written; {what_is_kept(self.folder)}; "
                f"{DIVERGENCE_HINT}"
            )
        return Outcome(self.step, reason, self.seconds, self.target_tokens, loss, steps, self.gradient.precision)

    def _far_above_guessing(self, loss: float) -> bool:
        return loss > FAR_ABOVE * self.guessing

    def _divergence(self, loss: float) -> str:
        return (
            f"step {self.step:,}: the validation loss, {loss:,.1f} nats per token, is far above ln V = "
            f"{self.guessing:.1f}, that of guessing"
        )

    def _lost(self, steps: Collection[int]) -> set[int]:
        """The steps whose weights are damaged or missing; each is reported once."""
        for step, fault in unusable_weights(self.folder, {*steps} - {0, *self.lost}).items():
            self._notice(f"{fault}; the final model is averaged without it")
            self.lost.add(step)
        return self.lost


def locations_of(update: Update) -> list[str]:
    """The `file:line` of the pairs of this process."""
    return [location for batch in update.batches for location in batch.locations]


def divergence(
    folder: Path,
    step: int,
    group: ProcessGroup,
    locations: Sequence[str],
    loss: float,
    norm: float,
    ranks: Sequence[int],
) -> DivergenceError:
    """The error for an update at `step`, of the pairs at `locations`, whose loss or gradient is not finite.

    It names step, pairs and checkpoint. The pairs are written next to the checkpoints in `folder`. `ranks` are the
    processes whose loss is not finite.
    """
    if ranks and group.rank not in ranks:
        return DivergenceError(f"step {step:,}: the loss of process {ranks[0]} is not a number")
    which = f" of process {group.rank}" if group.size > 1 else ""
    named = folder.parent / (f"diverged.{group.rank}.txt" if group.size > 1 else "diverged.txt")
    named.write_text("".join(location + "\n" for location in locations), encoding="utf-8")
    what = f"loss is {loss}" if not math.isfinite(loss) else f"gradient's norm is {norm}"
    pairs = f"{counted(len(locations), 'pair')} ({', '.join(locations[:3])}, … all in {named})"
    return DivergenceError(f"step {step:,}: the {what}{which} on {pairs}; {what_is_kept(folder)}; {DIVERGENCE_HINT}")
