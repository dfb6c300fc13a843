"""What follows a step: by the steps, and by a clock that changes no weight."""

from collections.abc import Callable
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from dragoman.config import RunConfig, TrainConfig
from dragoman.training import loop
from dragoman.training.loop import Trainer
from dragoman.training.report.reports import StepReport, TrainingListener, ValidationReport
from dragoman.training.resume.checkpoint import checkpoint_steps
from dragoman.training.resume.triggers import FIRST_SCORE, Triggers

Run = Callable[..., RunConfig]
MakeTrainer = Callable[[RunConfig, Path], Trainer]


def events(train: TrainConfig, seconds: list[float]) -> list[str | None]:
    """What follows each step, if the steps end at these times; a validation and a checkpoint set the clock back."""
    triggers, before, found = Triggers(train), 0.0, []
    for step, clock in enumerate(seconds, 1):
        event = triggers.after(step, before, clock, ends=bool(triggers.end(step, clock, 0)))
        if event:
            triggers.saved = clock
        found.append(event)
        before = clock
    return found


def test_a_slow_run_shows_a_score_after_five_minutes_and_saves_every_ten() -> None:
    train = TrainConfig(max_steps=9, validate_every=8, checkpoint_minutes=10)
    assert events(train, [200.0 * step for step in range(1, 10)]) == [
        None, "first score", None, None, "checkpoint", None, None, "validation", "validation"
    ]  # fmt: skip


def test_a_fast_run_has_neither() -> None:
    train = TrainConfig(max_steps=6, validate_every=2, checkpoint_minutes=10)
    assert events(train, [200.0 * step for step in range(1, 7)]) == [None, "validation"] * 3


def test_checkpoints_by_the_clock_can_be_turned_off() -> None:
    assert "checkpoint" not in events(TrainConfig(checkpoint_minutes=0), [600.0 * step for step in range(1, 9)])


def test_the_ends_of_a_run() -> None:
    triggers = Triggers(TrainConfig(max_steps=1000, max_minutes=2.0, patience=3))
    assert triggers.end(0, 999.0, 9) is None, "no run ends before its first step"
    assert triggers.end(1000, 1.0, 0) == "1,000 steps done"
    assert triggers.end(1, 120.0, 0) == "2 minutes used"
    assert triggers.end(1, 1.0, 3) == "no better loss in 3 validations"
    assert triggers.end(999, 119.0, 2) is None


class Received(TrainingListener):
    def __init__(self) -> None:
        self.validations: list[ValidationReport] = []
        self.steps: list[StepReport] = []

    def on_validation(self, report: ValidationReport) -> None:
        self.validations.append(report)

    def on_step(self, report: StepReport) -> None:
        self.steps.append(report)


@pytest.fixture
def slow_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every look at the clock is 40 seconds later, so that the clock asks for a score and for checkpoints."""
    ticks = count(0.0, 40.0)
    monkeypatch.setattr(loop, "time", SimpleNamespace(monotonic=lambda: next(ticks)))


def same_weights(one: Trainer, other: Trainer) -> bool:
    return all(torch.equal(a, b) for a, b in zip(one.final.parameters(), other.final.parameters(), strict=True))


@pytest.mark.slow
@pytest.mark.usefixtures("slow_clock")
def test_what_only_the_clock_asked_for_is_reported_and_changes_nothing(
    toy_run: Run, toy_trainer: MakeTrainer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = {"validate_every": 10, "max_steps": 24, "average_count": 3, "patience": 9}
    by_clock, received = toy_trainer(toy_run(**keys, checkpoint_minutes=4), tmp_path / "clock"), Received()
    saved: list[int] = []
    save = by_clock._save
    monkeypatch.setattr(by_clock, "_save", lambda: (saved.append(by_clock.step), save()))
    by_clock.listeners.append(received)
    outcome = by_clock.fit()
    first, *rest = received.validations
    assert first.step < 10
    assert first.seconds >= FIRST_SCORE
    assert not first.best
    assert [report.step for report in rest] == [10, 20, 24]
    assert {10, 20, 24, first.step} < set(saved), "checkpoints of the clock too"
    assert not {*outcome.averaged, by_clock.tracker.best_step} - {10, 20, 24}
    monkeypatch.undo()  # a clock that runs as it does: no event of its own
    plain = toy_trainer(toy_run(**keys), tmp_path / "plain")
    assert plain.fit().averaged == outcome.averaged
    assert same_weights(by_clock, plain)


@pytest.mark.slow
@pytest.mark.usefixtures("slow_clock")
def test_a_run_killed_after_a_checkpoint_of_the_clock_resumes_to_the_same_weights(
    toy_run: Run, toy_trainer: MakeTrainer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = toy_run(validate_every=10, max_steps=24, checkpoint_minutes=4)
    killed, folder = toy_trainer(config, tmp_path / "killed"), tmp_path / "killed" / "checkpoints"
    update = killed._update

    def die_at_9(stopped: Callable[[], bool]) -> bool:
        if killed.step == 8:
            raise RuntimeError("as if the power had gone")
        return update(stopped)

    monkeypatch.setattr(killed, "_update", die_at_9)
    with pytest.raises(RuntimeError):
        killed.fit()
    assert 0 < checkpoint_steps(folder)[-1] < 9, "nothing was validated yet"
    torch.manual_seed(99)
    resumed, received = toy_trainer(config, tmp_path / "killed"), Received()
    resumed.listeners.append(received)
    resumed.resume()
    resumed.fit()
    whole = toy_trainer(config, tmp_path / "whole")
    whole.fit()
    assert same_weights(resumed, whole)
    assert [report.step for report in received.validations] == [10, 20, 24], "the first score is not shown twice"
