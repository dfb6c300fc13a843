"""What a fine-tuning changed: the base model and the finished one on the run's own test set and on general text.

Input: the translations of both. Output: BLEU, chrF and TER before and after, with the p-values of paired bootstrap
tests, as notices, as facts for the bundle and as a section of its card.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dragoman.bundle import Bundle
from dragoman.config import RunConfig
from dragoman.errors import DragomanError
from dragoman.evaluation import ComparedScore, paired_bootstrap
from dragoman.translator import Translator
from dragoman.workflows.base_model import open_base_model
from dragoman.workflows.evaluate import TestSet, read_test_corpus, translate_all
from dragoman.workflows.listener import Listeners

MakeTranslator = Callable[[Bundle], Translator]


@dataclass(frozen=True, slots=True)
class ChangedScore:
    """One metric of one test set, before and after fine-tuning."""

    on: str
    """`test`, `valid` where there is no test set, or `general_test`."""
    metric: str
    before: float
    after: float
    p_value: float
    """Of the paired bootstrap test (Koehn 2004) of the difference."""


@dataclass(frozen=True, slots=True)
class FineTuningReport:
    """The scores of a base model and of the model that was fine-tuned from it."""

    base: str
    """The name of the base model."""
    scores: tuple[ChangedScore, ...]


def compare_with_base(
    config: RunConfig,
    base: Bundle | None,
    make_translator: MakeTranslator,
    finished: Translator,
    test_set: TestSet,
    translations: Sequence[str],
    listener: Listeners,
) -> FineTuningReport | None:
    """The report on a fine-tuned model, whose `translations` of the test set are known; None without a base model.

    A resumed run opens its base model again; where that is gone, a notice names it and there is no report.
    """
    if not config.train.start_from:
        return None
    try:
        base = base or open_base_model(config.train.start_from)
        before = make_translator(base)
    except DragomanError as why:
        listener.notice(f"not compared with the base model: {why}")
        return None
    rows = _rows("test" if config.data.test else "valid", before, test_set, translations, listener)
    if config.data.general_test:
        general = read_test_corpus(config.data.general_test)
        rows += _rows("general_test", before, general, translate_all(finished, general.sources, listener), listener)
    return FineTuningReport(base.config.project.name, tuple(rows))


def _rows(
    on: str, base: Translator, test_set: TestSet, after: Sequence[str], listener: Listeners
) -> list[ChangedScore]:
    before = translate_all(base, test_set.sources, listener)
    tested = paired_bootstrap(before, after, test_set.references)
    rows = [ChangedScore(on, old.name, old.value, new.value, _p_value(new)) for old, new in tested]
    changes = (f"{row.metric} {row.before:.1f} → {row.after:.1f} (p = {row.p_value:.3f})" for row in rows)
    listener.notice(f"  {on}, before → after: {', '.join(changes)}")
    return rows


def _p_value(score: ComparedScore) -> float:
    assert score.p_bootstrap is not None  # the second of two systems has it
    return score.p_bootstrap


def section(report: FineTuningReport) -> str:
    """The report as Markdown, for the model card."""
    rows = "".join(
        f"| {row.on} | {row.metric} | {row.before:.1f} | {row.after:.1f} | {row.p_value:.3f} |\n"
        for row in report.scores
    )
    return (
        f"`{report.base}` before, this model after; p of the paired bootstrap test of the difference.\n\n"
        f"| text | metric | before | after | p |\n| --- | --- | --- | --- | --- |\n{rows}"
    )
