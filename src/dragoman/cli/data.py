"""`dragoman data check | clean | split | mix | convert`: report on the text of a run, repair it, split or mix it."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from dragoman.cli.console import print_json, program, say
from dragoman.cli.costs import as_json_object, estimated, preset_table
from dragoman.cli.progress import Display
from dragoman.cli.reports import percent, say_reports, shown
from dragoman.config.file import load_config, read_config
from dragoman.data.corpus.report import problems, require_usable
from dragoman.errors import DataError
from dragoman.system.files import refuse_unwritable_file, storage_error
from dragoman.system.processes import sigterm_interrupts
from dragoman.workflows.data.check import REJECTS, check_data, split_data, split_parts
from dragoman.workflows.data.check_page import refuse_other_file, write_page
from dragoman.workflows.data.clean import CleanResult, clean_data
from dragoman.workflows.data.convert import convert_data
from dragoman.workflows.data.mix import mix_data


def check(
    config: Path, overrides: Sequence[str], as_json: bool, page: Path | None = None, estimate: bool = False
) -> None:
    """Read all text of the run and report, with `estimate` also what training costs.

    Raises DataError at the end if training is impossible.
    """
    run, given = read_config(config, overrides)
    if page:
        refuse_other_file(page)
        refuse_unwritable_file(page)
    with Display() as display:
        reports = check_data(run, [display])
    if page:
        try:
            write_page(page, run.project.name, reports)
        except OSError as error:
            raise storage_error(page, error) from None
    usable = all(report.usable for report in reports)
    presets = estimated(run, reports, given) if estimate and usable else []
    if as_json:
        costs = {"estimates": [as_json_object(preset) for preset in presets]} if estimate else {}
        print_json({"schema": "dragoman.data.check/2", "usable": usable, "corpora": reports, **costs})
    else:
        say_reports(reports)
        if usable and not list(problems(reports)):
            say("no problems found")
        for line in preset_table(presets) if presets else ():
            say(line)
    if page:
        say(f"{page}: examples of each fault, a page to open in a browser")
    try:
        require_usable(reports, "listed above")
    except DataError as error:
        raise DataError(shown(str(error))) from None
    if not as_json:
        say(f"Next: {program()} train {config}")


def split(
    config: Path,
    source: Path,
    target: Path | None,
    overrides: Sequence[str] = (),
    as_json: bool = False,
    *,
    held_out: int | None = None,
    seed: int = 1,
    near: bool = True,
    drop: bool = False,
) -> None:
    """Split a corpus into the files that the run names, and report their sizes."""
    run = load_config(config, overrides)
    with sigterm_interrupts():
        counts = split_data(run, source, target, held_out, seed=seed, near=near, drop=drop)
    corpora = split_parts(run)
    if as_json:
        files = {name: [str(path) for path in corpus.files] for name, corpus in corpora.items()}
        parts = {name: {"pairs": counts[name], "files": files[name]} for name in files}
        dropped = {"dropped": counts["dropped"]} if "dropped" in counts else {}
        print_json({"schema": "dragoman.data.split/1", "parts": parts, **dropped})
        return
    for name, count in counts.items():
        corpus = corpora.get(name)
        path = corpus.source if corpus else run.data.train[0].source.with_name(REJECTS)
        say(f"{name:7} {count:>10,} pair{' ' if count == 1 else 's'}  {shown(str(path))}")
    say(f"Next: {program()} data check {config}")


def clean(
    config: Path,
    source: Path,
    target: Path | None,
    overrides: Sequence[str],
    as_json: bool,
    *,
    output: Path,
    workers: int,
    ray: bool,
    force: bool,
) -> None:
    """Write what breaks no rule to a folder, and report what was removed."""
    with sigterm_interrupts(), Display() as display:
        result = clean_data(
            load_config(config, overrides),
            source,
            target,
            output=output,
            workers=workers,
            ray=ray,
            force=force,
            listeners=[display],
        )
    if as_json:
        print_json({"schema": "dragoman.data.clean/1", **asdict(result)})
    else:
        _say_cleaned(result)
    if not result.pairs_kept:
        raise DataError(f"{source}: nothing was kept; {result.rejects} has the reasons: are the two sides swapped?")
    if not as_json:
        say(f"Next: {program()} data split {config} {' '.join(map(str, result.files))}")


def _say_cleaned(result: CleanResult) -> None:
    say(f"{'read':14} {result.pairs:>12,}")
    for rule, count in result.removed.items():
        say(f"  {rule:12} {count:>12,}  {percent(count / result.pairs):>7}")
    removed = result.pairs - result.pairs_kept
    for name, pairs, path in (("removed", removed, result.rejects), ("kept", result.pairs_kept, result.files[0])):
        say(f"{name:14} {pairs:>12,}  {percent(pairs / max(result.pairs, 1)):>7}  {shown(str(path))}")


def mix(config: Path, overrides: Sequence[str], as_json: bool, *, force: bool) -> None:
    """Mix the corpora of [data.mix] and report how many pairs of each there are."""
    with sigterm_interrupts(), Display() as display:
        result = mix_data(load_config(config, overrides), force=force, listeners=[display])
    if as_json:
        print_json({"schema": "dragoman.data.mix/1", **asdict(result)})
        return
    for corpus in result.corpora:
        share = 100 * corpus.mixed / max(result.pairs, 1)
        say(f"{corpus.mixed:>12,}  {share:5.1f} %  of {corpus.pairs:>12,}  {corpus.domain}")
    say(f"{result.pairs:>12,}  {'pairs':7}  {result.files[0]}")
    say(f"Next: {program()} data check {config}")


def convert(files: Sequence[Path], output: Path, as_json: bool, *, source: str, target: str, force: bool) -> None:
    """Write the pairs of bilingual documents, and report how many each has."""
    with sigterm_interrupts():
        result = convert_data(files, output, source=source, target=target, force=force)
    if as_json:
        print_json({"schema": "dragoman.data.convert/1", **asdict(result)})
        return
    for name, count in result.files.items():
        say(f"{count:>12,}  {'pair' if count == 1 else 'pairs'}  {shown(name)}")
    say(f"{result.pairs:>12,}  in {shown(str(result.output))}")
