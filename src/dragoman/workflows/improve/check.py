"""What an improvement changed: the version before and the new one on the old test set and on the corrections.

Both translate with the engine that serves them. Output: scores with intervals, paired tests, and every text before and
after; QualityError if the new version is worse on the test set than the interval of the one before allows.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dragoman.bundle import Bundle
from dragoman.config import CorpusConfig
from dragoman.errors import QualityError, counted
from dragoman.evaluation import RESAMPLES, Score, paired_bootstrap, score_all
from dragoman.translator import Translator
from dragoman.workflows.evaluate.evaluate import translate_all
from dragoman.workflows.evaluate.held_out import HeldOutText, held_out_by_pair
from dragoman.workflows.improve.corrections import Correction, Fault
from dragoman.workflows.listener import Listeners

TEST, LEARNED, HELD_OUT = "test", "corrections", "held_out"
# The metrics that decide; TER has no interval.
DECIDING = ("BLEU", "chrF2")
SIGNIFICANT = 0.05


@dataclass(frozen=True, slots=True)
class ChangedMetric:
    """A metric before and after, with the interval of the score before and the p-value of the paired bootstrap."""

    metric: str
    before: float
    low: float | None
    """None for a metric without an interval, TER."""
    high: float | None
    after: float
    p_value: float

    @property
    def dropped(self) -> bool:
        """Whether the score after is below the interval of the score before."""
        return self.low is not None and self.metric in DECIDING and self.after < self.low


@dataclass(frozen=True, slots=True)
class ChangedText:
    """A text of one pair of languages before and after: `test`, `corrections` or `held_out`."""

    on: str
    pair: str
    sources: tuple[str, ...]
    references: tuple[str, ...]
    before: tuple[str, ...]
    after: tuple[str, ...]
    metrics: tuple[ChangedMetric, ...]

    @property
    def changed(self) -> int:
        """Sentences whose translation is another one now."""
        return sum(translation != other for translation, other in zip(self.before, self.after, strict=True))

    @property
    def right(self) -> tuple[int, int]:
        """Sentences that are translated exactly as their reference, before and after."""
        return tuple(  # type: ignore[return-value]
            sum(translation == reference for translation, reference in zip(translations, self.references, strict=True))
            for translations in (self.before, self.after)
        )


@dataclass(frozen=True)
class ImproveResult:
    """A new version of a model, written."""

    model_path: Path
    """Its folder."""
    page: Path
    """The page that shows what changed."""
    corrections: int
    """Corrections that it learned from."""
    held_out: int
    """Corrections that were kept to test whether others improve too."""
    left_out: tuple[Fault, ...]
    """Corrections that could not be learned from."""
    texts: tuple[ChangedText, ...]
    """The test set, and the corrections, before and after."""


def compare_versions(
    bundle: Bundle,
    versions: tuple[Translator, Translator],
    test: Sequence[CorpusConfig],
    learned: Sequence[Correction],
    held_out: Sequence[Correction],
    listener: Listeners,
) -> tuple[ChangedText, ...]:
    """The test set and the corrections, translated by both `versions`, before and after."""
    texts = [(TEST, text) for text in held_out_by_pair(bundle.config, test)]
    for name, corrections in ((LEARNED, learned), (HELD_OUT, held_out)):
        for pair in bundle.config.project.all_pairs:
            pair_corrections = [correction for correction in corrections if correction.pair == pair.name]
            text = HeldOutText(
                pair,
                tuple(correction.source for correction in pair_corrections),
                tuple(correction.target for correction in pair_corrections),
            )
            texts += [(name, text)] if pair_corrections else []
    return tuple(_compared(name, text, versions, listener) for name, text in texts)


def _compared(
    name: str, text: HeldOutText, versions: tuple[Translator, Translator], listener: Listeners
) -> ChangedText:
    before, after = (
        tuple(translate_all(version.to(text.pair.target, text.pair.source), text.sources, listener))
        for version in versions
    )
    scores: Sequence[Score] = score_all(before, text.references, bootstrap=RESAMPLES)
    tested = paired_bootstrap(before, after, text.references)
    metrics = tuple(
        ChangedMetric(old.name, old.value, *_interval(old), new.value, new.p_bootstrap or 0.0)
        for old, (_, new) in zip(scores, tested, strict=True)
    )
    changed_text = ChangedText(name, text.pair.name, text.sources, text.references, before, after, metrics)
    shown = ", ".join(
        f"{metric.metric} {metric.before:.1f} → {metric.after:.1f} (p = {metric.p_value:.3f})" for metric in metrics[:2]
    )
    of = counted(len(text.sources), "sentence")
    listener.notice(f"  {name.replace('_', ' ')} {text.pair.name}: {shown}; {changed_text.changed:,} of {of} changed")
    lower = [
        metric
        for metric in metrics
        if metric.metric in DECIDING and metric.after < metric.before and not metric.dropped
    ]
    for metric in lower if name == TEST else ():
        if metric.p_value < SIGNIFICANT:
            listener.on_warning(f"{metric.metric} of the test set is lower, within the interval of the version before")
    return changed_text


def _interval(score: Score) -> tuple[float | None, float | None]:
    return (None, None) if math.isnan(score.low) else (score.low, score.high)


def require_kept(texts: Sequence[ChangedText], folder: Path) -> None:
    """Raise QualityError if the test set dropped beyond the interval of the version before."""
    for text in texts:
        for metric in text.metrics:
            if text.on == TEST and metric.dropped:
                raise QualityError(
                    f"{folder}: not improved: {metric.metric} of the test set {text.pair} would drop from "
                    f"{metric.before:.1f} [{metric.low:.1f}–{metric.high:.1f}] to {metric.after:.1f}; nothing was "
                    "written; check the corrections, or change less: data.replay_share=0.9, or fewer train.max_steps"
                )
