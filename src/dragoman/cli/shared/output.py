"""Where translations go: stdout, a device or a pipe, or a file that appears when it is complete."""

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from io import TextIOWrapper
from pathlib import Path
from typing import IO, Any

from dragoman.data.corpus.corpus import compressed_writer
from dragoman.errors import ConfigError
from dragoman.system.files import atomic_file, is_special, refuse_unwritable_file
from dragoman.workflows.lines.partial_output import partial_output, refuse_taken
from dragoman.workflows.lines.translate import LineOutput, refuse_input

# How the command line names it.
STDOUT = Path("-")


class Stream:
    """An open stream; each line of text is flushed, so that a killed process leaves complete lines."""

    def __init__(self, file: IO[str]) -> None:
        self.file = file

    def has(self, lines: Sequence[str]) -> bool:
        """A stream begins empty."""
        return False

    def write(self, lines: Sequence[str], text: str) -> None:
        """Write the text line by line."""
        for line in text.split("\n")[:-1]:
            self.file.write(line + "\n")
            self.file.flush()


def is_stdout(output: Path) -> bool:
    """Whether a path names stdout: `-`, /dev/stdout, or the file that the shell redirects it to."""
    with suppress(OSError, ValueError, AttributeError):
        return output == STDOUT or os.path.samestat(output.stat(), os.fstat(sys.stdout.fileno()))
    return output == STDOUT


def refuse_unwritable(output: Path, inputs: Sequence[Path] = ()) -> None:
    """Raise DragomanError, before long work, if `destination` could not write or would replace one of the inputs."""
    if output == STDOUT:
        return
    refuse_unwritable_file(output)
    refuse_input(output, inputs)


def refuse_output(output: Path, inputs: Sequence[Path], *, resume: bool, force: bool) -> None:
    """Raise also if the output exists and neither flag says what to do with it."""
    refuse_unwritable(output, inputs)
    if output != STDOUT and not is_special(output):
        refuse_taken(output, resume=resume, force=force)
    elif resume or force:
        name = "stdout" if output == STDOUT else f"{output}"
        raise ConfigError(
            f"--{'resume' if resume else 'force'}: has no effect on {name}; give -o FILE, or leave it out"
        )


@contextmanager
def destination(output: Path) -> Iterator[IO[str]]:
    """Where text goes: stdout, or a file that appears only when it is complete, compressed if its name says so.

    Raises DragomanError if writing fails.
    """
    if output == STDOUT:
        yield sys.stdout
        return
    with atomic_file(output) as file, ExitStack() as stack:
        written = compressed_writer(file, output.name, stack)
        with TextIOWrapper(written, encoding="utf-8", newline="\n") as text:
            yield text


@contextmanager
def line_output(
    output: Path, started_with: Mapping[str, Any], *, resume: bool = False, force: bool = False
) -> Iterator[LineOutput]:
    """Where translations go; what a file has of them is kept if the block raises (`partial_output`)."""
    if output == STDOUT or is_special(output):
        with destination(output) as text:
            yield Stream(text)
    else:
        with partial_output(output, started_with, resume=resume, force=force) as partial:
            yield partial
