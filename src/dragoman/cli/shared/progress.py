"""The progress of a workflow on stderr: a bar with speed and remaining time on a terminal, plain lines elsewhere."""

import sys
import time
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Self

from rich.progress import BarColumn, TaskID, TaskProgressColumn, TextColumn
from rich.progress import Progress as Bar

from dragoman.cli.shared.console import as_called, console, say
from dragoman.cli.shared.costs import estimate_lines
from dragoman.cli.shared.eta import Clock, EtaColumn, duration
from dragoman.cli.shared.reports import say_reports
from dragoman.data.corpus.report import CorpusReport
from dragoman.errors import counted
from dragoman.training.estimate.estimate import Estimate
from dragoman.training.report.reports import StepReport, ValidationReport
from dragoman.workflows.listener import Listener, Progress

# Seconds between two lines about one task where there is no terminal.
LINE_EVERY = 30.0
# Lines between two reports of the memory that their translation uses.
REPORT_EVERY = 100_000
# A step of training.
LINE = "step {step:,}  epoch {epoch}  loss {loss:.3f}  {speed:,.0f} tokens/s"


class Course:
    """The course of a run in this process; `estimate` is what was expected of it."""

    def __init__(self, estimate: Estimate | None = None, now: Callable[[], float] = time.monotonic) -> None:
        self.estimate, self.now = estimate, now
        self.step = estimate.step if estimate else 0
        steps_left = max(1, estimate.steps - estimate.step) if estimate else 1
        self.clock = Clock(self.step, expected=estimate.seconds / steps_left if estimate else None, now=now)
        self.last: StepReport | None = None

    def update(self, step: int) -> None:
        """`step` updates are done."""
        self.step = step
        self.clock.report(step)

    def report(self, report: StepReport) -> None:
        """Loss and speed of the last steps."""
        self.last = report
        self.update(report.step)

    @property
    def line(self) -> str:
        """The step, and loss and speed as soon as they are known."""
        if not self.step:
            return "first step"
        if self.last is None:
            return f"step {self.step:,}"
        report = self.last
        line = LINE.format(step=self.step, epoch=report.epoch + 1, loss=report.loss, speed=report.tokens_per_second)
        if report.uneven_load is not None:
            line += f"  load {report.uneven_load:.2f}"
        return line if report.utilisation is None else f"{line}  {100 * report.utilisation:.0f} % MFU"

    def left(self) -> float | None:
        """Seconds until `max_steps` or `max_minutes`, whichever comes first; None if unknown."""
        if self.estimate is None:
            return None
        by_steps, minutes = self.clock.left(self.estimate.max_steps), self.estimate.max_minutes
        by_time = None if minutes is None else max(0.0, 60 * minutes - self.seconds)
        return min((left for left in (by_steps, by_time) if left is not None), default=None)

    @property
    def seconds(self) -> float:
        """Seconds of training, with those of earlier processes."""
        before = self.estimate.seconds_before if self.estimate else 0.0
        return before + self.now() - self.clock.started

    @property
    def share(self) -> float | None:
        """The share of the run that is done, 0 to 1; None if unknown."""
        if self.estimate is None:
            return None
        by_time = self.seconds / (60 * self.estimate.max_minutes) if self.estimate.max_minutes else 0.0
        return min(1.0, max(self.step / self.estimate.max_steps, by_time))


class Display(Listener):
    """A listener that prints; a context manager for the bar. `hints` are printed below the estimate of a run."""

    def __init__(self, hints: Sequence[str] = ()) -> None:
        self.hints, self.course = hints, Course()
        columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn("{task.percentage:>3.0f} %"))
        self.bar = Bar(
            *columns,
            EtaColumn(),
            console=console(),
            transient=True,
            disable=not console().is_terminal,
            redirect_stdout=False,  # stdout is data, and may go elsewhere
            redirect_stderr=False,
        )
        self.tasks: dict[str, TaskID] = {}
        self.clocks: dict[str, Clock] = {}
        self.skipped = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.bar.stop()

    def on_data(self, reports: Sequence[CorpusReport]) -> None:
        say_reports(reports)

    def on_estimate(self, estimate: Estimate) -> None:
        """How fast, how long, how to stop; then the bar."""
        for line in (*estimate_lines(estimate), *self.hints):
            say(line)
        self.course = Course(estimate)
        self._show_course()

    def on_update(self, step: int) -> None:
        self.course.update(step)
        self._show_course()

    def on_step(self, report: StepReport) -> None:
        self.course.report(report)
        self._show_course()
        if self.bar.disable:
            share, left = self.course.share, self.course.left()
            known = "" if share is None or left is None else f"  {100 * share:.0f} %  {duration(left)} left"
            say(self.course.line + known)

    def _show_course(self) -> None:
        total = None if self.course.share is None else 1.0
        self._move("training", self.course.line, self.course.share or 0.0, total, self.course.left)

    def on_validation(self, report: ValidationReport) -> None:
        """A line with the scores, and a sample translation; once, the number of skipped pairs."""
        if report.skipped > self.skipped:
            self.skipped = report.skipped
            say(
                f"{counted(self.skipped, 'pair')} over data.max_length skipped, the first at {report.first_skipped}",
                style="yellow",
            )
        line = f"step {report.step:,}  {report.seconds / 60:.1f} min  valid loss {report.loss:.3f}"
        if scores := report.translations:
            line += f"  BLEU {scores.bleu:.1f}  chrF {scores.chrf:.1f}"
        say(line + ("  best" if report.best else ""), style="bold" if report.best else None)
        if scores := report.translations:
            say(f"  {scores.source}\n  → {scores.translation}\n  = {scores.reference}", style="dim")

    def on_notice(self, step: int, text: str) -> None:
        say(as_called(text), style="yellow" if step else None)

    def on_warning(self, text: str) -> None:
        say(as_called(text), style="yellow")

    def on_progress(self, progress: Progress) -> None:
        """Move the bar; without a terminal print a line now and then."""
        if progress.done == progress.total:
            self.clocks.pop(progress.task, None)
            if progress.task in self.tasks:
                self.bar.remove_task(self.tasks.pop(progress.task))
            return
        clock = self.clocks.setdefault(progress.task, Clock(progress.done))
        clock.report(progress.done)
        line = f"{progress.task}: {progress.done:,}" + (f" of {progress.total:,}" if progress.total else "")
        line += f" {progress.unit}"
        if speed := clock.speed():
            line += f"  {speed:,.0f} {progress.unit}/s"
        self._move(progress.task, line, progress.done, progress.total, lambda: clock.left(progress.total))
        if self.bar.disable and clock.is_due(LINE_EVERY):
            left = clock.left(progress.total)
            say(line + (f"  {duration(left)} left" if left is not None else ""))

    def _move(self, task: str, line: str, done: float, total: float | None, left: Callable[[], float | None]) -> None:
        if self.bar.disable:
            return
        if task not in self.tasks:
            self.bar.start()  # only now: most commands are done before there is anything to show
            self.tasks[task] = self.bar.add_task(line, total=total, left=left)
        self.bar.update(self.tasks[task], description=line, completed=done, total=total, left=left)


class LineDisplay(Display):
    """Prints about lines that are translated: their warnings, and now and then how much memory is used.

    `shows_progress` is off where the translations appear on the same terminal.
    """

    def __init__(self, shows_progress: bool) -> None:
        super().__init__()
        self.shows_progress = shows_progress
        self.reported: int | None = None

    def on_warning(self, text: str) -> None:
        say(f"dragoman: {text}")

    def on_progress(self, progress: Progress) -> None:
        before = progress.done if self.reported is None else self.reported
        for number in range(before - before % REPORT_EVERY + REPORT_EVERY, progress.done + 1, REPORT_EVERY):
            say(f"{number:,} lines{_peak_memory()}")
        self.reported = progress.done
        if self.shows_progress:
            super().on_progress(progress)


def _peak_memory() -> str:
    """The most memory that this process has used until now, for a progress line; nothing on Windows."""
    try:
        import resource
    except ImportError:
        return ""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // (1 << 20 if sys.platform == "darwin" else 1 << 10)
    return f", peak memory {peak:,} MB"
