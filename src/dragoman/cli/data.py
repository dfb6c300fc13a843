"""`dragoman data check | split`: what is doubtful in a run's text, and dividing a corpus for it."""

from collections.abc import Sequence
from pathlib import Path

from dragoman.cli.console import console, print_json, program, say
from dragoman.config import CorpusConfig
from dragoman.config.file import load_config
from dragoman.data.check import CorpusReport, check_data, problems
from dragoman.data.split import split_corpus
from dragoman.errors import ConfigError
from dragoman.storage import storage_error


def check(config: Path, overrides: Sequence[str], as_json: bool) -> None:
    """Read all text of the run and report."""
    data = load_config(config, overrides).data
    with console().status("reading") as status:
        reports = check_data(data, lambda pairs: status.update(f"{pairs:,} pairs read"))
    if as_json:
        print_json({"schema": "dragoman.data.check/1", "corpora": reports})
        return
    say_reports(reports)
    if not list(problems(reports)):
        say("nothing doubtful found")
    say(f"Next: {program()} train {config}")


def split(config: Path, source: Path, target: Path | None, held_out: int | None) -> None:
    """Divide a corpus into the files that the run names."""
    data = load_config(config).data
    if len(data.train) != 1:
        raise ConfigError(f"{config}: names {len(data.train)} training corpora; a split fills one")
    named = {"valid": data.valid, "test": data.test, "train": data.train[0]}
    parts = {name: part for name, part in named.items() if part}
    try:
        counts = split_corpus(corpus_of(source, target), parts, held_out)
    except OSError as error:
        raise storage_error(data.train[0].source.parent, error) from None
    for name, part in parts.items():
        say(f"{name:6} {counts[name]:>10,} pairs  {part.source}")
    say(f"Next: {program()} data check {config}")


def corpus_of(source: Path, target: Path | None) -> CorpusConfig:
    """The corpus that two arguments of the command line name. Raises ConfigError."""
    try:
        return CorpusConfig(source=source, target=target)
    except ValueError:
        if target:
            raise ConfigError(f"{source}: holds both sides; give it alone") from None
        raise ConfigError(f"{source}: give the file of the other side too, or one .tsv or .jsonl of both") from None


def say_reports(reports: Sequence[CorpusReport]) -> None:
    """Sizes first, then the doubts with the first place of each."""
    for report in reports:
        names = " + ".join(Path(name).name for name in report.files)
        sizes = f"{report.source_characters:,} + {report.target_characters:,} characters"
        say(f"{report.name:9} {report.pairs:>10,} pairs  {sizes}  {names}")
    for report, kind, finding in problems(reports):
        say(f"{report.name:9} {finding.count:>10,} {kind}, first {finding.first}", style="yellow")
