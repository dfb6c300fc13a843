"""The examples of the course run: they write their text, train, and compare; how good they become is a slow test."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
BRIEF = ["train.max_steps=2", "train.validate_every=2", "model.layers=1", "model.d_model=16", "model.d_ff=16"]


def run(name: str, folder: Path, *overrides: str) -> str:
    """What the example prints."""
    command = [sys.executable, str(EXAMPLES / name), str(folder), *overrides]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.mark.slow
def test_the_dates_run(tmp_path: Path) -> None:
    assert re.search(r"^right: \d+ of 500$", run("dates.py", tmp_path, *BRIEF), re.MULTILINE)


@pytest.mark.slow
def test_dates_in_ten_notations_are_learned(tmp_path: Path) -> None:
    found = re.search(r"^right: (\d+) of 500$", run("dates.py", tmp_path), re.MULTILINE)
    assert found is not None
    assert int(found[1]) >= 495  # 500 here; rounding differs from processor to processor


@pytest.mark.slow
def test_the_forecast_is_better_than_both_naive_ones(tmp_path: Path) -> None:
    errors = dict(re.findall(r"^(\S.*?) +mean absolute error ([\d.]+)$", run("series.py", tmp_path), re.MULTILINE))
    assert set(errors) == {"naive", "seasonal naive", "Transformer"}
    assert float(errors["Transformer"]) < min(float(errors["naive"]), float(errors["seasonal naive"]))
