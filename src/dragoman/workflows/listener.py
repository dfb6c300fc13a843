"""Listeners: how a workflow reports its progress. A workflow calls them; they print, log or display it."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from dragoman.data.corpus.report import CorpusReport
from dragoman.training.estimate.estimate import Estimate
from dragoman.training.report.reports import StepReport, TrainingListener, ValidationReport

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of a long task."""

    task: str
    """What is being done, e.g. "translating"."""
    done: int
    total: int | None
    """None where it is not known."""
    unit: str
    """What is counted, e.g. "lines"."""


class Listener(TrainingListener, Protocol):
    """Receives the progress of a workflow, training included. Derive from it and define the methods of interest."""

    def on_data(self, reports: Sequence[CorpusReport]) -> None:
        """Called once the text of a run has been read and checked."""
        return

    def on_estimate(self, estimate: Estimate) -> None:
        """Called before the first step with what the run is expected to cost, if that can be known."""
        return

    def on_warning(self, text: str) -> None:
        """Called with a message about what may not be as intended."""
        return

    def on_progress(self, progress: Progress) -> None:
        """Called now and then during a task that may take long, and once at its end."""
        return


class Listeners(Listener):
    """Several listeners as one."""

    def __init__(self, listeners: Iterable[Listener] = ()) -> None:
        self.listeners = tuple(listeners)

    def on_data(self, reports: Sequence[CorpusReport]) -> None:
        for listener in self.listeners:
            listener.on_data(reports)

    def on_estimate(self, estimate: Estimate) -> None:
        for listener in self.listeners:
            listener.on_estimate(estimate)

    def on_update(self, step: int) -> None:
        for listener in self.listeners:
            listener.on_update(step)

    def on_step(self, report: StepReport) -> None:
        for listener in self.listeners:
            listener.on_step(report)

    def on_validation(self, report: ValidationReport) -> None:
        for listener in self.listeners:
            listener.on_validation(report)

    def on_notice(self, step: int, text: str) -> None:
        for listener in self.listeners:
            listener.on_notice(step, text)

    def on_warning(self, text: str) -> None:
        for listener in self.listeners:
            listener.on_warning(text)

    def on_progress(self, progress: Progress) -> None:
        for listener in self.listeners:
            listener.on_progress(progress)

    def notice(self, text: str) -> None:
        """Report a message outside the training steps."""
        self.on_notice(0, text)

    def counter(self, task: str, unit: str, total: int) -> Callable[[int], None]:
        """A function that adds up the numbers it is called with and reports the sum as progress."""
        done = 0

        def add(count: int) -> None:
            nonlocal done
            done += count
            self.on_progress(Progress(task, done, total, unit))

        return add

    def follow(
        self, items: Iterable[Item], task: str, unit: str, total: int | None = None, every: int = 1
    ) -> Iterator[Item]:
        """Yield the items; report progress after each `every` of them and at the end."""
        done = 0
        self.on_progress(Progress(task, 0, total, unit))
        for item in items:
            yield item
            done += 1
            if done % every == 0 and done != total:
                self.on_progress(Progress(task, done, total, unit))
        self.on_progress(Progress(task, done, done, unit))
