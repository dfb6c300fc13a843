"""Output of the command line: messages to stderr, data to stdout. Colours follow the terminal and NO_COLOR."""

import json
import os
import shlex
import shutil
import sys
from collections.abc import Sequence
from dataclasses import asdict, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any

from rich.console import Console


class Output(Console):
    """A console on stdout, whose reader may end, as `head` does: `cli.main` takes that for no failure."""

    def on_broken_pipe(self) -> None:
        """Instead of the exit code 1 of rich."""
        raise BrokenPipeError


class Messages(Console):
    """A console on stderr. Work does not end because nobody reads any more: a terminal was closed, a pipe ended."""

    def on_broken_pipe(self) -> None:
        """Write nothing more."""
        self.quiet = True

    def _check_buffer(self) -> None:
        try:
            super()._check_buffer()
        except OSError:  # a terminal that is gone has EIO
            self.on_broken_pipe()


@cache
def console() -> Console:
    """The console that messages go to."""
    return Messages(stderr=True, highlight=False, soft_wrap=True)


def say(text: str = "", style: str | None = None) -> None:
    """Print one message."""
    console().print(text, style=style, markup=False, emoji=False)


def print_table(rows: Sequence[Sequence[str]], numbers: bool = False) -> None:
    """Rows of cells in aligned columns on stdout; with `numbers` all columns but the first end at their right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        first, *others = zip(row, widths, strict=True)
        cells = [cell.rjust(width) if numbers else cell.ljust(width) for cell, width in others]
        print("  ".join([first[0].ljust(first[1]), *cells]).rstrip())


def quoted(*words: object) -> str:
    """Words of a command as a shell reads them: a path may have spaces."""
    return shlex.join(map(str, words))


def program() -> str:
    """How to call this program from any folder, for hints that can be copied.

    `dragoman` where the shell finds this very program by that name, otherwise its absolute path.
    """
    called = Path(sys.argv[0])
    if called.name == "__main__.py":
        python = shutil.which("python")
        is_this = python and Path(python).resolve() == Path(sys.executable).resolve()
        return f"{'python' if is_this else sys.executable} -m dragoman"
    if shutil.which("dragoman"):
        return "dragoman"
    return os.path.abspath(called) if called.exists() else sys.argv[0]


def as_called(text: str) -> str:
    """A message of the library, in which hints name the program `dragoman`, with the name it was called by."""
    return text.replace("`dragoman ", f"`{program()} ")


# Fields whose names in Python say what is counted, and their keys in JSON, which is read next to its neighbours.
_KEYS = {"pairs_kept": "kept", "share_kept": "kept", "units_kept": "kept"}


def facts_of(result: Any) -> dict[str, Any]:
    """The fields of a dataclass, and of those within it, under their keys in JSON."""
    return asdict(result, dict_factory=lambda fields: {_KEYS.get(name, name): value for name, value in fields})


def print_json(value: Any) -> None:
    """One JSON object on a line of stdout."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False, default=_plain, allow_nan=False) + "\n")


def _plain(value: Any) -> Any:
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else str(value)
