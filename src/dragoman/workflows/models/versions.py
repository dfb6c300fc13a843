"""Versions of a model: the folder and the name of the next one.

The versions of `news` are `news`, `news-2`, `news-3`, … in one folder; those of a bundled model are installed models.
"""

import re
from dataclasses import dataclass
from pathlib import Path

from dragoman.bundle import Bundle
from dragoman.bundled import bundled_folder
from dragoman.config.sections.project import is_name
from dragoman.errors import ConfigError
from dragoman.installed import models_folder


@dataclass(frozen=True, slots=True)
class NewVersion:
    """Where a version is written, and what it is called."""

    folder: Path
    name: str


def next_version(bundle: Bundle, output: Path | None = None) -> NewVersion:
    """The first version after that of `bundle` that does not exist, or `output`. Raises ConfigError if that exists."""
    own = str(bundle.config.project.name)
    if output is not None:
        if output.exists():
            raise ConfigError(f"{output}: already exists; choose another folder with -o")
        return NewVersion(output, output.name if is_name(output.name) else own)
    folder = bundle.folder.absolute()
    parent = models_folder() if folder == bundled_folder(folder.name) else folder.parent
    stem, number = _parsed(folder.name)
    while (found := parent / f"{stem}-{number + 1}").exists():
        number += 1
    return NewVersion(found, f"{_parsed(own)[0]}-{number + 1}")


def _parsed(name: str) -> tuple[str, int]:
    """`news-3` as `news` and 3; a name without a number is the first version."""
    match = re.fullmatch(r"(.+)-([1-9]\d{0,5})", name)
    return (match[1], int(match[2])) if match else (name, 1)
