"""`dragoman data check | clean | split | mix | convert`: report on the text of a run, repair it, split or mix it."""

from pathlib import Path
from typing import Annotated

import typer

from dragoman.cli.shared.arguments import Config, Json, Overrides, Source, app, split_keys
from dragoman.cli.shared.console import facts_of, print_json, program, quoted, say
from dragoman.errors import ConfigError, DataError
from dragoman.system.processes import sigterm_interrupts

data_app = typer.Typer(help="Check, clean, split and mix parallel text.", no_args_is_help=True)
app.add_typer(data_app, name="data")

TargetAndKeys = Annotated[
    list[str] | None,
    typer.Argument(help="Their translations, line by line; then configuration keys.", metavar="TARGET KEY=VALUE"),
]
# Rules that most pairs break whose sides are swapped, and that of a model; and rules about validation and test.
RULES_OF_SIDES, RULES_OF_HELD_OUT, DISAGREEMENT = ("script", "language"), ("leakage", "near_leakage"), "disagreement"
# Share of pairs that cannot be read from which it is no matter of a few lines.
MANY_UNREADABLE = 0.01
Force = Annotated[bool, typer.Option("--force", help="Replace files that exist.")]


@data_app.command("check")
def check(
    config: Config,
    overrides: Overrides = None,
    estimate: Annotated[
        bool, typer.Option("--estimate", help="Time a few updates of each preset: what training would cost.")
    ] = False,
    as_json: Json = False,
    html: Annotated[Path | None, typer.Option(help="Write a page with histograms and examples.")] = None,
) -> None:
    """Count the faults in the text of a run.

    All of them are counted in one run, each with its share and first location; nothing is changed. Thresholds are those
    of [data.clean], which `data clean` uses too.
    """
    from dragoman.cli.shared.costs import estimated, preset_table
    from dragoman.cli.shared.progress import Display
    from dragoman.cli.shared.reports import percent, say_reports, shown
    from dragoman.config.file import read_config
    from dragoman.data.corpus.report import problems, require_usable, wrong_as_a_whole
    from dragoman.system.files import refuse_unwritable_file
    from dragoman.system.pages import refuse_other_file
    from dragoman.workflows.data.check import check_data
    from dragoman.workflows.data.check_page import texts, write_page

    run, keys = read_config(config, overrides or [])
    if html:
        refuse_other_file(html)
        refuse_unwritable_file(html)
    with Display() as display:
        reports = check_data(run, [display])
    if html:
        write_page(html, run.project.name, reports)
    usable = all(report.usable for report in reports)
    presets = estimated(run, reports, keys) if estimate and usable else []
    if as_json:
        rows = [{"model": preset.name, "is_own": preset.is_own, **preset.estimate.summary()} for preset in presets]
        costs = {"estimates": rows} if estimate else {}
        print_json({"schema": "dragoman.data.check/2", "usable": usable, "corpora": reports, **costs})
    else:
        say_reports(reports)
        if usable and not list(problems(reports)):
            say("no problems found")
        for line in preset_table(presets) if presets else ():
            say(line)
    if html:
        say(f"{html}: examples of each fault, a page to open in a browser")
    try:
        require_usable(reports, "listed above")
    except DataError as error:
        raise DataError(shown(str(error))) from None
    if fault := wrong_as_a_whole(reports):
        report, kind, finding = fault
        name, remedy, *_ = texts("en")["kinds"][kind]
        raise DataError(f"{report.name}: {name} in {percent(finding.share)} of its pairs; {remedy}")
    if not as_json:
        say(f"Next: {program()} train {quoted(config)}")


@data_app.command("clean")
def clean(
    config: Config,
    source: Source,
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the cleaned files and the rejects.")],
    rest: TargetAndKeys = None,
    languages: Annotated[
        str, typer.Option(help="Which of project.pairs it is, e.g. en-ko; the first one unless given.")
    ] = "",
    workers: Annotated[int, typer.Option(min=1, max=1024, help="Processes; none changes the result.")] = 1,
    ray: Annotated[bool, typer.Option("--ray", help="Run the rules under Ray Data, on the cluster it finds.")] = False,
    models: Annotated[
        list[Path] | None,
        typer.Option("--model", "-m", help="A model of each direction: pairs on which they disagree are removed too."),
    ] = None,
    disagreement: Annotated[
        float | None,
        typer.Option(min=0, help="With -m: the largest score that stays, in nats per token; 4 unless given."),
    ] = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Remove the pairs of a corpus that break a rule.

    The rules and thresholds are [data.clean] of the configuration. Cleaned files have the names of the given ones;
    rejects.jsonl has what was removed, with line and reasons. With -m for a model of each direction, pairs whose sides
    they do not expect of each other go too (dual conditional cross-entropy).
    """
    from dragoman.cli.shared.progress import Display
    from dragoman.cli.shared.reports import percent, shown
    from dragoman.config.file import load_config
    from dragoman.workflows.data.clean import UNREADABLE, clean_data

    target, keys = _target_and_keys(rest)
    if disagreement is not None and not models:
        raise ConfigError("--disagreement: is about models; give one of each direction with -m")
    limit = {} if disagreement is None else {"disagreement": disagreement}
    with sigterm_interrupts(), Display() as display:
        result = clean_data(
            load_config(config, keys),
            source,
            target,
            output=output,
            languages=languages,
            workers=workers,
            ray=ray,
            force=force,
            models=models or (),
            listeners=[display],
            **limit,
        )
    if as_json:
        print_json({"schema": "dragoman.data.clean/1", **facts_of(result)})
    else:
        say(f"{'read':14} {result.pairs:>12,}")
        for rule, count in result.removed.items():
            say(f"  {rule:12} {count:>12,}  {percent(count / result.pairs):>7}")
        if result.disagreement:
            shares = (f"{share} %: {score}" for share, score in result.disagreement.items())
            say(f"  scores of the models, percentiles: {', '.join(shares)}")
        removed = result.pairs - result.pairs_kept
        for name, pairs, path in (("removed", removed, result.rejects), ("kept", result.pairs_kept, result.files[0])):
            say(f"{name:14} {pairs:>12,}  {percent(pairs / max(result.pairs, 1)):>7}  {shown(str(path))}")
    most = next(iter(result.removed), "")
    unreadable = sum(result.removed.get(rule, 0) for rule in UNREADABLE) if result.unreadable else 0
    is_unreadable = most in UNREADABLE and bool(unreadable)
    if not result.pairs_kept and is_unreadable:
        raise DataError(f"{result.unreadable} (nothing was kept; {result.rejects} has all lines)")
    if not result.pairs_kept:
        raise DataError(f"{source}: nothing was kept; {result.rejects} has the reasons: {_guess(most)}")
    if 2 * result.pairs_kept < result.pairs and not is_unreadable:
        why = f"fewer than half of the pairs are kept, and most went by the rule {most}"
        say(f"{why}: {_guess(most)}", style="bold red")
    elif unreadable > MANY_UNREADABLE * result.pairs:  # of a file in another encoding, only lines in ASCII stay
        say(f"{unreadable:,} of the removed pairs cannot be read, the first: {result.unreadable}", style="bold red")
    if not as_json:
        say(f"Next: {program()} data split {quoted(config, *result.files)}")


def _guess(rule: str) -> str:
    """What may be the matter where most pairs break a rule."""
    if rule in RULES_OF_SIDES:
        return "are the two sides swapped, or of other languages than [project] has?"
    if rule in RULES_OF_HELD_OUT:
        return "data.valid and data.test have their sources; were they split from this corpus?"
    if rule == DISAGREEMENT:
        return "do the models know text of this kind? --disagreement is the limit"
    return f"read some of them; the rule is data.clean.{rule}"


@data_app.command("split")
def split(
    config: Config,
    source: Source,
    rest: TargetAndKeys = None,
    held_out: Annotated[int | None, typer.Option(min=1, help="Exact number of pairs for each of valid, test.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Another seed draws other pairs.")] = 1,
    near: Annotated[bool, typer.Option("--near/--no-near", help="Keep near-duplicates of a sentence together.")] = True,
    drop: Annotated[
        bool, typer.Option("--drop", help="Drop lines with an empty side or bad bytes, and count.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Split a corpus into train, valid and test.

    The files are those that the configuration names. Repeats of a sentence stay together, near-duplicates too.
    """
    from dragoman.cli.shared.reports import shown
    from dragoman.config.file import load_config
    from dragoman.workflows.data.check import REJECTS, split_data, split_parts

    target, keys = _target_and_keys(rest)
    run = load_config(config, keys)
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
    say(f"Next: {program()} data check {quoted(config)}")


@data_app.command("mix")
def mix(config: Config, overrides: Overrides = None, force: Force = False, as_json: Json = False) -> None:
    """Mix several corpora into the training text of a run.

    Reads the corpora of [data.mix], with their weights and tags; writes the first corpus of data.train, shuffled.
    """
    from dragoman.cli.shared.progress import Display
    from dragoman.config.file import load_config
    from dragoman.workflows.data.mix import mix_data

    with sigterm_interrupts(), Display() as display:
        result = mix_data(load_config(config, overrides or []), force=force, listeners=[display])
    if as_json:
        print_json({"schema": "dragoman.data.mix/1", **facts_of(result)})
        return
    for corpus in result.corpora:
        share = 100 * corpus.mixed / max(result.pairs, 1)
        say(f"{corpus.mixed:>12,}  {share:5.1f} %  of {corpus.pairs:>12,}  {corpus.domain}")
    say(f"{result.pairs:>12,}  {'pairs':7}  {result.files[0]}")
    say(f"Next: {program()} data check {quoted(config)}")


@data_app.command("convert")
def convert(
    files: Annotated[list[Path], typer.Argument(help="Bilingual documents: .tmx, .po, .xliff, .ts, .xcstrings.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The .tsv to write: source, tab, target.")],
    source: Annotated[str, typer.Option("--from", help="Language of the first column, e.g. en.")],
    target: Annotated[str, typer.Option("--to", help="Language of the second column, e.g. ko.")],
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Write the pairs of bilingual documents as text to train on.

    Inline codes are left out; only finished translations are taken.
    """
    from dragoman.cli.shared.reports import shown
    from dragoman.workflows.data.convert import convert_data

    with sigterm_interrupts():
        result = convert_data(files, output, source=source, target=target, force=force)
    if as_json:
        print_json({"schema": "dragoman.data.convert/1", **facts_of(result)})
        return
    for name, count in result.files.items():
        say(f"{count:>12,}  {'pair' if count == 1 else 'pairs'}  {shown(name)}")
    say(f"{result.pairs:>12,}  in {shown(str(result.output))}")


def _target_and_keys(rest: list[str] | None) -> tuple[Path | None, list[str]]:
    """The file of the other side, if there is one, and the configuration keys."""
    target, keys = split_keys(rest)
    if len(target) > 1:
        raise ConfigError(f"{target[1]}: too many arguments; a corpus is one file or two")
    return (Path(target[0]) if target else None), keys
