"""Work of hours that a killed process leaves half done and the next one continues exactly: what its journals share.

A journal is next to the output: what the work was started with, and a record of each part that is done. A record
follows its part to the disk, so a process that is killed at any instant leaves records that are true, and at most one
that is torn, which is dropped. Work is continued only with what it was started with; an error says what is saved and
how to continue. The journals: `lines.partial_output` (text and a record of lines), `documents.journal` (a database of
translations) and `train.distil` (text and a note of hashes).
"""

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from dragoman.errors import ConfigError, DragomanError, Interrupted, ResumeError, counted


@dataclass(frozen=True, slots=True)
class ResumableWork:
    """Work whose finished parts are in `OUT.partial` until `output` is complete."""

    output: Path
    unit: str
    """What is counted, in the singular: "line"."""

    @property
    def partial(self) -> Path:
        """Where what is finished is kept."""
        return self.output.with_name(f"{self.output.name}.partial")

    def refuse_interrupted(self, count: int, *, resume: bool, force: bool) -> None:
        """Raise ConfigError if `count` units are finished and neither flag says what to do with them."""
        if count and not (resume or force):
            raise ConfigError(
                f"{self.output}: an interrupted translation has {counted(count, self.unit)} in {self.partial.name}; "
                "continue with --resume, or start again with --force"
            )

    def refuse_difference(self, then: Mapping[str, Any], now: Mapping[str, Any]) -> None:
        """Raise ConfigError with the names of what the work was started with `then` and is different `now`."""
        if names := different_names(then, now):
            raise ConfigError(
                f"{self.partial}: was started with another {' and another '.join(names)}; give the same, or start "
                "again with --force"
            )

    def locked_error(self) -> ConfigError:
        """What to say if another process holds the journal."""
        return ConfigError(f"{self.output}: another process is writing it; wait for it, or choose another output")


def foreign_file_error(path: Path) -> ConfigError:
    """What to say of a file that has the name of a journal and is none."""
    return ConfigError(f"{path}: is not of an interrupted translation; move it elsewhere")


def as_stored(started_with: Mapping[str, Any]) -> dict[str, Any]:
    """What work is started with as JSON gives it back: without tuples, so that it can be compared."""
    return dict(json.loads(json.dumps(started_with)))


def different_names(then: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """The names of the values that differ, or that only one side has, in order."""
    return sorted(name for name in {*then, *now} if then.get(name) != now.get(name))


@contextmanager
def saved_work(stopped: Callable[[], str], saved: Callable[[], str]) -> Iterator[None]:
    """Have an error of the block say how to continue.

    `saved` returns what the message of an error ends with, "" if nothing is saved and the error stays as it is;
    `stopped` the message of an interruption by the user. A ResumeError says itself what to do.
    """
    try:
        yield
    except (KeyboardInterrupt, DragomanError) as error:
        if isinstance(error, ResumeError) or not (remedy := saved()) or remedy in str(error):
            raise
        if isinstance(error, DragomanError):
            raise type(error)(f"{error}; {remedy}, continue with --resume") from error
        raise Interrupted(f"{stopped()} continue with --resume") from error


def write_to_disk(file: IO[bytes], data: bytes) -> None:
    """Append to an open file; the data is on the disk when this returns. Raises OSError."""
    file.write(data)
    file.flush()
    os.fsync(file.fileno())


def remove_files(*paths: Path) -> None:
    """Remove those of the files that exist and can be removed."""
    for path in paths:
        with suppress(OSError):
            path.unlink()
