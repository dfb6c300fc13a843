"""Translations and references → BLEU, chrF and TER by sacreBLEU, with signatures (Post 2018), intervals, paired tests.

Input: raw references and detokenised translations; sacreBLEU tokenises them itself. Every number is sacreBLEU's own.
Raises DataError where there is not one translation for each reference, or none at all: sacreBLEU would score the first.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dragoman.errors import ConfigError, DataError, counted

# Resamples of the bootstrap, and trials of approximate randomisation: sacreBLEU's own defaults.
RESAMPLES, TRIALS = 1000, 10_000
# sacreBLEU draws none for a single one.
FEWEST_RESAMPLES = 2


@dataclass(frozen=True, slots=True)
class Score:
    """One metric of a whole test set, 0 to 100; `low` and `high` bound its 95 % bootstrap interval, NaN without one.

    It is a number where one is needed: `float(score)`, `f"{score:.1f}"`, `score > 30`.
    """

    name: str
    value: float
    signature: str
    low: float = math.nan
    high: float = math.nan

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        """Name, value and interval, in the manner of sacreBLEU: `BLEU = 40.4 [38.9, 41.8]`."""
        interval = "" if math.isnan(self.low) else f" [{self.low:.1f}, {self.high:.1f}]"
        return f"{self.name} = {self.value:.1f}{interval}"

    def __format__(self, specification: str) -> str:
        """The value in a format of numbers, `f"{score:.1f}"`; without one, the score as it is printed."""
        return format(self.value, specification) if specification else str(self)

    def __lt__(self, other: "Score | float") -> bool:
        return self.value < float(other)

    def __le__(self, other: "Score | float") -> bool:
        return self.value <= float(other)

    def __gt__(self, other: "Score | float") -> bool:
        return self.value > float(other)

    def __ge__(self, other: "Score | float") -> bool:
        return self.value >= float(other)


@dataclass(frozen=True, slots=True)
class ComparedScore:
    """One metric of one system, with paired tests of its difference from the first system, the baseline."""

    name: str
    value: float
    mean: float
    """Mean over the bootstrap resamples."""
    half_width: float
    """Half the width of the 95 % bootstrap interval around `mean`."""
    p_bootstrap: float | None = None
    """p-value of the paired bootstrap test (Koehn 2004); None for the baseline."""
    p_randomisation: float | None = None
    """p-value of the paired approximate randomisation test (Riezler and Maxwell 2005); None for the baseline."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Several systems on one test set; the first is the baseline that the others are tested against."""

    systems: Mapping[str, tuple[ComparedScore, ...]]
    """The scores of each system by its name, in one order of metrics."""
    signatures: Mapping[str, tuple[str, str]]
    """For each metric the signatures of the paired bootstrap and of approximate randomisation."""


def bleu(
    translations: Sequence[str],
    references: Sequence[str],
    *,
    tokenize: str | None = None,
    bootstrap: int = 0,
) -> Score:
    """BLEU (Papineni et al. 2002) with a tokeniser of sacreBLEU; `bootstrap` resamples, 0 for no interval."""
    _refuse_unequal(translations, references)
    return _score(_bleu(references, tokenize), translations, bootstrap)


def chrf(translations: Sequence[str], references: Sequence[str], *, bootstrap: int = 0) -> Score:
    """chrF (Popović 2015): character n-grams, so it needs no tokeniser and suits Korean."""
    from sacrebleu.metrics.chrf import CHRF

    _refuse_unequal(translations, references)
    return _score(CHRF(references=[list(references)]), translations, bootstrap)


def ter(translations: Sequence[str], references: Sequence[str]) -> Score:
    """Translation edit rate (Snover et al. 2006); lower is better."""
    from sacrebleu.metrics.ter import TER

    _refuse_unequal(translations, references)
    return _score(TER(references=[list(references)]), translations)


def score_all(
    translations: Sequence[str], references: Sequence[str], *, tokenize: str | None = None, bootstrap: int = 0
) -> list[Score]:
    """BLEU, chrF and TER; the first two with intervals if there are `bootstrap` resamples."""
    return [
        bleu(translations, references, tokenize=tokenize, bootstrap=bootstrap),
        chrf(translations, references, bootstrap=bootstrap),
        ter(translations, references),
    ]


def compare(
    systems: Mapping[str, Sequence[str]],
    references: Sequence[str],
    *,
    tokenize: str | None = None,
    resamples: int = RESAMPLES,
    trials: int = TRIALS,
) -> Comparison:
    """BLEU, chrF and TER of the translations of several systems, and paired tests against the first of them.

    Both tests are sacreBLEU's (`sacrebleu.significance`), with its seed: paired bootstrap and paired approximate
    randomisation. A system with the score of the baseline gets p = 1.
    """
    by_bootstrap, bootstrap_signatures = _paired_test(systems, references, tokenize, "bs", resamples)
    by_randomisation, randomisation_signatures = _paired_test(systems, references, tokenize, "ar", trials)
    scores = {
        name: tuple(
            replace(
                _compared(metric, by_bootstrap[metric][index], by_bootstrap[metric][0]),
                p_randomisation=_p_value(by_randomisation[metric][index], by_randomisation[metric][0]),
            )
            for metric in bootstrap_signatures
        )
        for index, name in enumerate(systems)
    }
    signatures = {
        metric: (signature, randomisation_signatures[metric]) for metric, signature in bootstrap_signatures.items()
    }
    return Comparison(scores, signatures)


def paired_bootstrap(
    before: Sequence[str], after: Sequence[str], references: Sequence[str], resamples: int = RESAMPLES
) -> list[tuple[ComparedScore, ComparedScore]]:
    """BLEU, chrF and TER of two systems; the second score of a metric has the p-value of the paired bootstrap test."""
    results, metrics = _paired_test({"before": before, "after": after}, references, None, "bs", resamples)
    pairs = ((metric, *results[metric]) for metric in metrics)
    return [(_compared(metric, old, old), _compared(metric, new, old)) for metric, old, new in pairs]


def check_resamples(resamples: object) -> None:
    """Raise ConfigError unless an interval can be made of this number of resamples, or none is wanted (0)."""
    if (
        not isinstance(resamples, int)
        or isinstance(resamples, bool)
        or (resamples < FEWEST_RESAMPLES and resamples != 0)
    ):
        raise ConfigError(
            f"resamples: {resamples!r} is no number from {FEWEST_RESAMPLES} on; leave it out for {RESAMPLES:,}, or "
            "give 0 for no intervals"
        )


def _refuse_unequal(translations: Sequence[str], references: Sequence[str]) -> None:
    if not references or len(translations) != len(references):
        counts = f"{counted(len(translations), 'translation')} for {counted(len(references), 'reference')}"
        raise DataError(f"{counts}; give one translation for each reference")


def _compared(metric: str, result: Any, baseline: Any) -> ComparedScore:
    values = float(result.score), float(result.mean), float(result.ci)
    return ComparedScore(metric, *values, _p_value(result, baseline))


def _p_value(result: Any, baseline: Any) -> float | None:
    """sacreBLEU's p-value, except for a score equal to the baseline's: p = 1, not its smallest."""
    if result.p_value is None:
        return None
    return 1.0 if result.score == baseline.score else float(result.p_value)


def _paired_test(
    systems: Mapping[str, Sequence[str]], references: Sequence[str], tokenize: str | None, kind: str, samples: int
) -> tuple[dict[str, Any], dict[str, str]]:
    """The results of each metric in the order of the systems, and the metrics' signatures."""
    from sacrebleu.metrics.chrf import CHRF
    from sacrebleu.metrics.ter import TER
    from sacrebleu.significance import PairedTest

    for translations in systems.values():
        _refuse_unequal(translations, references)
    texts = [list(references)]
    metrics = {
        "BLEU": _bleu(references, tokenize),
        "chrF": CHRF(references=texts),
        "TER": TER(references=texts),
    }
    test = PairedTest(list(systems.items()), metrics, references=None, test_type=kind, n_samples=samples)
    signatures, results = test()
    return dict(results), {metric: str(signature) for metric, signature in signatures.items()}


def _bleu(references: Sequence[str], tokenize: str | None) -> Any:
    from sacrebleu.metrics.bleu import BLEU

    # `force` silences a warning about tokenised text that names a parameter of a function.
    return BLEU(references=[list(references)], tokenize=tokenize, force=True)


def _score(metric: Any, translations: Sequence[str], bootstrap: int = 0) -> Score:
    from_statistics = metric._compute_score_from_stats

    def with_float(statistics: Any) -> Any:
        """sacreBLEU mixes Python's and NumPy's floats among resamples, and then cannot take their mean."""
        score = from_statistics(statistics)
        score.score = float(score.score)
        return score

    metric._compute_score_from_stats = with_float
    result = metric.corpus_score(list(translations), None, n_bootstrap=max(bootstrap, 1))
    low, high = (result._mean - result._ci, result._mean + result._ci) if bootstrap else (math.nan, math.nan)
    return Score(result.name, float(result.score), str(metric.get_signature()), low, high)
