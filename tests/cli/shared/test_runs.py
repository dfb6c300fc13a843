"""What follows a run: how it is trained longer, and how it is resumed with the keys that it was started with."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dragoman.cli.shared.runs import say_next
from dragoman.config import RunConfig
from dragoman.config.file import dump_config
from dragoman.training.report.reports import Outcome
from dragoman.training.resume.triggers import Triggers
from dragoman.workflows.train.train import TrainResult


@pytest.mark.parametrize(
    ("train", "end", "remedy"),
    [
        ({}, (100, 9.0, 0), "--resume and a larger train.max_steps"),
        ({"schedule": "linear"}, (100, 9.0, 0), "another train.output and a larger train.max_steps"),
        ({"max_minutes": 1.0}, (50, 60.0, 0), "--resume and a larger train.max_minutes"),
        (
            {"max_minutes": 1.0, "schedule": "linear"},
            (50, 60.0, 0),
            "another train.output and a larger train.max_minutes",
        ),
        ({"patience": 3}, (50, 9.0, 3), "--resume and train.patience=0"),
        ({"patience": 3, "schedule": "linear"}, (50, 9.0, 3), "--resume and train.patience=0"),
        ({"patience": 3}, (100, 9.0, 3), "--resume and a larger train.max_steps"),
    ],
)
def test_how_a_run_is_trained_longer_depends_on_what_ended_it(
    tmp_path: Path,
    toy_run: Callable[..., RunConfig],
    capsys: pytest.CaptureFixture[str],
    train: dict[str, Any],
    end: tuple[int, float, int],
    remedy: str,
) -> None:
    config = toy_run(max_steps=100, **train)
    (tmp_path / "config.toml").write_text(dump_config(config), encoding="utf-8")
    reason = Triggers(config.train).end(*end)
    assert reason
    outcome = Outcome(end[0], reason, end[1], 10, 9.0, (end[0],), "float32")
    say_next(TrainResult(tmp_path, outcome, doubts=("it learned nothing yet",)), "The model", Path("run.toml"), [])
    longer = f"and, if the text is right, longer: the same command with {remedy}"
    assert capsys.readouterr().err.splitlines()[-1].strip() == longer
