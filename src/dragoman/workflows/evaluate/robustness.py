"""The suite of robustness: what a model keeps of its chrF when the same text is typed differently."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike

from dragoman.control.confidence.confidence import is_flagged
from dragoman.data.make.robustness import RobustnessCases, variants
from dragoman.errors import ConfigError, DataError, checked_path
from dragoman.text.words.lines import WINDOW
from dragoman.translation import Translation
from dragoman.translator import Translator
from dragoman.workflows.evaluate.evaluate import TestSet, read_test_set
from dragoman.workflows.listener import Listener, Listeners

LINES = 200
DEFINITION = (
    "the mean, over the changes, of the share of chrF that is kept (chrF of the changed text / chrF of the same lines "
    "as they are, at most 1)"
)


@dataclass(frozen=True, slots=True)
class RobustnessRow:
    """One kind of change."""

    kind: str
    lines: int
    """Changed lines that were translated."""
    plain: float
    """chrF of the lines as they are; for `word` character precision."""
    changed: float
    """chrF of the changed lines; for `word` character precision."""
    share_kept: float
    """changed / plain."""
    warnings: int
    """Translations of changed lines with a warning of a fault."""


@dataclass(frozen=True, slots=True)
class Robustness:
    """The suite's scores."""

    rows: tuple[RobustnessRow, ...]
    skipped: Mapping[str, str]
    """The kinds without a row, with the reason."""
    seed: int

    @property
    def score(self) -> float:
        """The mean share kept, each at most 1; 0 without rows."""
        return sum(min(row.share_kept, 1.0) for row in self.rows) / len(self.rows) if self.rows else 0.0


def evaluate_robustness(
    model: Translator | str | PathLike[str],
    source: str | PathLike[str] | Sequence[str],
    reference: str | PathLike[str] | Sequence[str] | None = None,
    *,
    lines: int = LINES,
    seed: int = 1,
    listeners: Iterable[Listener] = (),
) -> Robustness:
    """Translate a test set plainly and changed in nine ways, and compare the scores; see
    `dragoman.data.make.robustness`.

    `model`, `source` and `reference` are those of `evaluate`. At most `lines` lines are changed in each way. Raises
    DataError for an unusable test set, ModelError for an unusable model.
    """
    if not isinstance(lines, int) or lines < 1:
        raise ConfigError(f"lines: {lines!r} is not a positive whole number; leave it out for {LINES}")
    test_set = read_test_set(source, reference)
    translator = model if isinstance(model, Translator) else Translator.load(checked_path("model", model))
    return measure_robustness(translator, test_set, lines=lines, seed=seed, listener=Listeners(listeners))


def measure_robustness(
    translator: Translator,
    test_set: TestSet,
    *,
    lines: int = LINES,
    seed: int = 1,
    known: Mapping[int, str] | None = None,
    listener: Listeners,
) -> Robustness:
    """The suite for a translator; `known` are translations of lines of the test set, by index, made before."""
    cases, skipped = variants(test_set.sources, test_set.references, lines, seed)
    if not cases:
        raise DataError(f"{test_set.name}: no pair with text on both sides; the suite needs some")
    translator = translator.to(texts=test_set.sources)  # one pair of languages for all
    plain = dict(known or {})
    wanted = sorted({index for variant in cases for origin in variant.origins for index in origin} - plain.keys())
    sources = [test_set.sources[index] for index in wanted] + [text for variant in cases for text in variant.sources]
    stream = listener.follow(
        translator.stream(sources), "testing robustness", "lines", total=len(sources), every=WINDOW
    )
    translations = list(stream)
    plain |= {index: translation.text for index, translation in zip(wanted, translations, strict=False)}
    rows, rest = list[RobustnessRow](), iter(translations[len(wanted) :])
    for variant in cases:
        row = _row(variant, plain, [next(rest) for _ in variant.sources])
        if row.plain:
            rows.append(row)
        else:
            skipped[variant.kind] = "chrF of the plain lines is 0"
    return Robustness(tuple(rows), skipped, seed)


def _row(variant: RobustnessCases, plain: Mapping[int, str], changed: Sequence[Translation]) -> RobustnessRow:
    as_they_are = [" ".join(plain[index] for index in origin) for origin in variant.origins]
    before = _score(variant, as_they_are, variant.plain_references)
    after = _score(variant, [translation.text for translation in changed], variant.references)
    share_kept = after / before if before else 0.0
    return RobustnessRow(variant.kind, len(changed), before, after, share_kept, sum(map(is_flagged, changed)))


def _score(variant: RobustnessCases, translations: Sequence[str], references: Sequence[str]) -> float:
    """chrF, or with β = 0 the precision of its character n-grams."""
    from sacrebleu.metrics.chrf import CHRF

    metric = CHRF(beta=0 if variant.precision_only else CHRF.BETA)
    compared = [variant.comparable(text) for text in translations]
    return float(metric.corpus_score(compared, [[variant.comparable(text) for text in references]]).score)


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
