"""What a run is expected to cost, as lines for the first screen and as a table of presets."""

from collections.abc import Iterator

from dragoman.cli.eta import duration, memory_size
from dragoman.training.estimate import Estimate

# Minutes of the suggestion of `train.max_minutes`: the first that is clearly shorter than the run.
SUGGESTIONS = (1440, 480, 120, 30, 10)


def estimate_lines(estimate: Estimate) -> Iterator[str]:
    """How fast, how long, when the first score comes, how much memory; at most 80 characters each."""
    yield (
        f"about {estimate.tokens_per_second:,.0f} tokens/s, {_seconds(estimate.step_seconds)} per step; "
        f"an epoch is {max(1, round(estimate.steps_per_epoch)):,} {_plural('step', estimate.steps_per_epoch)}"
    )
    yield f"about {duration(estimate.seconds)} to step {estimate.steps:,}, {_epochs(estimate.epochs)}"
    if estimate.max_minutes is None and (minutes := _suggestion(estimate)):
        step = estimate.steps_within(minutes)
        yield f"train.max_minutes={minutes} would end it at step {step:,}, {_epochs(estimate.epochs_at(step))}"
    if first := estimate.first_score:
        yield f"first score in about {duration(first[1])}, at step {first[0]:,}"
    if estimate.memory:
        free = f"; {memory_size(estimate.memory_available)} are free" if estimate.memory_available else ""
        yield f"about {memory_size(estimate.memory)} of memory{free}"


def _suggestion(estimate: Estimate) -> int | None:
    return next((minutes for minutes in SUGGESTIONS if 60 * minutes < 0.7 * estimate.seconds), None)


def _epochs(epochs: float) -> str:
    return f"{epochs:,.1f} epochs" if epochs < 10 else f"{epochs:,.0f} epochs"


def _seconds(seconds: float) -> str:
    return f"{1000 * seconds:.0f} ms" if seconds < 0.1 else f"{seconds:.2g} s"


def _plural(noun: str, count: float) -> str:
    return noun if round(count) <= 1 else f"{noun}s"
