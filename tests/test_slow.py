"""The list of slow tests matches tests that exist."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from slow import PATTERNS


@pytest.mark.slow
def test_each_pattern_matches_a_test() -> None:
    command = [sys.executable, "-m", "pytest", "-q", "--collect-only", "-m", "not gpu", "-p", "no:cacheprovider"]
    done = subprocess.run(command, cwd=Path(__file__).parents[1], capture_output=True, text=True, check=True)
    collected = done.stdout.splitlines()
    for pattern in PATTERNS:
        assert any(re.fullmatch(f"tests/(?:.*/)?{pattern}", test_id) for test_id in collected), pattern
