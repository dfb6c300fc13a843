"""Remaining time from a task's own clock, and times and sizes as a person says them."""

import time
from collections.abc import Callable

from rich.progress import ProgressColumn, Task
from rich.text import Text


class Clock:
    """The pace of a task since its first report here: what an earlier process did is not counted.

    However rare the reports are, there is a time as soon as one item is done; before that, the one that was `expected`
    for an item, if any. Between two reports the remaining time runs down.
    """

    def __init__(
        self, first: float, *, expected: float | None = None, now: Callable[[], float] = time.monotonic
    ) -> None:
        self.first = self.done = first
        self.expected, self.now = expected, now
        self.started = self.at = self.last_line = now()

    def report(self, done: float) -> None:
        """`done` items are done now."""
        if done != self.done:
            self.done, self.at = done, self.now()

    def speed(self) -> float:
        """Items per second; 0 where it is not known yet."""
        return (self.done - self.first) / max(self.at - self.started, 1e-9)

    def left(self, total: float | None) -> float | None:
        """Seconds until `total` items are done; None if unknown."""
        if total is None:
            return None
        if self.done > self.first:
            return max(0.0, (total - self.done) / self.speed() - (self.now() - self.at))
        return None if self.expected is None else max(0.0, (total - self.done) * self.expected - self.now() + self.at)

    def is_due(self, seconds: float) -> bool:
        """Whether the last line is `seconds` ago; then now is the time of the next."""
        if self.now() - self.last_line < seconds:
            return False
        self.last_line = self.now()
        return True


class EtaColumn(ProgressColumn):
    """The remaining time of a task, drawn again every second; the task's fields hold the function that knows it."""

    max_refresh = 1.0

    def render(self, task: Task) -> Text:
        """`12 min left`, or nothing while that is unknown."""
        left = task.fields["left"]()
        return Text("" if left is None else f"{duration(left)} left", style="progress.remaining")


def duration(seconds: float) -> str:
    """`8 s`, `12 min`, `3 h 20 min`, `2 days 4 h`: two units at most, and none that would claim too much."""
    whole = round(seconds)
    if whole < 100:
        return f"{whole} s"
    minutes = round(seconds / 60)
    if minutes < 100:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    if hours < 48:
        return f"{hours} h {minutes} min" if hours < 10 and minutes else f"{round(hours + minutes / 60)} h"
    days, hours = divmod(round(hours + minutes / 60), 24)
    return f"{days} days {hours} h" if days < 10 and hours else f"{days} days"


def memory_size(size: int) -> str:
    """`850 MB`, `1.4 GB`."""
    return f"{size / 1e6:,.0f} MB" if size < 995e6 else f"{size / 1e9:,.1f} GB"
