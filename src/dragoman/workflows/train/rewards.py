"""What a sample is worth, from 0 to 1, sentence by sentence: smoothed BLEU and chrF of texts, GLEU of pieces."""

from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

Ids = Sequence[int]
# GLEU counts n-grams up to this size (Wu et al. 2016).
LONGEST = 4


def gleu(sample: Ids, reference: Ids) -> float:
    """The share of common n-grams of 1 to 4 pieces: the lower of precision and recall (Wu et al. 2016)."""
    ours, theirs = _ngrams(tuple(sample)), _ngrams(tuple(reference))
    return (ours & theirs).total() / max(ours.total(), theirs.total(), 1)


@cache
def _metrics() -> tuple[Any, Any]:
    from sacrebleu.metrics.bleu import BLEU
    from sacrebleu.metrics.chrf import CHRF

    return BLEU(effective_order=True), CHRF()


def bleu_reward(sample: str, reference: str) -> float:
    """sacreBLEU's sentence BLEU, smoothed exponentially, of at most as many n-grams as the sample has."""
    return float(_metrics()[0].sentence_score(sample, [reference]).score) / 100


def chrf_reward(sample: str, reference: str) -> float:
    """sacreBLEU's sentence chrF."""
    return float(_metrics()[1].sentence_score(sample, [reference]).score) / 100


TEXT_REWARDS: dict[str, Callable[[str, str], float]] = {"bleu": bleu_reward, "chrf": chrf_reward}


def _ngrams(ids: tuple[int, ...]) -> Counter[tuple[int, ...]]:
    sizes = range(1, LONGEST + 1)
    return Counter(ids[at : at + n] for n in sizes for at in range(len(ids) - n + 1))
