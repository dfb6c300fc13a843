"""The remaining time comes from the run's own clock, however rarely it reports, and runs down between reports."""

from dataclasses import replace

import pytest
from rich.progress import Progress

from dragoman.cli.shared.costs import estimate_lines
from dragoman.cli.shared.eta import Clock, EtaColumn, duration, memory_size
from dragoman.cli.shared.progress import Course
from dragoman.training.estimate.estimate import Estimate
from dragoman.training.report.reports import StepReport

ESTIMATE = Estimate(
    parameters=1000,
    step_seconds=2.0,
    tokens_per_step=200.0,
    steps_per_epoch=10.0,
    validation_seconds=0.0,
    max_steps=100,
    validate_every=50,
    max_minutes=None,
    memory=2**30,
    memory_available=2**33,
)


class Time:
    def __init__(self) -> None:
        self.seconds = 1000.0

    def __call__(self) -> float:
        return self.seconds


def report(step: int) -> StepReport:
    return StepReport(step, 0, 2.0, 1e-3, 1.0, 100.0, 50, 1.0, 1e9, None)


@pytest.mark.parametrize("apart", [29.0, 31.0, 900.0])
@pytest.mark.parametrize("resumed", [0, 40])
def test_reports_that_are_half_a_minute_or_more_apart_give_a_time(apart: float, resumed: int) -> None:
    time = Time()
    course = Course(replace(ESTIMATE, step=resumed, seconds_before=77.0 * resumed), time)
    assert course.left() == (100 - resumed) * 2.0, "before the first step: what was expected"
    for step in (resumed + 10, resumed + 20):
        time.seconds += apart
        course.report(report(step))
        assert course.left() == pytest.approx((100 - step) * apart / 10)
    time.seconds += 5
    assert course.left() == pytest.approx((100 - resumed - 20) * apart / 10 - 5)


def test_the_time_that_is_left_is_drawn_every_second_without_a_report() -> None:
    time, column = Time(), EtaColumn()
    course = Course(ESTIMATE, time)
    bar = Progress(column, disable=True)
    number = bar.add_task("training", total=1.0, left=course.left)
    task = bar.tasks[number]
    drawn = []
    for _ in range(3):
        drawn.append(str(column.render(task)))
        time.seconds += 31
    assert drawn == ["3 min left", "3 min left", "2 min left"]
    assert column.max_refresh == 1.0


def test_max_minutes_ends_first() -> None:
    time = Time()
    course = Course(replace(ESTIMATE, max_minutes=2.0, step=10, seconds_before=60.0), time)
    time.seconds += 30
    course.update(11)
    assert course.left() == 30.0
    assert course.share == pytest.approx(0.75)


def test_first_step_is_printed_only_where_no_step_has_been_made() -> None:
    assert Course(ESTIMATE).line == "first step"
    resumed = Course(replace(ESTIMATE, step=40))
    assert resumed.line == "step 40"
    assert resumed.share == 0.4
    resumed.report(report(50))
    resumed.update(51)
    assert resumed.line == "step 51  epoch 1  loss 2.000  100 tokens/s"


def test_a_task_of_unknown_size_has_no_time_left() -> None:
    clock = Clock(0, now=Time())
    assert clock.left(None) is None
    assert clock.left(10) is None


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.2, "0 s"), (99, "99 s"), (100, "2 min"), (5400, "90 min"), (12_000, "3 h 20 min"), (7200, "2 h"),
     (59_000, "16 h"), (35_990, "10 h"), (187_200, "2 days 4 h"), (9_000_000, "104 days")],
)  # fmt: skip
def test_a_duration_has_two_units_at_most(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_sizes_of_memory() -> None:
    assert (memory_size(850_000_000), memory_size(1_449_000_000)) == ("850 MB", "1.4 GB")


def test_the_lines_of_an_estimate() -> None:
    assert list(estimate_lines(replace(ESTIMATE, max_steps=20_000, validate_every=1000))) == [
        "about 100 tokens/s, 2 s per step; an epoch is 10 steps",
        "about 11 h to step 20,000, 2,000 epochs",
        "train.max_minutes=120 would end it at step 3,600, 360 epochs",
        "first score in about 5 min, at step 150",
        "about 1.1 GB of memory; 8.6 GB are free",
    ]
    assert len(list(estimate_lines(replace(ESTIMATE, memory=None, step=60, seconds_before=400.0)))) == 2
