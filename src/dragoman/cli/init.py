"""`dragoman init`: a folder with a commented configuration, and the next commands."""

from collections.abc import Sequence
from pathlib import Path

from dragoman.cli.console import program, say
from dragoman.errors import ConfigError
from dragoman.workflows.train.project import init_project


def run_init(folder: Path, text: Sequence[Path], pair: str | None, base: Path | None, both: bool = False) -> None:
    """Write the project, split the text if there is any, print the next commands."""
    if len(text) > 2:
        raise ConfigError(f"{text[2]}: too many arguments; give the two files of a corpus, or one .tsv or .jsonl file")
    project = init_project(folder, *text, pair=pair, start_from=base, both_directions=both)
    path, (source, target) = project.config, project.pair
    if project.base:
        say(f"{base} has weights for translating only; {project.base} is a copy with weights to train, dequantised.")
    if text:
        parts = ", ".join(f"{count:,} {part}" for part, count in project.parts.items())
        say(f"{path} is written, and the text is split into {folder}/data ({parts} pairs).")
    else:
        say(f"{path} is written. Put your text into {folder}/data (see [data] there), or split a corpus:")
        say(f"  {program()} data split {path} all.{source} all.{target}")
    say(f"  {program()} data check {path}\n  {program()} train {path}")
