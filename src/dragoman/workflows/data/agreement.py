"""Pairs → how far two models, one of each direction, are from agreeing that the two sides say the same thing.

Dual conditional cross-entropy (Junczys-Dowmunt 2018, "Dual Conditional Cross-Entropy Filtering of Noisy Parallel
Corpora", section 2.1): with H the cross-entropy of one side given the other, in nats per token,

    |H(target | source) − H(source | target)| + (H(target | source) + H(source | target)) / 2

It is small where both models expect the other side, and large where either does not: the sides say different things,
or one of them says more. Of a few tokens it says nothing: there a rare word that is right costs as much as a wrong one.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from dragoman.errors import ConfigError, DataError
from dragoman.installed.opening import ModelPath
from dragoman.translator import Translator

# Nats per token above which a pair is removed unless another limit is given (decision 0073).
DISAGREEMENT = 4.0
# A side of fewer tokens than these, its end included, is not judged.
SHORTEST = 8
# Percentiles of the scores that are reported: a limit is chosen from them.
PERCENTILES = (5, 25, 50, 75, 95)


class ModelAgreement:
    """The scores of pairs by two models: one that translates `source` to `target`, one that translates back."""

    def __init__(self, models: Sequence[ModelPath], source: str, target: str) -> None:
        """Load them; a single model of both directions is enough. Raises ConfigError if a direction is missing."""
        translators = [Translator.load(model) for model in models]
        self.forward = _direction(translators, source, target)
        self.backward = _direction(translators, target, source)

    def scores(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """The score of each pair; ∞ where a model cannot read or write a side, 0 where a side is too short to judge."""
        turned = [(target, source) for source, target in pairs]
        both = zip(_log_probs(self.forward, pairs), _log_probs(self.backward, turned), strict=True)
        return [dual_cross_entropy(*rows) for rows in both]


def dual_cross_entropy(forward: Sequence[float], backward: Sequence[float]) -> float:
    """The score of a pair, given log P of each token of its target and of its source; ∞ if one is −∞."""
    if not forward or not backward:
        return math.inf
    if min(len(forward), len(backward)) < SHORTEST:
        return 0.0
    there, back = (-sum(row) / len(row) for row in (forward, backward))
    return math.inf if math.isinf(there) or math.isinf(back) else abs(there - back) + (there + back) / 2


def percentiles(scores: ArrayLike) -> dict[str, float]:
    """The PERCENTILES of the scores of pairs that were judged; none if none was."""
    values = np.asarray(scores, np.float64)
    values = values[np.isfinite(values) & (values > 0)]
    return {str(share): round(float(np.percentile(values, share)), 2) for share in PERCENTILES if values.size}


def _direction(translators: Sequence[Translator], source: str, target: str) -> Translator:
    for translator in translators:
        try:
            return translator.to(target, source)
        except ConfigError:
            continue
    raise ConfigError(f"--model: none translates {source} to {target}; give one model of each direction")


def _log_probs(translator: Translator, pairs: Sequence[tuple[str, str]]) -> list[list[float]]:
    """log P of each token of each second side given the first, its end included; none for a text that is too long."""
    if not pairs:
        return []
    try:
        return translator.score(pairs)
    except DataError:  # a text has more tokens than the model has positions
        if len(pairs) == 1:
            return [[]]
        middle = len(pairs) // 2
        return _log_probs(translator, pairs[:middle]) + _log_probs(translator, pairs[middle:])
