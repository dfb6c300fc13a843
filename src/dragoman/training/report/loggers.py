"""Listeners that write a run's reports to `metrics.jsonl` or TensorBoard."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from dragoman.errors import ConfigError, counted
from dragoman.system.files import storage_error, write_text_atomically
from dragoman.system.parsing import parse_json
from dragoman.training.report.reports import StepReport, TrainingListener, ValidationReport


class MetricsLog(TrainingListener):
    """`metrics.jsonl`: one object per line, `"event": "step"`, `"validation"` or `"notice"`."""

    def __init__(self, path: Path, resumed_step: int, recorded: Mapping[str, Any] | None = None) -> None:
        """Continue the file after `resumed_step`, 0 for a new run; later lines, of a killed run, are removed.

        `recorded` is the size and hash of the file at that step; `fault` says what differs, or is None.
        """
        self.path = path
        content = path.read_bytes() if path.exists() else b""
        lines = content.split(b"\n")  # bytes: a kill may tear a character, and texts hold other breaks
        lines = [line for line in lines if resumed_step and _step_of(line) <= resumed_step]
        self.fault = _fault(content, recorded, resumed_step)
        if path.exists():
            write_text_atomically(path, "".join(f"{line.decode()}\n" for line in lines))

    def on_update(self, step: int) -> None:
        """Write nothing: `train.log_every` decides."""

    def on_step(self, report: StepReport) -> None:
        self._append("step", asdict(report))

    def on_validation(self, report: ValidationReport) -> None:
        self._append("validation", asdict(report))

    def on_notice(self, step: int, text: str) -> None:
        self._append("notice", {"step": step, "text": text})

    def _append(self, event: str, report: dict[str, Any]) -> None:
        try:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"event": event, **report}, ensure_ascii=False) + "\n")
        except OSError as error:
            raise storage_error(self.path, error, "; continue with --resume if there is a checkpoint") from None


class TensorBoardLog(TrainingListener):
    """The numbers of `MetricsLog` as TensorBoard event files."""

    def __init__(self, folder: Path, step: int) -> None:
        """Hide what was written after `step`, from which the run resumes."""
        try:
            from torch.utils.tensorboard.writer import SummaryWriter
        except ImportError:
            raise ConfigError('train.tensorboard: needs `pip install "dragoman[tensorboard]"`') from None
        self.writer: Any = SummaryWriter(str(folder), purge_step=step + 1 if step else None)

    def on_update(self, step: int) -> None:
        """Write nothing: `train.log_every` decides."""

    def on_step(self, report: StepReport) -> None:
        for name in ("loss", "learning_rate", "gradient_norm", "tokens_per_second"):
            self.writer.add_scalar(f"train/{name}", getattr(report, name), report.step)
        if report.utilisation is not None:
            self.writer.add_scalar("train/utilisation", report.utilisation, report.step)
        if report.uneven_load is not None:
            self.writer.add_scalar("train/uneven_load", report.uneven_load, report.step)

    def on_validation(self, report: ValidationReport) -> None:
        self.writer.add_scalar("valid/loss", report.loss, report.step)
        if scores := report.translations:
            self.writer.add_scalar("valid/bleu", scores.bleu, report.step)
            self.writer.add_scalar("valid/chrf", scores.chrf, report.step)
            sample = f"{scores.source}\n\n→ {scores.translation}\n\n= {scores.reference}"
            self.writer.add_text("valid/sample", sample, report.step)
        self.writer.flush()

    def on_notice(self, step: int, text: str) -> None:
        self.writer.add_text("notice", text, step)


def _fault(content: bytes, recorded: Mapping[str, Any] | None, step: int) -> str | None:
    """What the log has lost or changed of what it was at `step`, when a checkpoint recorded its size and hash."""
    if not recorded:
        return None
    size = int(recorded["bytes"])
    before = content[:size]
    if hashlib.sha256(before).hexdigest() == recorded["sha256"]:
        return None
    if len(before) < size:
        return f"damaged: of the {size:,} bytes written up to step {step:,}, {len(before):,} are left"
    torn = sum(1 for line in before.split(b"\n")[:-1] if _step_of(line) > step)
    lines = f"{counted(torn, 'unreadable line')} {'is' if torn == 1 else 'are'}"
    return f"damaged: it differs from what was written up to step {step:,}; {lines} removed, others may be wrong"


def _step_of(line: bytes) -> float:
    try:
        return float(parse_json(line)["step"])
    except (ValueError, KeyError, TypeError, OverflowError):
        return float("inf")  # torn by a kill
