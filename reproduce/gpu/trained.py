"""Training until a clock: the product's own loop, its learning rate going to zero at the end of the time.

`train.max_minutes` ends the run and `train.schedule = "linear"` takes the rate there. Meanwhile `Watch` writes down
what there is: speed at every report, the validation loss of the averaged weights every half minute, and the weights
themselves every minute, in bfloat16, so that a run that is cut off leaves a model.
"""

import hashlib
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import jobs
import torch
from torch import Tensor

from dragoman.config import RunConfig
from dragoman.data.corpus.report import CorpusReport
from dragoman.model.parts.network import EncoderDecoder
from dragoman.model.weights import load_tensors, save_tensors
from dragoman.text.tokens.tokenizer import Tokenizer
from dragoman.training.loop import Trainer
from dragoman.training.report.reports import Outcome, StepReport, TrainingListener, ValidationReport
from dragoman.training.resume.checkpoint import evaluation_weights
from dragoman.training.resume.validation import validation_loss
from dragoman.training.update.distributed import ProcessGroup
from dragoman.training.update.threads import prepare_process
from dragoman.workflows.listener import Listeners
from dragoman.workflows.train.trainer import Run, build_trainer

# A file of weights is at most this large, so that a job may return it.
PART = 15 << 20
# More than any run has: the clock ends it. A rehearsal ends after a few, however slow the machine is.
STEPS, REHEARSED = 10_000_000, 60
# The tensor of a file of weights that is no weight.
STEP = "step"
# As configured, without a compiler, and by updates as a CPU makes them.
WAYS: tuple[dict[str, Any], ...] = ({}, {"compile": False}, {"compile": False, "recompute": True})
DIGEST = hashlib.sha256().digest_size


@dataclass(frozen=True)
class Trained:
    """A finished training."""

    model: EncoderDecoder
    """With the averaged weights, on the device."""
    outcome: Outcome


def train_until(
    job: jobs.Job, config: RunConfig, tokenizer: Tokenizer, folder: Path, seconds: float, weights: Path | None = None
) -> Trained:
    """Train for some seconds, the validation at the end excepted. With `weights`, a path, these are its parts.

    What fails in the first third of the time is tried again in a plainer way, as long as there is one.
    """
    end, steps = time.monotonic() + seconds, REHEARSED if job.rehearse else STEPS
    for number, plainer in enumerate(WAYS, 1):
        keys: dict[str, Any] = {"max_minutes": max(1e-3, (end - time.monotonic()) / 60), "max_steps": steps}
        keys |= {"schedule": "linear", "validate_every": STEPS, "checkpoint_minutes": 0.0, "translate_lines": 0}
        keys |= {"average": "ema", **plainer}
        clocked = config.model_copy(update={"train": config.train.model_copy(update=keys)})
        prepare_process(clocked.train.threads, clocked.model.d_model)
        trainer = build_trainer(run_of(clocked, folder, job.device), tokenizer, 0)
        watch = Watch(job, trainer, weights)
        trainer.listeners.append(watch)
        try:
            outcome = trainer.fit()
            watch.finish(outcome)
            return Trained(trainer.final, outcome)
        except Exception as error:
            if end - time.monotonic() < 0.7 * seconds or number == len(WAYS) or job.device.type == "cpu":
                raise
            job.say(f"way {number} of training: {type(error).__name__}: {str(error)[:300]}")
    raise AssertionError


def run_of(
    config: RunConfig,
    folder: Path,
    device: torch.device,
    listener: Listeners | None = None,
    reports: Sequence[CorpusReport] = (),
) -> Run:
    """The run of a configuration; without `reports`, of text that was checked when it was packed."""
    listener = listener or Listeners()
    return Run(config, (), folder, device, ProcessGroup(), listener, reports, base=None, teacher=None, resume=False)


class Watch(TrainingListener):
    """Writes down how a training goes, as `training` in the facts of the job."""

    def __init__(self, job: jobs.Job, trainer: Trainer, weights: Path | None) -> None:
        self.job, self.trainer, self.weights = job, trainer, weights
        self.began = self.validated = self.written = time.monotonic()
        self.facts: dict[str, Any] = {"parameters": trainer.final.parameter_count, "curve": []}

    def on_update(self, step: int) -> None:
        """The first update says what preparation cost; then what is due by the clock."""
        now = time.monotonic()
        if step == 1:
            jobs.wait_for(self.job.device)
            self._note(seconds_to_first_update=round(time.monotonic() - self.began, 1))
        if self.weights and now - self.written >= self.job.minute:
            self.written = now
            averaged = evaluation_weights(self.trainer.model, self.trainer.mean)
            write_weights(unfinished(self.weights), averaged, step)
        if now - self.validated >= self.job.minute / 2:
            self.validated = now
            self._curve(step)

    def on_step(self, report: StepReport) -> None:
        speed = {"tokens_per_second": round(report.tokens_per_second), "utilisation": report.utilisation}
        counts = {"step": report.step, "epoch": report.epoch, "target_tokens": report.target_tokens}
        self._note(**counts, **speed, loss=round(report.loss, 4), learning_rate=report.learning_rate)

    def on_validation(self, report: ValidationReport) -> None:
        self.facts["curve"].append([report.step, round(report.seconds, 1), round(report.loss, 4)])
        self._note()

    def on_notice(self, step: int, text: str) -> None:
        self.job.say(f"step {step}: {text}")

    def finish(self, outcome: Outcome) -> None:
        """The end of the run, and its weights in place of those of the last minute."""
        self._note(outcome=asdict(outcome))
        if self.weights:
            write_weights(self.weights, dict(self.trainer.final.named_parameters()), outcome.step)
            for path in parts(unfinished(self.weights)):
                path.unlink()

    def _curve(self, step: int) -> None:
        trainer = self.trainer
        trainer.load_final(evaluation_weights(trainer.model, trainer.mean))
        loss = validation_loss(trainer.final.eval(), trainer.valid, trainer.device)
        self.facts["curve"].append([step, round(time.monotonic() - self.began, 1), round(loss, 4)])
        print(f"step {step:,}: validation loss {loss:.4f}", flush=True)
        self._note()

    def _note(self, **facts: Any) -> None:
        self.facts |= facts
        self.job.note(training=self.facts)


def outcome_of(facts: Mapping[str, Any], step: int) -> Outcome:
    """The end of a run from the facts of its job: as it says, or after `step`, where it was cut off."""
    if "outcome" in facts:
        return Outcome(**{**facts["outcome"], "averaged": tuple(facts["outcome"]["averaged"])})
    loss = facts["curve"][-1][2] if facts.get("curve") else float("nan")
    seconds = facts["curve"][-1][1] if facts.get("curve") else 0.0
    return Outcome(step, "the machine was gone", seconds, facts.get("target_tokens", 0), loss, (step,), "bfloat16")


# --- weights in bfloat16, in files that a job may return -----------------------------------------------------------


def write_weights(stem: Path, weights: Mapping[str, Tensor], step: int) -> None:
    """Write the weights in bfloat16 as STEM-1.weights, …: safetensors and its hash, cut into files of PART bytes."""
    halves = {key: tensor.detach().to(torch.bfloat16).cpu() for key, tensor in weights.items()}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "weights"
        save_tensors(path, halves | {STEP: torch.tensor([step])})
        content = path.read_bytes()
    content += hashlib.sha256(content).digest()
    for number, begin in enumerate(range(0, len(content), PART), 1):
        jobs.write(stem.with_name(f"{stem.name}-{number}.weights"), content[begin : begin + PART])


def read_weights(stem: Path) -> tuple[dict[str, Tensor], int]:
    """The weights in float32, and the step that they are of: those of the end, or the last that were written before.

    Parts of two different minutes are taken with a warning: averaged weights hardly differ from minute to minute.
    """
    paths = parts(stem) or parts(unfinished(stem))
    if not paths:
        raise SystemExit(f"{stem}: no weights of this name")
    content = b"".join(path.read_bytes() for path in paths)
    content, digest = content[:-DIGEST], content[-DIGEST:]
    if hashlib.sha256(content).digest() != digest:
        print(f"{stem}: the parts are of different minutes", file=sys.stderr)
    with tempfile.TemporaryDirectory() as temporary:
        path = Path(temporary) / "weights"
        path.write_bytes(content)
        tensors = load_tensors(path)
    step = int(tensors.pop(STEP))
    return {key: tensor.float() for key, tensor in tensors.items()}, step


def parts(stem: Path) -> list[Path]:
    """The files of weights, in order."""
    return sorted(stem.parent.glob(f"{stem.name}-*.weights"))


def unfinished(stem: Path) -> Path:
    """The name of weights before the end of their training."""
    return stem.with_name(f"{stem.name}.partial")
