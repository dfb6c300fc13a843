"""The exceptions that users can see, one family, each with its exit code.

    DragomanError             1   something failed: disk full, a folder that cannot be written
    ├── ConfigError           2   a key, a flag or a value in the configuration
    │   └── ResumeError       2   the run on disk was made with another configuration or other data
    ├── DataError             3   a line, a file or a corpus
    ├── ModelError            4   a model bundle that is missing, damaged or of another format
    ├── ResourceError         5   out of memory, or a device that does not exist
    ├── QualityError          6   an export that does not translate as its model does
    ├── DistributedError      1   another process of the run was lost, or cannot be reached
    ├── DivergenceError       1   the loss is not finite, or far above that of guessing
    └── Interrupted         130   stopped by a signal, after saving

A message says where, what, and what to do next, in one line. An `assert` is for our own bugs.

At the end are the checks of arguments that are of a wrong type: a Python error deep inside would name no argument.
"""

import os
from pathlib import Path
from types import UnionType


def counted(number: int, noun: str) -> str:
    """A number with its noun, in messages: "1 pair", "2,000 pairs"."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


class DragomanError(Exception):
    """Base class of all errors that a user can cause or fix."""

    exit_code = 1


class ConfigError(DragomanError):
    """The configuration names an unknown key or an impossible value."""

    exit_code = 2


class ResumeError(ConfigError):
    """The run cannot be resumed exactly; the message says why."""


class DataError(DragomanError):
    """A corpus cannot be read or its sides do not correspond; the message names file and line."""

    exit_code = 3


class ModelError(DragomanError):
    """A model bundle is missing, damaged or of a format that this version does not know."""

    exit_code = 4


class ResourceError(DragomanError):
    """The work does not fit into memory, or the device does not exist."""

    exit_code = 5


class QualityError(DragomanError):
    """The result is worse than a quality gate allows and was discarded."""

    exit_code = 6


class DistributedError(DragomanError):
    """A process of the run was lost or cannot be reached; the last checkpoint is kept."""


class DivergenceError(DragomanError):
    """A loss or a gradient is not finite, or a run ends far above the loss of guessing; the last checkpoint is kept."""


class Interrupted(DragomanError):
    """A signal stopped the work; everything done so far has been saved."""

    exit_code = 130


def describe_type(value: object) -> str:
    """What was given in place of something else, for an error message."""
    return "None" if value is None else f"a value of type {type(value).__name__}"


def check_type(name: str, value: object, expected: type | UnionType, remedy: str) -> None:
    """Raises ConfigError that names the argument `name`, unless its value is of the expected type."""
    if not isinstance(value, expected):
        raise ConfigError(f"{name}: give {remedy}, not {describe_type(value)}")


def check_count(name: str, value: object) -> None:
    """Raises ConfigError that names the argument `name`, unless its value is a whole number above 0."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ConfigError(f"{name}: give a whole number above 0, not {value!r}")


def checked_path(name: str, value: object) -> Path:
    """The path that an argument gives. Raises ConfigError that names the argument if it is none."""
    if not isinstance(value, str | os.PathLike) or not isinstance(os.fspath(value), str):
        raise ConfigError(f"{name}: give a path, a str or os.PathLike, not {describe_type(value)}")
    if not os.fspath(value) or "\0" in os.fspath(value):
        raise ConfigError(f"{name}: give a path that is not empty and has no null character, not {os.fspath(value)!r}")
    return Path(value)
