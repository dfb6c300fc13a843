"""`dragoman model confidence` and `dragoman evaluate --suite robust`: what a model knows of its own quality."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from dragoman.cli.console import print_json, say
from dragoman.cli.loading import EngineChoice, load_translator
from dragoman.cli.progress import Display
from dragoman.errors import ConfigError, counted
from dragoman.workflows.evaluate.confidence import confidence_facts, learn_model_confidence
from dragoman.workflows.evaluate.robustness import DEFINITION, Robustness, evaluate_robustness


def run_confidence(
    model: Path, source: Path, reference: Path | None, *, accept: float, samples: int, lines: int, as_json: bool
) -> None:
    """Learn the confidence of a model, write it, report its calibration."""
    with Display() as display:
        found = learn_model_confidence(
            model, source, reference, accept=accept, samples=samples, lines=lines, listeners=[display]
        )
    learned = found.confidence
    if as_json:
        facts = confidence_facts(learned)
        print_json({"schema": "dragoman.model.confidence/1", "model": str(model), **facts})
        return
    share = f"{100 * learned.accepted:.1f} % of them accepted (chrF of at least {learned.accept:g})"
    print(f"{counted(learned.lines, 'line')}, {share}")
    fits = {"log P and lengths": learned.plain}
    if learned.sampled:
        fits[f"with {learned.samples} samples"] = learned.sampled
    for name, fitted in fits.items():
        one = fitted.calibration
        ranking = f"area under the ROC curve {one.auc:.3f}"
        print(f"{name:20} calibration error {one.ece:.3f}, Brier {one.brier:.3f}, {ranking}")
    say(f"{found.path} is written; `translate --confidence` uses it")


def run_suite(
    models: Sequence[Path],
    source: Path,
    reference: Path | None,
    *,
    lines: int,
    choice: EngineChoice,
    changes: Mapping[str, Any],
    as_json: bool,
) -> None:
    """The suite of robustness of one system, a table or JSON."""
    if not models:
        raise ConfigError("--suite robust: needs a model; give it with -m")
    translator = load_translator(models, choice, changes)
    with Display() as display:
        found = evaluate_robustness(translator, source, reference, lines=lines, listeners=[display])
    if as_json:
        name = " + ".join(map(str, models))
        record = {"schema": "dragoman.evaluate.robust/1", "model": name, "robustness": found.score, **asdict(found)}
        print_json(record)
    else:
        print_robustness(found)


def print_robustness(found: Robustness) -> None:
    """One row for each kind of change, then the one number. It is data: stdout."""
    width = max(len(row.kind) for row in found.rows)
    print(f"{'change':{width}}  {'lines':>5}  {'plain':>6}  {'changed':>7}  {'kept':>5}  {'warnings':>8}")
    for row in found.rows:
        numbers = f"{row.lines:5,}  {row.plain:6.1f}  {row.changed:7.1f}  {row.share_kept:5.2f}  {row.warnings:8,}"
        print(f"{row.kind:{width}}  {numbers}")
    print(f"robustness {found.score:.3f}")
    for kind, why in found.skipped.items():
        say(f"{kind}: not measured: {why}")
    say(f"robustness: {DEFINITION}; 1 is best")
