"""Reports of a run's progress, and the interface of their listeners. No torch."""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class TranslationScores:
    """Scores of real translations of the validation set, and one of them to look at."""

    bleu: float
    chrf: float
    source: str
    translation: str
    reference: str


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
    """Target tokens seen since the run began."""
    seconds: float
    """Training time since the run began, resumed parts added up."""
    flops_per_second: float
    """Operations of this process that the model's equations need (`train/flops.py`)."""
    utilisation: float | None
    """That as a share of what the device can do at best (MFU); None where this is not known."""


@dataclass(frozen=True)
class ValidationReport:
    """One look at the validation set."""

    step: int
    epoch: int
    seconds: float
    loss: float
    """Mean negative log-likelihood of a target token, in nats."""
    best: bool
    """Whether the watched value is the best so far."""
    translations: TranslationScores | None
    skipped: int
    """Training pairs this process passed over in the first epoch, being longer than `data.max_length`."""
    first_skipped: str | None
    """Where the first of them is, as `file:line`."""


@dataclass(frozen=True)
class Outcome:
    """How a run ended."""

    step: int
    reason: str
    seconds: float
    target_tokens: int
    loss: float
    """Validation loss of the final weights, in nats a target token."""
    averaged: tuple[int, ...]
    """Steps whose weights the final model is the mean of."""
    precision: str
    """The arithmetic it was trained in."""


class Listener(Protocol):
    """Hears of a run's progress."""

    def on_step(self, report: StepReport) -> None:
        """Called every `train.log_every` steps."""

    def on_validation(self, report: ValidationReport) -> None:
        """Called after each validation."""

    def on_notice(self, step: int, text: str) -> None:
        """Called when the run decides something that its owner should know."""
