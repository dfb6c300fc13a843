"""Where a training run is, as one line, and how long it will take: by its own clock, from step to step."""

import time
from collections.abc import Callable

from dragoman.cli.shared.eta import Clock
from dragoman.training.estimate.estimate import Estimate
from dragoman.training.report.reports import StepReport

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
