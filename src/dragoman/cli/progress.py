"""What a person sees of a training run: a bar with loss, speed and ETA on a terminal, plain lines elsewhere."""

from types import TracebackType
from typing import Self

from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from dragoman.cli.console import console, say
from dragoman.config import TrainConfig
from dragoman.training.log import StepReport, ValidationReport

LINE = "step {step:,}  epoch {epoch}  loss {loss:.3f}  {speed:,.0f} tokens/s"


class TrainingDisplay:
    """A listener for a `Trainer`; a context manager for the bar."""

    def __init__(self, train: TrainConfig) -> None:
        self.train = train
        columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:>3.0f} %"))
        terminal = console().is_terminal
        self.bar = Progress(*columns, TimeRemainingColumn(), console=console(), transient=True, disable=not terminal)
        self.task = self.bar.add_task("first steps", total=1.0)
        self.skipped = 0

    def __enter__(self) -> Self:
        self.bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.bar.stop()

    def on_step(self, report: StepReport) -> None:
        """Move the bar, or print a line."""
        by_time = report.seconds / (60 * self.train.max_minutes) if self.train.max_minutes else 0.0
        done = min(max(report.step / self.train.max_steps, by_time), 1.0)
        line = LINE.format(step=report.step, epoch=report.epoch + 1, loss=report.loss, speed=report.tokens_per_second)
        if report.utilisation is not None:
            line += f"  {100 * report.utilisation:.0f} % MFU"
        self.bar.update(self.task, description=line, completed=done, refresh=True)
        if self.bar.disable:
            left = report.seconds / done - report.seconds
            say(f"{line}  {100 * done:.0f} %  {left / 60:.1f} min left")

    def on_validation(self, report: ValidationReport) -> None:
        """A line with the scores, and a sample translation; once, what is skipped."""
        if report.skipped > self.skipped:
            self.skipped = report.skipped
            pairs = "1 pair" if self.skipped == 1 else f"{self.skipped:,} pairs"
            say(f"{pairs} over data.max_length skipped, the first at {report.first_skipped}", style="yellow")
        line = f"step {report.step:,}  {report.seconds / 60:.1f} min  valid loss {report.loss:.3f}"
        if scores := report.translations:
            line += f"  BLEU {scores.bleu:.1f}  chrF {scores.chrf:.1f}"
        say(line + ("  best" if report.best else ""), style="bold" if report.best else None)
        if scores := report.translations:
            say(f"  {scores.source}\n  → {scores.translation}\n  = {scores.reference}", style="dim")

    def on_notice(self, step: int, text: str) -> None:
        """A line."""
        say(text, style="yellow" if step else None)
