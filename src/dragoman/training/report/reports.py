"""Reports of a run's progress, and the interface of their listeners."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True)
class TranslationScores:
    """Scores of translations of the validation set, and one translation as a sample."""

    bleu: float
    chrf: float
    source: str
    translation: str
    reference: str
    by_pair: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """For a model of several language pairs the scores of each pair; the fields above are their means."""


@dataclass(frozen=True)
class StepReport:
    """The updates since the last report."""

    step: int
    epoch: int
    loss: float
    """Mean label-smoothed loss of a target token, in nats."""
    learning_rate: float
    gradient_norm: float
    tokens_per_second: float
    """Target tokens, padding not counted."""
    target_tokens: int
    """Target tokens since the run started."""
    seconds: float
    """Training time since the run started, summed over resumed parts."""
    flops_per_second: float
    """Operations of this process, counted from the model's equations (`training/cost/flops.py`)."""
    utilisation: float | None
    """`flops_per_second` as a share of the peak of the device (MFU); None if the peak is unknown."""
    uneven_load: float | None = None
    """Of the last update: the largest load of an expert over the mean, of the most uneven layer; None without
    experts."""


@dataclass(frozen=True)
class ValidationReport:
    """A validation."""

    step: int
    epoch: int
    seconds: float
    loss: float
    """Mean negative log-likelihood of a target token, in nats."""
    best: bool
    """Whether the watched value is the best so far."""
    translations: TranslationScores | None
    skipped: int
    """Training pairs that this process skipped in the first epoch, because they exceed `data.max_length`."""
    first_skipped: str | None
    """The location of the first of them, `file:line`."""


@dataclass(frozen=True)
class Outcome:
    """How a run ended."""

    step: int
    reason: str
    seconds: float
    target_tokens: int
    loss: float
    """Validation loss of the final weights, in nats per target token."""
    averaged: tuple[int, ...]
    """Steps of the checkpoints whose mean is the final model."""
    precision: str


class TrainingListener(Protocol):
    """Receives the progress of the training loop. The methods of interest are overridden; the others do nothing."""

    def on_update(self, step: int) -> None:
        """Called after every update."""
        return

    def on_step(self, report: StepReport) -> None:
        """Called every `train.log_every` updates."""
        return

    def on_validation(self, report: ValidationReport) -> None:
        """Called after each validation."""
        return

    def on_notice(self, step: int, text: str) -> None:
        """Called with a message about what is done or decided; `step` is 0 before and after the training steps."""
        return
