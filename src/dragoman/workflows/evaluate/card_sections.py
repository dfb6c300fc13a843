"""Sections of a model card about its quality: confidence and robustness, and putting them into a card."""

import re

from dragoman.control.confidence.calibration import BINS, FOLDS
from dragoman.control.confidence.confidence import Confidence, Fitted
from dragoman.workflows.evaluate.robustness import DEFINITION, Robustness

BEFORE = "## Limits\n"


def with_section(card: str, title: str, body: str) -> str:
    """The card with a section of this title: in the place of the old one, otherwise before the limits."""
    section = f"## {title}\n\n{body.strip()}\n\n"
    old = re.compile(rf"^## {re.escape(title)}\n.*?(?=^## |\Z)", re.MULTILINE | re.DOTALL)
    if old.search(card):
        return old.sub(lambda _: section, card, count=1)
    before, found, after = card.partition(BEFORE)
    return before + section + found + after if found else f"{card.rstrip()}\n\n{section}"


def confidence_section(learned: Confidence) -> str:
    """How well the confidence of the model is calibrated."""
    rows = [("log P and lengths", learned.plain)]
    if learned.sampled:
        rows.append((f"with the agreement of {learned.samples} samples", learned.sampled))
    share = 100 * learned.accepted
    return f"""\
With `translate --confidence` each translation has a confidence: the probability that a person would accept it.
No person judged the lines that it was learned from. "Accepted" is a proxy: sentence-level chrF of at least
{learned.accept:g} against the reference. Lines: {learned.lines:,} of the validation text, {share:.1f} % accepted;
measured by {FOLDS}-fold cross-validation, with {BINS} bins.

| features | expected calibration error | Brier score | area under the ROC curve |
| --- | --- | --- | --- |
{"".join(_confidence_row(name, fitted) for name, fitted in rows)}
It holds for text like the validation text.
"""


def _confidence_row(name: str, fitted: Fitted) -> str:
    calibration = fitted.calibration
    return f"| {name} | {calibration.ece:.3f} | {calibration.brier:.3f} | {calibration.auc:.3f} |\n"


def robustness_section(robustness: Robustness) -> str:
    """The table of the suite and its one number."""
    rows = "".join(
        f"| {row.kind} | {row.lines:,} | {row.plain:.1f} | {row.changed:.1f} | {row.share_kept:.2f} | "
        f"{row.warnings:,} |\n"
        for row in robustness.rows
    )
    skipped = "".join(f"\nNot measured: {kind}: {why}." for kind, why in robustness.skipped.items())
    return f"""\
**Robustness {robustness.score:.2f}**: {DEFINITION}

| change of the source | lines | chrF plain | chrF changed | share kept | warnings |
| --- | --- | --- | --- | --- | --- |
{rows}{skipped}
"""
