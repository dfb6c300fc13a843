"""Talk goes to stderr, data to stdout. Colours follow the terminal and NO_COLOR."""

import json
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, is_dataclass
from functools import cache
from typing import Any

from rich.console import Console


@cache
def console() -> Console:
    """Where people are spoken to."""
    return Console(stderr=True, highlight=False, soft_wrap=True)


def say(text: str = "", style: str | None = None) -> None:
    """One line for a person."""
    console().print(text, style=style, markup=False, emoji=False)


@contextmanager
def silence(really: bool = True) -> Iterator[None]:
    """Say nothing within: of several processes only one speaks."""
    before, console().quiet = console().quiet, really
    try:
        yield
    finally:
        console().quiet = before


def program() -> str:
    """How this program was called, for hints that can be typed as they are."""
    if os.path.basename(sys.argv[0]) == "__main__.py":
        return "python -m dragoman"
    return "dragoman" if shutil.which("dragoman") else min(sys.argv[0], os.path.relpath(sys.argv[0]), key=len)


def print_json(value: Any) -> None:
    """One JSON object on a line of stdout."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False, default=_plain, allow_nan=False) + "\n")


def _plain(value: Any) -> Any:
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else str(value)
