"""Listeners: how a workflow reports its progress. A workflow calls them; they print, log or display it."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from dragoman.data.corpus.report import CorpusReport
from dragoman.training.estimate.estimate import Estimate
from dragoman.training.report.reports import TrainingListener

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


def _to_all(name: str) -> Callable[..., None]:
    """A method that calls the method of this name of every listener."""

    def tell(self: "Listeners", *report: Any) -> None:
        for listener in self.listeners:
            getattr(listener, name)(*report)

    return tell


class Listeners(Listener):
    """Several listeners as one."""

    def __init__(self, listeners: Iterable[Listener] = ()) -> None:
        self.listeners = tuple(listeners)

    on_data, on_estimate = _to_all("on_data"), _to_all("on_estimate")
    on_update, on_step, on_validation = _to_all("on_update"), _to_all("on_step"), _to_all("on_validation")
    on_notice, on_warning, on_progress = _to_all("on_notice"), _to_all("on_warning"), _to_all("on_progress")

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
