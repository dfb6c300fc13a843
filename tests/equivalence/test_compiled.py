"""Compiled = as written, by one program for every batch of rows."""

import subprocess
import sys
from pathlib import Path

import pytest

from architectures import TRANSFORMERS


@pytest.mark.slow
def test_a_layer_is_traced_whole_and_once_for_all_batches() -> None:
    script = Path(__file__).with_name("compiling.py")
    ended = subprocess.run([sys.executable, str(script), *TRANSFORMERS], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.split() == [*TRANSFORMERS]
