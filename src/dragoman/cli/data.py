"""`dragoman data check`: what is wrong or doubtful in a run's text."""

from collections.abc import Sequence
from pathlib import Path

from dragoman.cli.console import console, print_json, say
from dragoman.configfile import load_config
from dragoman.data.check import CorpusReport, check_data, problems


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
    say(f"Next: dragoman train {config}")


def say_reports(reports: Sequence[CorpusReport]) -> None:
    """Sizes first, then the doubts with the first place of each."""
    for report in reports:
        names = " + ".join(Path(name).name for name in report.files)
        sizes = f"{report.source_characters:,} + {report.target_characters:,} characters"
        say(f"{report.name:9} {report.pairs:>10,} pairs  {sizes}  {names}")
    for report, kind, finding in problems(reports):
        say(f"{report.name:9} {finding.count:>10,} {kind}, first {finding.first}", style="yellow")
