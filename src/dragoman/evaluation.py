"""Translations + references → BLEU, chrF and TER by sacreBLEU, each with its signature (Post 2018).

The references are scored as they stand in the file: raw text, detokenised output.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Score:
    """One metric of a whole test set, 0–100; `low` and `high` bound its 95 % bootstrap interval if one was drawn."""

    name: str
    value: float
    signature: str
    low: float = math.nan
    high: float = math.nan


def bleu(translations: Sequence[str], references: Sequence[str], **options: Any) -> Score:
    """BLEU (Papineni et al. 2002). `tokenize`, `lowercase`, `bootstrap` (resamples, 0 for none)."""
    from sacrebleu.metrics.bleu import BLEU

    # Its own warning about text cut into words is three lines that name a parameter of a function.
    return _score(BLEU, translations, references, force=True, **options)


def chrf(translations: Sequence[str], references: Sequence[str], **options: Any) -> Score:
    """chrF (Popović 2015): character n-grams, so it needs no tokeniser and suits Korean."""
    from sacrebleu.metrics.chrf import CHRF

    return _score(CHRF, translations, references, **options)


def ter(translations: Sequence[str], references: Sequence[str], **options: Any) -> Score:
    """Translation edit rate (Snover et al. 2006); lower is better."""
    from sacrebleu.metrics.ter import TER

    return _score(TER, translations, references, **options)


def _score(
    metric: Any, translations: Sequence[str], references: Sequence[str], *, bootstrap: int = 0, **options: Any
) -> Score:
    judge = metric(references=[list(references)], **options)
    if bootstrap:
        result = judge.corpus_score(list(translations), None, n_bootstrap=bootstrap)
        low, high = result._mean - result._ci, result._mean + result._ci
    else:
        result, low, high = judge.corpus_score(list(translations), None), math.nan, math.nan
    return Score(result.name, float(result.score), str(judge.get_signature()), low, high)
