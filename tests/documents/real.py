"""The documents of other people, where $DRAGOMAN_DATA names a folder that has them; tests of them skip elsewhere."""

import os
from pathlib import Path

import pytest

SAMPLES = Path(__file__).parent / "samples"
DATA = Path(os.environ.get("DRAGOMAN_DATA", "")) / "documents"
needs_data = pytest.mark.skipif(
    not (os.environ.get("DRAGOMAN_DATA") and DATA.is_dir()), reason="$DRAGOMAN_DATA names no folder of documents"
)


def real(folder: str) -> list[Path]:
    """The documents of a folder ("po", "hostile"), none where there is no data."""
    return sorted(path for path in (DATA / folder).iterdir() if path.is_file()) if (DATA / folder).is_dir() else []
