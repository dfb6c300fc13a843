"""Timed updates before a run, and what is concluded from them."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from dragoman.config import RunConfig
from dragoman.data.batches.batching import Workload, workload_of
from dragoman.training.estimate import trial
from dragoman.training.estimate.estimate import Estimate
from dragoman.training.estimate.trial import MOMENTS, time_updates
from dragoman.training.loop import Trainer
from dragoman.training.update.gradient import SplitsDoubled

Run = Callable[..., RunConfig]
MakeTrainer = Callable[[RunConfig, Path], Trainer]

# A step takes half a second, a validation ten; 100 steps are an epoch.
PLAIN = Estimate(
    parameters=1000,
    step_seconds=0.5,
    tokens_per_step=200.0,
    steps_per_epoch=100.0,
    validation_seconds=10.0,
    max_steps=2000,
    validate_every=200,
    max_minutes=None,
    memory=None,
    memory_available=None,
)


@pytest.fixture
def workload() -> Workload:
    found = workload_of([(5, 4), (7, 9), (3, 3)] * 20, 60, max_length=50, batch_tokens=60, batches_per_step=1.0)
    assert found
    return found


def test_a_run_costs_its_steps_and_its_validations() -> None:
    assert PLAIN.tokens_per_second == 400.0
    assert PLAIN.seconds == 2000 * 0.5 + 10 * 10.0
    assert PLAIN.epochs == 20.0
    assert replace(PLAIN, max_steps=2001).seconds == 2001 * 0.5 + 11 * 10.0, "one more at the end"


def test_max_minutes_ends_where_its_steps_and_validations_fill_it() -> None:
    limited = replace(PLAIN, max_minutes=10.0)
    assert limited.seconds == 600.0
    assert limited.steps == int(600 / (0.5 + 10 / 200))
    assert limited.epochs == limited.steps / 100
    assert replace(PLAIN, max_minutes=1000.0).seconds == PLAIN.seconds
    assert replace(PLAIN, max_minutes=1000.0).steps == 2000


@pytest.mark.parametrize(
    ("changes", "step", "seconds"),
    [
        ({}, 200, 110.0),
        ({"validate_every": 600}, 600, 310.0),
        ({"validate_every": 1000}, 600, 310.0),
        ({"validate_every": 1000, "step_seconds": 40.0}, 8, 330.0),
        ({"validate_every": 1000, "max_steps": 50}, 50, 35.0),
        ({"step_seconds": 1000.0}, 1, 1010.0),
    ],
)
def test_the_first_score_comes_with_the_first_validation_or_after_five_minutes(
    changes: dict[str, float], step: int, seconds: float
) -> None:
    assert replace(PLAIN, **changes).first_score == (step, seconds)  # type: ignore[arg-type]


def test_a_resumed_run_has_the_rest_to_do() -> None:
    resumed = replace(PLAIN, step=1500, seconds_before=900.0, max_minutes=20.0)
    assert resumed.seconds_to(2000) == 500 * 0.5 + 3 * 10.0
    assert resumed.seconds == resumed.seconds_to(2000)
    assert replace(resumed, max_minutes=16.0).seconds == 60.0
    assert resumed.first_score is None
    assert replace(PLAIN, step=2000, seconds_before=1100.0, max_minutes=5.0).seconds == 0.0


def test_an_epoch_is_counted_from_some_of_its_pairs() -> None:
    lengths = [(10, 8)] * 50 + [(20, 20)] * 50
    found = workload_of(lengths, 20_000, max_length=50, batch_tokens=100, batches_per_step=2.0)
    assert found
    assert found.steps_per_epoch == pytest.approx((10_000 / 10 + 10_000 / 5) / 2, rel=0.02)
    assert found.tokens_per_pair == 14.0
    assert found.tokens_per_step * found.steps_per_epoch == pytest.approx(20_000 * 14)


def test_pairs_over_the_limit_are_no_work() -> None:
    found = workload_of([(10, 8), (99, 8)], 1000, max_length=50, batch_tokens=100, batches_per_step=1.0)
    assert found
    assert found.pairs == 500
    assert workload_of([(99, 8)], 1000, max_length=50, batch_tokens=100, batches_per_step=1.0) is None


def test_the_time_of_some_batches_is_scaled_to_all_by_their_operations(
    toy_run: Run, toy_trainer: MakeTrainer, tmp_path: Path, workload: Workload, monkeypatch: pytest.MonkeyPatch
) -> None:
    trainer, vocab = toy_trainer(toy_run(), tmp_path), 285
    flops = [trial.flops_of(trainer.model.config, vocab, batch) for batch in workload.batches]
    passed = iter([0.0])  # the warm-up is not timed

    def at_a_billion_per_second(batches: list[trial.Batch], tokens: int) -> float:
        clock[0] += (
            next(passed, None) is None
            and trial.training_flops(
                trainer.model.config, vocab, len(batches[0].src), batches[0].src.size(1), batches[0].tgt_in.size(1)
            )
            / 1e9
        )
        return 0.0

    clock = [0.0]
    monkeypatch.setattr(trial.time, "perf_counter", lambda: clock[0])
    monkeypatch.setattr(trainer.gradient, "backward", at_a_billion_per_second)
    found = time_updates(trainer.gradient, trainer.model, workload)
    assert found
    assert found.step_seconds == pytest.approx(sum(flops) / len(flops) / 1e9)
    assert found.memory is None or found.memory > MOMENTS * trainer.model.parameter_count


@pytest.mark.slow
def test_a_trial_leaves_no_trace(toy_run: Run, toy_trainer: MakeTrainer, tmp_path: Path, workload: Workload) -> None:
    tried, plain = toy_trainer(toy_run(), tmp_path / "tried"), toy_trainer(toy_run(), tmp_path / "plain")
    torch.manual_seed(5)
    assert time_updates(tried.gradient, tried.model, workload, budget=0.0)
    tried.fit()
    torch.manual_seed(5)
    plain.fit()
    assert all(torch.equal(a, b) for a, b in zip(tried.final.parameters(), plain.final.parameters(), strict=True))


def test_a_batch_that_does_not_fit_gives_no_estimate_and_cuts_no_later_batch(
    toy_run: Run, toy_trainer: MakeTrainer, tmp_path: Path, workload: Workload, monkeypatch: pytest.MonkeyPatch
) -> None:
    trainer = toy_trainer(toy_run(), tmp_path)

    def too_large(*_: object) -> float:
        trainer.gradient.splits *= 2
        raise SplitsDoubled("out of memory")

    monkeypatch.setattr(trainer.gradient, "backward", too_large)
    assert time_updates(trainer.gradient, trainer.model, workload) is None
    assert trainer.gradient.splits == 1
