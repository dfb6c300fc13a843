"""Reports on text and scores as lines for a reader."""

import math
import os
from collections.abc import Sequence
from pathlib import Path

from dragoman.cli.shared.console import say
from dragoman.data.corpus.report import UNUSABLE, CorpusReport, is_alarming, problems
from dragoman.evaluation import Comparison, Score
from dragoman.workflows.data.check_page import kind_name, texts

# Kinds that swapped sides explain: what is done about those is all that is to do.
OF_SIDES = ("language", "script")


def is_swapped(report: CorpusReport) -> bool:
    """Whether the sides of a corpus seem to be exchanged."""
    return "swapped" in report.findings and is_alarming("swapped", report.findings["swapped"])


def say_reports(reports: Sequence[CorpusReport]) -> None:
    """Sizes first, then what each corpus has: a table that fits 80 columns. A fault of the whole corpus is red."""
    for report in reports:
        names = " + ".join(Path(name).name for name in report.files)
        say(f"{report.name:9} {report.pairs:>11,} {'pair ' if report.pairs == 1 else 'pairs'}  {names}")
        for side in ("source", "target"):
            unseen = [
                f"{percent(share)} of its {kind.removeprefix(side + '_')}"
                for kind, share in report.unseen.items()
                if kind.startswith(side)
            ]
            if unseen:
                say(f"{'':9} {side}: training lacks {', '.join(unseen)}")
    for report in reports:
        if report.unequal:
            say(f"{report.name}: {shown(report.unequal)}", style="bold red")
    faults = list(problems(reports))
    if faults:
        say(f"\n{'':9} {'pairs':>11}  {'share':>7}  fault")
    for report, kind, finding in faults:
        line = f"{report.name:9} {finding.count:>11,}  {percent(finding.share):>7}  {kind_name(kind)}"
        location = _fitting(shown(finding.first), 78 - len(line))
        alarming = kind in UNUSABLE or is_alarming(kind, finding)
        say(f"{line}  {location}", style="bold red" if alarming else "yellow")
        if alarming and not (kind in OF_SIDES and is_swapped(report)):
            say(f"{'':9} {texts('en')['kinds'][kind][1]}", style="red")


def shown(text: str) -> str:
    """A message without the current folder at the beginning of its paths."""
    return text.replace(f"{os.getcwd()}{os.sep}", "")


def percent(share: float) -> str:
    """A share for a table, small ones as less than a tenth of a percent."""
    if not share:
        return "0 %"
    return f"{100 * share:.1f} %" if share >= 0.001 else "< 0.1 %"


def _fitting(location: str, width: int) -> str:
    """A location, without its folder if it would not fit."""
    return location if len(location) <= width else location.rsplit("/", 1)[-1]


def print_scores(scores: Sequence[Score], copying: Sequence[Score], verbose: bool = False) -> None:
    """One line per metric: the model, its interval, copying the source. They are data: stdout.

    With `verbose` each line is followed by sacreBLEU's signature.
    """
    for score, copied in zip(scores, copying, strict=True):
        interval = "" if math.isnan(score.low) else f" [{score.low:.1f}–{score.high:.1f}]"
        print(f"{score.name:5} {score.value:5.1f}{interval}  copying the source {copied.value:.1f}")
        if verbose:
            print(f"      {score.signature}")
    say("BLEU and chrF: higher is better; TER: lower is better")


def print_comparison(comparison: Comparison) -> None:
    """A table of systems and metrics with the p-values of both paired tests. It is data: stdout."""
    width = max(len("system"), *map(len, comparison.systems))
    print(
        f"{'system':{width}}  {'metric':6}  score  mean ± half of the 95 % interval  p (bootstrap)  p (randomisation)"
    )
    for name, scores in comparison.systems.items():
        for score in scores:
            interval = f"{score.mean:.1f} ± {score.half_width:.1f}"
            tests = [_p(score.p_bootstrap), _p(score.p_randomisation)]
            print(
                f"{name:{width}}  {score.name:6}  {score.value:5.1f}  {interval:32}  {tests[0]:13}  {tests[1]}".rstrip()
            )
    for metric, signatures in comparison.signatures.items():
        print(f"{metric}: {signatures[0]}; {signatures[1]}")
    baseline = next(iter(comparison.systems))
    say(f"p: the probability of such a difference from {baseline} if both were equally good; below 0.05 is significant")


def _p(value: float | None) -> str:
    return "baseline" if value is None else f"{value:.4f}"


def plain(score: Score) -> dict[str, object]:
    """A score for JSON."""
    interval = None if math.isnan(score.low) else [score.low, score.high]
    return {"metric": score.name, "value": score.value, "interval": interval, "signature": score.signature}
