"""Reports on text and scores as lines for a reader."""

import math
from collections.abc import Sequence
from pathlib import Path

from dragoman.cli.console import say
from dragoman.data.check import CorpusReport, problems
from dragoman.evaluation import Comparison, Score


def say_reports(reports: Sequence[CorpusReport]) -> None:
    """Sizes first, then the findings with the first location of each."""
    for report in reports:
        names = " + ".join(Path(name).name for name in report.files)
        sizes = f"{report.source_characters:,} + {report.target_characters:,} characters"
        say(f"{report.name:9} {report.pairs:>10,} pairs  {sizes}  {names}")
    for report, kind, finding in problems(reports):
        say(f"{report.name:9} {finding.count:>10,} {kind}, first {finding.first}", style="yellow")


def print_scores(scores: Sequence[Score], copying: Sequence[Score]) -> None:
    """One line per metric: the model, its interval, copying the source, the signature. They are data: stdout."""
    for score, copied in zip(scores, copying, strict=True):
        interval = "" if math.isnan(score.low) else f" [{score.low:.1f}–{score.high:.1f}]"
        print(f"{score.name:5} {score.value:5.1f}{interval}  copying the source {copied.value:.1f}  {score.signature}")
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
