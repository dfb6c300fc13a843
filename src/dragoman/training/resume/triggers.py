"""When a run validates, saves and ends: by its steps, and by the clock of the main process.

The clock decides when a first score is shown and how much a power cut costs, never a weight: a validation or a
checkpoint that only the clock asked for is neither averaged nor counted by early stopping. So a run that is killed and
resumed, at other times of day, ends with the weights of one that was not. (`train.max_minutes` is the exception: there
the clock is the end that the user set.)
"""

from dataclasses import dataclass
from typing import Literal

from dragoman.config import TrainConfig
from dragoman.errors import counted

# Seconds after which a run whose first validation is still to come shows a score anyway.
FIRST_SCORE = 300.0
Event = Literal["validation", "first score", "checkpoint"]


@dataclass
class Triggers:
    """The events of a run. Times are seconds of training, the same in all processes of the run."""

    train: TrainConfig
    saved: float = 0.0
    """The time of the last checkpoint."""

    def end(self, step: int, clock: float, bad_validations: int) -> str | None:
        """Why the run ends after `step`; None if it does not."""
        train = self.train
        if not step:
            return None
        if step >= train.total_steps:
            return f"{counted(train.total_steps, 'step')} done"
        if train.max_minutes and clock >= 60 * train.max_minutes:
            return f"{train.max_minutes:g} {'minute' if train.max_minutes == 1 else 'minutes'} used"
        if train.patience and bad_validations >= train.patience:
            return f"no better {train.watch} in {train.patience} validations"
        return None

    def after(self, step: int, before: float, clock: float, ends: bool) -> Event | None:
        """What follows `step`, which took from `before` to `clock`; `ends` if it is the last.

        A checkpoint that exists was written before or after FIRST_SCORE, so a resumed run needs no other note of
        whether the first score was shown.
        """
        if ends or self.is_validation(step):
            return "validation"
        if step < self.train.validation_interval and before < FIRST_SCORE <= clock:
            return "first score"
        minutes = self.train.checkpoint_minutes
        return "checkpoint" if minutes and clock - self.saved >= 60 * minutes else None

    def is_validation(self, step: int) -> bool:
        """Whether `train.validate_every` asks for a validation, whenever the run ends."""
        return step % self.train.validation_interval == 0
