"""The training loop, section 5: update, validate, save, and go on exactly where it stopped.

Enters a `RunConfig`, a model, a stream of batches and the validation set; leaves checkpoints and, averaged, the
final weights in the model. Validation by translation arrives as a callable, so that training imports no search.
"""

import math
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

import torch

from dragoman.config import RunConfig
from dragoman.data.batch import Batch
from dragoman.data.stream import BatchStream
from dragoman.errors import DivergenceError, Interrupted
from dragoman.model.device import arithmetic, within_memory
from dragoman.model.transformer import Transformer
from dragoman.train.checkpoint import (
    Progress,
    average_weights,
    checkpoint_steps,
    load_checkpoint,
    save_checkpoint,
)
from dragoman.train.log import Listener, StepReport, ValidationReport
from dragoman.train.optimizer import build_optimizer
from dragoman.train.precision import Precision, choose_precision
from dragoman.train.schedule import learning_rate
from dragoman.train.validation import TranslationScores, Watch, batch_loss, validation_loss


@dataclass(frozen=True)
class Outcome:
    """How a run ended."""

    step: int
    reason: str
    seconds: float
    target_tokens: int
    loss: float
    """Validation loss of the final weights, in nats a target token."""
    averaged: tuple[int, ...]
    """Steps whose weights the final model is the mean of."""


class Trainer:
    """One run. `fit` ends with the final weights in `model`."""

    def __init__(
        self,
        config: RunConfig,
        model: Transformer,
        stream: BatchStream,
        valid: Sequence[Batch],
        *,
        folder: Path,
        device: torch.device,
        translate: Callable[[Transformer], TranslationScores] | None = None,
    ) -> None:
        self.config, self.model, self.stream, self.valid = config, model.to(device), stream, valid
        self.folder, self.device, self.translate = folder, device, translate
        self.listeners: list[Listener] = []
        self.optimizer = build_optimizer(model, config.train)
        self.watch = Watch(config.train.watch)
        self.validated: dict[int, float] = {}
        self.precision: Precision = "float32" if config.train.precision == "auto" else config.train.precision
        self.step, self.target_tokens, self.seconds_before = 0, 0, 0.0
        self.started = time.monotonic()
        self._since_report: list[tuple[float, int]] = []  # (summed loss, target tokens) of each step
        self._reported_at = 0.0

    def resume(self) -> None:
        """Continue from the latest checkpoint on disk."""
        step = checkpoint_steps(self.folder)[-1]
        progress = load_checkpoint(self.folder, step, self.model, self.optimizer)
        self.step, self.target_tokens, self.seconds_before = step, progress.target_tokens, progress.seconds
        self.stream.load_state_dict(progress.stream)
        self.watch = Watch(**progress.watch)
        self.validated, self.precision = progress.validated, progress.precision

    @property
    def seconds(self) -> float:
        """Training time, resumed parts added up."""
        return self.seconds_before + time.monotonic() - self.started

    def fit(self) -> Outcome:
        """Train to the end.

        Raises Interrupted after a signal, everything saved; DivergenceError when the loss is no longer a number.
        """
        self.started, self._reported_at = time.monotonic(), self.seconds
        self.model.train()
        if self.config.train.precision == "auto" and not self.step:
            self.precision, why = choose_precision(
                self.model, self.valid, self.device, self.config.train.label_smoothing
            )
            self._notice(why)
        with stop_on_signals() as stopped:
            while not (reason := self._end()):
                self._update()
                if self.step % self.config.train.validate_every == 0:
                    self._validate()
                if stopped():
                    self._save()
                    raise Interrupted(f"stopped at step {self.step:,}, saved; continue with --resume")
            if self.step % self.config.train.validate_every:
                self._validate()
        return self._finish(reason)

    def _end(self) -> str | None:
        train = self.config.train
        if self.step >= train.max_steps:
            return f"{train.max_steps:,} steps done"
        if train.max_minutes and self.seconds >= 60 * train.max_minutes:
            return f"{train.max_minutes:g} minutes used"
        if train.patience and self.watch.waited >= train.patience:
            return f"no better {train.watch} in {train.patience} validations"
        return None

    def _update(self) -> None:
        """One step: the gradient of the mean loss over all target tokens of its micro-batches."""
        train = self.config.train
        batches = self.stream.next_update(train.accumulate)
        tokens = sum(batch.target_tokens for batch in batches)
        loss = 0.0
        for batch in batches:
            what = f"a batch of {batch.src.size(0)} pairs of {batch.src.size(1)} + {batch.tgt_in.size(1)} tokens"
            with within_memory(what, "lower train.batch_tokens, raise train.accumulate, and go on with --resume"):
                with arithmetic(self.precision, self.device):
                    summed = batch_loss(self.model, batch.to(self.device), train.label_smoothing)
                (summed / tokens).backward()
            loss += summed.item()
        norm = float(torch.nn.utils.clip_grad_norm_(self.model.parameters(), train.clip_norm or math.inf))
        if not math.isfinite(loss) or not math.isfinite(norm):
            raise self._diverged(batches, loss, norm)
        self.step += 1
        rate = learning_rate(self.step, self.config.model.d_model, train.warmup, train.learning_rate)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.target_tokens += tokens
        self._since_report.append((loss, tokens))
        if self.step % train.log_every == 0:
            self._report(rate, norm)

    def _report(self, rate: float, norm: float) -> None:
        loss, tokens = (sum(column) for column in zip(*self._since_report, strict=True))
        seconds = self.seconds
        speed = tokens / (seconds - self._reported_at)
        report = StepReport(
            self.step,
            self.stream.position.epoch,
            loss / tokens,
            rate,
            norm,
            speed,
            self.target_tokens,
            seconds,
        )
        for listener in self.listeners:
            listener.on_step(report)
        self._since_report, self._reported_at = [], seconds

    def _validate(self) -> None:
        paused = self.seconds
        loss, scores, value = self._measure()
        best = self.watch.better(value)
        self.watch = self.watch.after(value, self.step)
        self.validated[self.step] = value
        self._save()
        skipped = self.stream.skipped
        report = ValidationReport(
            step=self.step,
            epoch=self.stream.position.epoch,
            seconds=self.seconds,
            loss=loss,
            best=best,
            translations=scores,
            skipped=skipped.count,
            first_skipped=skipped.first,
        )
        for listener in self.listeners:
            listener.on_validation(report)
        self._reported_at += self.seconds - paused

    def _measure(self) -> tuple[float, TranslationScores | None, float]:
        """The model's validation loss, its scores if it translates, and which of these numbers is watched."""
        self.model.eval()
        loss = validation_loss(self.model, self.valid, self.device)
        scores = self.translate(self.model) if self.translate else None
        self.model.train()
        watched = loss if self.watch.kind == "loss" or scores is None else getattr(scores, self.watch.kind)
        return loss, scores, watched

    def _notice(self, text: str) -> None:
        for listener in self.listeners:
            listener.on_notice(self.step, text)

    def _save(self) -> None:
        keep = {*self._to_average(), self.watch.best_step}
        self.validated = {step: value for step, value in self.validated.items() if step in keep}
        progress = Progress(
            self.step,
            self.stream.state_dict(),
            self.watch.state_dict(),
            self.seconds,
            self.target_tokens,
            self.precision,
            self.validated,
        )
        save_checkpoint(self.folder, progress, self.model, self.optimizer, keep)

    def _to_average(self) -> list[int]:
        train = self.config.train
        steps = sorted(self.validated)
        if train.average == "best":
            sign = 1 if self.watch.kind == "loss" else -1
            steps.sort(key=lambda step: -sign * self.validated[step])
        return sorted(steps[-train.average_count :])

    def _finish(self, reason: str) -> Outcome:
        """Leave in the model the better of two, by validation loss: the averaged checkpoints, or the best one."""
        losses: dict[tuple[int, ...], float] = {}
        self.model.eval()
        for steps in ((self.watch.best_step,), tuple(self._to_average())):
            self._fill(steps)
            losses[steps] = validation_loss(self.model, self.valid, self.device)
        steps = min(losses, key=losses.__getitem__)
        self._fill(steps)
        return Outcome(self.step, reason, self.seconds, self.target_tokens, losses[steps], steps)

    def _fill(self, steps: Sequence[int]) -> None:
        """Put the mean of the weights of these checkpoints into the model."""
        weights = average_weights(self.folder, steps)
        with torch.no_grad():
            for name, parameter in self.model.named_parameters():
                parameter.copy_(weights[name])

    def _diverged(self, batches: Sequence[Batch], loss: float, norm: float) -> DivergenceError:
        places = [place for batch in batches for place in batch.places]
        named = self.folder.parent / "diverged.txt"
        named.write_text("".join(place + "\n" for place in places), encoding="utf-8")
        what = f"loss is {loss}" if not math.isfinite(loss) else f"gradient's norm is {norm}"
        saved = checkpoint_steps(self.folder)
        kept = f"the checkpoint of step {saved[-1]:,} is kept" if saved else "no checkpoint had been saved yet"
        return DivergenceError(
            f"step {self.step + 1:,}: the {what} on {len(places)} pairs ({', '.join(places[:3])}, … all in {named}); "
            f"{kept}; lower train.learning_rate or set train.clip_norm"
        )


@contextmanager
def stop_on_signals() -> Iterator[Callable[[], bool]]:
    """Whether SIGINT or SIGTERM has arrived since; a second SIGINT stops at once."""
    arrived = False
    if threading.current_thread() is not threading.main_thread():  # Python delivers signals to the main one alone
        yield lambda: False
        return

    def remember(number: int, frame: FrameType | None) -> None:
        nonlocal arrived
        arrived = True
        signal.signal(signal.SIGINT, signal.default_int_handler)

    before = {number: signal.signal(number, remember) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield lambda: arrived
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
