"""What a run is expected to cost, as lines for the first screen and as a table of presets."""

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING

from dragoman.cli.shared.console import say
from dragoman.cli.shared.eta import duration, memory_size
from dragoman.config import RunConfig
from dragoman.data.corpus.report import CorpusReport
from dragoman.errors import counted
from dragoman.training.estimate.estimate import Estimate

if TYPE_CHECKING:  # it loads torch
    from dragoman.workflows.train.presets import PresetEstimate

# Minutes of the suggestion of `train.max_minutes`: the first that is clearly shorter than the run.
SUGGESTIONS = (1440, 480, 120, 30, 10)


def estimate_lines(estimate: Estimate) -> Iterator[str]:
    """How fast, how long, when the first score comes, how much memory; at most 80 characters each."""
    yield (
        f"about {estimate.tokens_per_second:,.0f} tokens/s, {_seconds(estimate.step_seconds)} per step; "
        f"an epoch is {counted(max(1, round(estimate.steps_per_epoch)), 'step')}"
    )
    yield f"about {duration(estimate.seconds)} to step {estimate.steps:,}, {_epochs(estimate.epochs)}"
    minutes = next((minutes for minutes in SUGGESTIONS if 60 * minutes < 0.7 * estimate.seconds), None)
    if estimate.max_minutes is None and minutes:
        step = estimate.steps_within(minutes)
        yield f"train.max_minutes={minutes} would end it at step {step:,}, {_epochs(estimate.epochs_at(step))}"
    if first := estimate.first_score:
        yield f"first score in about {duration(first[1])}, at step {first[0]:,}"
    if estimate.memory:
        free = f"; {memory_size(estimate.memory_available)} are free" if estimate.memory_available else ""
        yield f"about {memory_size(estimate.memory)} of memory{free}"


def estimated(config: RunConfig, reports: Sequence[CorpusReport], keys: Collection[str]) -> list["PresetEstimate"]:
    """The cost of every preset; `keys` are those of the command line. It loads torch, which a base install lacks."""
    from dragoman.workflows.train.presets import estimate_presets

    say("timing some updates of each model")
    return estimate_presets(config, reports, keys)


def preset_table(presets: Sequence["PresetEstimate"]) -> Iterator[str]:
    """A row for each preset, at most 80 characters wide, and what its signs mean."""
    row = "{:10}{:>7}{:>10}{:>8}{:>10}{:>8}{:>12}{:>9}"
    yield row.format("model", "params", "tokens/s", "step", "steps", "epochs", "time", "memory").rstrip()
    for preset in presets:
        estimate = preset.estimate
        yield row.format(
            preset.name + ("*" if preset.is_own else ""),
            f"{estimate.parameters / 1e6:.1f} M",
            ("~" if estimate.extrapolated else "") + f"{estimate.tokens_per_second:,.0f}",
            _seconds(estimate.step_seconds),
            f"{estimate.steps:,}",
            f"{estimate.epochs:,.0f}" if estimate.epochs >= 10 else f"{estimate.epochs:.1f}",
            duration(estimate.seconds),
            "" if estimate.memory is None else memory_size(estimate.memory),
        )
    yield "* the model of this configuration; early stopping may end a run before"
    if computed := next((preset for preset in presets if preset.estimate.extrapolated), None):
        timed = [preset for preset in presets if not preset.estimate.extrapolated]
        largest = max(timed, key=lambda preset: preset.estimate.parameters)
        yield f"~ not timed: from {computed.name} on, computed from {largest.name} by floating-point operations"


def _epochs(epochs: float) -> str:
    return f"{epochs:,.1f} epochs" if epochs < 10 else f"{epochs:,.0f} epochs"


def _seconds(seconds: float) -> str:
    if seconds < 0.1:
        return f"{1000 * seconds:.0f} ms"
    return f"{seconds:.2g} s" if seconds < 10 else f"{seconds:.0f} s" if seconds < 1000 else duration(seconds)
