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
        return sum(one != other for one, other in zip(self.before, self.after, strict=True))

    @property
    def right(self) -> tuple[int, int]:
        """Sentences that are translated exactly as their reference, before and after."""
        return tuple(  # type: ignore[return-value]
            sum(one == reference for one, reference in zip(found, self.references, strict=True))
            for found in (self.before, self.after)
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
            own = [one for one in corrections if one.pair == pair.name]
            text = HeldOutText(pair, tuple(one.source for one in own), tuple(one.target for one in own))
            texts += [(name, text)] if own else []
    return tuple(_compared(name, text, versions, listener) for name, text in texts)


def _compared(
    name: str, text: HeldOutText, versions: tuple[Translator, Translator], listener: Listeners
) -> ChangedText:
    before, after = (
        tuple(translate_all(one.to(text.pair.target, text.pair.source), text.sources, listener)) for one in versions
    )
    scores: Sequence[Score] = score_all(before, text.references, bootstrap=RESAMPLES)
    tested = paired_bootstrap(before, after, text.references)
    metrics = tuple(
        ChangedMetric(old.name, old.value, *_interval(old), new.value, new.p_bootstrap or 0.0)
        for old, (_, new) in zip(scores, tested, strict=True)
    )
    found = ChangedText(name, text.pair.name, text.sources, text.references, before, after, metrics)
    shown = ", ".join(f"{one.metric} {one.before:.1f} → {one.after:.1f} (p = {one.p_value:.3f})" for one in metrics[:2])
    of = counted(len(text.sources), "sentence")
    listener.notice(f"  {name.replace('_', ' ')} {text.pair.name}: {shown}; {found.changed:,} of {of} changed")
    lower = [one for one in metrics if one.metric in DECIDING and one.after < one.before and not one.dropped]
    for one in lower if name == TEST else ():
        if one.p_value < SIGNIFICANT:
            listener.on_warning(f"{one.metric} of the test set is lower, within the interval of the version before")
    return found


def _interval(score: Score) -> tuple[float | None, float | None]:
    return (None, None) if math.isnan(score.low) else (score.low, score.high)


def require_kept(texts: Sequence[ChangedText], folder: Path) -> None:
    """Raise QualityError if the test set dropped beyond the interval of the version before."""
    for text in texts:
        for one in text.metrics:
            if text.on == TEST and one.dropped:
                raise QualityError(
                    f"{folder}: not improved: {one.metric} of the test set {text.pair} would drop from "
                    f"{one.before:.1f} [{one.low:.1f}–{one.high:.1f}] to {one.after:.1f}; nothing was written; check "
                    "the corrections, or change less: data.replay_share=0.9, or fewer train.max_steps"
                )
