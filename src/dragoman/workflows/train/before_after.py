"""What a fine-tuning changed: the base model and the finished one on the run's own test set and on general text.

Input: the translations of both. Output: BLEU, chrF and TER before and after, with the p-values of paired bootstrap
tests, as notices, as facts for the bundle and as a section of its card.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from dragoman.bundle import Bundle
from dragoman.config import RunConfig
from dragoman.engine import Engine
from dragoman.errors import DragomanError
from dragoman.evaluation import paired_bootstrap
from dragoman.text.terms.symbols import Symbols
from dragoman.text.tokens.tokenizer import Tokenizer
from dragoman.workflows.evaluate.evaluate import translate_all
from dragoman.workflows.evaluate.held_out import HeldOutText, ScoredText, held_out_by_pair
from dragoman.workflows.listener import Listeners
from dragoman.workflows.train.finetune import open_base_model


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
    scores: tuple[ChangedScore, ...]


def compare_with_base(
    config: RunConfig,
    base: Bundle | None,
    engine_of: Callable[[Bundle], Engine],
    finished: tuple[Tokenizer, Engine],
    scored: Sequence[ScoredText],
    listener: Listeners,
) -> FineTuningReport | None:
    """The report on a fine-tuned model, whose translations are `scored` already; None without a base model.

    A resumed run opens its base model again; where that is gone, a notice names it and there is no report.
    """
    if not config.train.start_from:
        return None
    try:
        base = base or open_base_model(config.train.start_from)
        before = _Model(base.config, base.tokenizer, engine_of(base))
    except DragomanError as why:
        listener.notice(f"not compared with the base model: {why}")
        return None
    on, has_several_pairs = "test" if config.data.test else "valid", len(scored) > 1
    rows: list[ChangedScore] = []
    for scored_text in scored:
        name = f"{on} {scored_text.text.pair.name}" if has_several_pairs else on
        rows += _rows(
            name,
            _translated(config, scored_text.text, before, listener),
            scored_text.text,
            scored_text.translations,
            listener,
        )
    for text in held_out_by_pair(config, [config.data.general_test] if config.data.general_test else []):
        texts = [_translated(config, text, model, listener) for model in (before, _Model(config, *finished))]
        rows += _rows("general_test", texts[0], text, texts[1], listener)
    return FineTuningReport(base.config.project.name, tuple(rows))


class _Model(NamedTuple):
    """What translates, and the configuration that it was trained with."""

    config: RunConfig
    tokenizer: Tokenizer
    engine: Engine


def _translated(config: RunConfig, text: HeldOutText, model: _Model, listener: Listeners) -> Sequence[str]:
    options = config.decode.model_copy(update={"confidence": False})
    symbols = Symbols.of(model.config, model.tokenizer.symbols)
    translator = text.translator(model.tokenizer, model.engine, options, config.data.max_length, symbols)
    return translate_all(translator, text.sources, listener)


def _rows(
    on: str, before: Sequence[str], text: HeldOutText, after: Sequence[str], listener: Listeners
) -> list[ChangedScore]:
    tested = paired_bootstrap(before, after, text.references)
    rows = [ChangedScore(on, old.name, old.value, new.value, new.p_bootstrap or 0.0) for old, new in tested]
    changes = (f"{row.metric} {row.before:.1f} → {row.after:.1f} (p = {row.p_value:.3f})" for row in rows)
    listener.notice(f"  {on}, before → after: {', '.join(changes)}")
    return rows


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
