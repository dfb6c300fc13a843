"""The examples of the course run: they write their text, train, and become as good as their page says."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"


def run(name: str, folder: Path, *overrides: str) -> str:
    """What the example prints."""
    command = [sys.executable, str(EXAMPLES / name), str(folder), *overrides]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def updates(count: int) -> tuple[str, str]:
    return f"train.max_steps={count}", f"train.validate_every={count}"


@pytest.mark.slow
def test_dates_in_ten_notations_are_learned(tmp_path: Path) -> None:
    """In two thirds of its updates already."""
    found = re.search(r"^right: (\d+) of 500$", run("dates.py", tmp_path, *updates(400)), re.MULTILINE)
    assert found is not None
    assert int(found[1]) >= 495  # 500 after all updates; rounding differs from processor to processor


@pytest.mark.slow
def test_the_forecast_is_better_than_both_naive_ones(tmp_path: Path) -> None:
    """After a third of its updates already."""
    printed = run("series.py", tmp_path, *updates(400))
    errors = dict(re.findall(r"^(\S.*?) +mean absolute error ([\d.]+)$", printed, re.MULTILINE))
    assert set(errors) == {"naive", "seasonal naive", "Transformer"}
    assert float(errors["Transformer"]) < min(float(errors["naive"]), float(errors["seasonal naive"]))
