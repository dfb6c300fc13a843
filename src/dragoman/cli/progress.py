"""The progress of a workflow on stderr: a bar with speed and remaining time on a terminal, plain lines elsewhere."""

import time
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from rich.progress import BarColumn, TaskID, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from dragoman.cli.console import as_called, console, say
from dragoman.cli.reports import say_reports
from dragoman.config import TrainConfig
from dragoman.data.check import CorpusReport
from dragoman.training.reports import StepReport, ValidationReport
from dragoman.workflows.listener import Listener, Progress

LINE = "step {step:,}  epoch {epoch}  loss {loss:.3f}  {speed:,.0f} tokens/s"
# Seconds between two lines about one task where there is no terminal.
LINE_EVERY = 30.0


class Display(Listener):
    """A listener that prints; a context manager for the bar. `train` has the ends that steps are measured against."""

    def __init__(self, train: TrainConfig | None = None) -> None:
        self.train = train
        columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:>3.0f} %"))
        self.bar = Bar(
            *columns,
            TimeRemainingColumn(),
            console=console(),
            transient=True,
            disable=not console().is_terminal,
            redirect_stdout=False,  # stdout is data, and may go elsewhere
            redirect_stderr=False,
        )
        self.tasks: dict[str, TaskID] = {}
        self.clocks: dict[str, _Clock] = {}
        self.skipped = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.bar.stop()

    def on_data(self, reports: Sequence[CorpusReport]) -> None:
        """Sizes and findings."""
        say_reports(reports)

    def on_step(self, report: StepReport) -> None:
        """Move the bar, or print a line."""
        assert self.train
        by_time = report.seconds / (60 * self.train.max_minutes) if self.train.max_minutes else 0.0
        done = min(max(report.step / self.train.max_steps, by_time), 1.0)
        line = LINE.format(step=report.step, epoch=report.epoch + 1, loss=report.loss, speed=report.tokens_per_second)
        if report.utilisation is not None:
            line += f"  {100 * report.utilisation:.0f} % MFU"
        self._move("training", line, done, 1.0)
        if self.bar.disable:
            left = report.seconds / done - report.seconds
            say(f"{line}  {100 * done:.0f} %  {left / 60:.1f} min left")

    def on_validation(self, report: ValidationReport) -> None:
        """A line with the scores, and a sample translation; once, the number of skipped pairs."""
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
        say(as_called(text), style="yellow" if step else None)

    def on_warning(self, text: str) -> None:
        """A line in yellow."""
        say(as_called(text), style="yellow")

    def on_progress(self, progress: Progress) -> None:
        """Move the bar; without a terminal print a line now and then."""
        if progress.done == progress.total:
            self.clocks.pop(progress.task, None)
            if progress.task in self.tasks:
                self.bar.remove_task(self.tasks.pop(progress.task))
            return
        clock = self.clocks.setdefault(progress.task, _Clock(progress.done))
        line = f"{progress.task}: {progress.done:,}" + (f" of {progress.total:,}" if progress.total else "")
        line += f" {progress.unit}"
        if speed := clock.speed(progress.done):
            line += f"  {speed:,.0f} {progress.unit}/s"
        self._move(progress.task, line, progress.done, progress.total)
        if self.bar.disable and clock.is_due():
            left = f"  {(progress.total - progress.done) / speed / 60:.1f} min left" if speed and progress.total else ""
            say(line + left)

    def _move(self, task: str, line: str, done: float, total: float | None) -> None:
        if task not in self.tasks:
            self.bar.start()  # only now: most commands are done before there is anything to show
            self.tasks[task] = self.bar.add_task(line, total=total)
        self.bar.update(self.tasks[task], description=line, completed=done, refresh=True)


class _Clock:
    """The speed of a task since its first report: what an earlier process did is not counted."""

    def __init__(self, first: int) -> None:
        self.first, self.started, self.last_line = first, time.monotonic(), time.monotonic()

    def speed(self, done: int) -> float:
        """Items per second; 0 where it is not known yet."""
        return (done - self.first) / max(time.monotonic() - self.started, 1e-9)

    def is_due(self) -> bool:
        """Whether it is time for another line."""
        if time.monotonic() - self.last_line < LINE_EVERY:
            return False
        self.last_line = time.monotonic()
        return True
