"""What a run will cost, from the seconds of a step: arithmetic only, without a clock.

seconds to step n  =  n × seconds of a step  +  validations by then × seconds of a validation
"""

from dataclasses import dataclass

from dragoman.training.resume.triggers import FIRST_SCORE


@dataclass(frozen=True)
class Estimate:
    """The expected course of a run on this machine; times are seconds of training from its start."""

    parameters: int
    step_seconds: float
    tokens_per_step: float
    """Target tokens of an update, padding not counted."""
    steps_per_epoch: float
    validation_seconds: float
    max_steps: int
    validate_every: int
    max_minutes: float | None
    memory: int | None
    """Peak memory of the process in bytes, of a GPU where one trains; None if unknown."""
    memory_available: int | None
    """Memory that it can have, in bytes; None if unknown."""
    step: int = 0
    """The step that a resumed run continues from."""
    seconds_before: float = 0.0
    """Seconds of training until then."""
    extrapolated: bool = False
    """Whether the time was computed from that of a smaller model, by floating-point operations."""

    @property
    def tokens_per_second(self) -> float:
        return self.tokens_per_step / self.step_seconds

    @property
    def steps(self) -> int:
        return self.max_steps if self.max_minutes is None else self.steps_within(self.max_minutes)

    @property
    def seconds(self) -> float:
        """Seconds from now to the end of the run, if early stopping does not end it."""
        end = self.seconds_to(self.max_steps)
        return end if self.max_minutes is None else min(end, max(0.0, 60 * self.max_minutes - self.seconds_before))

    @property
    def epochs(self) -> float:
        """Epochs at the end of the run."""
        return self.epochs_at(self.steps)

    @property
    def first_score(self) -> tuple[int, float] | None:
        """Step and time of the first score of a new run; None for a run that has one."""
        if self.seconds_before >= FIRST_SCORE or self.step >= self.validate_every:
            return None
        planned = min(self.validate_every, self.steps)
        if self.seconds_before + self._seconds_of(planned - self.step) <= FIRST_SCORE:
            return planned, self._seconds_of(planned - self.step) + self.validation_seconds
        steps = max(1, int(-(-(FIRST_SCORE - self.seconds_before) // self.step_seconds)))
        return self.step + steps, self._seconds_of(steps) + self.validation_seconds

    def seconds_to(self, step: int) -> float:
        """Seconds from now until `step` is done and validated."""
        validations = step // self.validate_every - self.step // self.validate_every
        validations += step % self.validate_every != 0  # the one at the end
        return self._seconds_of(max(0, step - self.step)) + max(0, validations) * self.validation_seconds

    def steps_within(self, minutes: float) -> int:
        """The step that the run has reached after `minutes` of training, at most `max_steps`."""
        left = max(0.0, 60 * minutes - self.seconds_before)
        per_step = self.step_seconds + self.validation_seconds / self.validate_every
        return min(self.max_steps, self.step + int(left / per_step))

    def epochs_at(self, step: int) -> float:
        """Epochs that `step` updates are."""
        return step / self.steps_per_epoch

    def _seconds_of(self, steps: int) -> float:
        return steps * self.step_seconds

    def summary(self) -> dict[str, object]:
        """The numbers, for JSON."""
        first = self.first_score
        return {
            "parameters": self.parameters,
            "seconds_per_step": self.step_seconds,
            "tokens_per_second": self.tokens_per_second,
            "steps": self.steps,
            "max_steps": self.max_steps,
            "epochs": self.epochs,
            "seconds": self.seconds,
            "first_score": first and {"step": first[0], "seconds": first[1]},
            "per_hour": {"steps": 3600 / self.step_seconds, "epochs": 3600 / self.step_seconds / self.steps_per_epoch},
            "memory_bytes": self.memory,
            "memory_available_bytes": self.memory_available,
            "extrapolated": self.extrapolated,
        }
