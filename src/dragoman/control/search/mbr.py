"""Minimum-Bayes-risk choice: of translations sampled from the model, the one most like all the others. No torch.

The most probable translation may be odd by chance; where most of the probability lies is what the model means (Eikema
and Aziz 2022). The utility is sentence-level chrF with the other samples as references.
"""

from collections import Counter
from collections.abc import Sequence

IDENTICAL = 100.0  # chrF of a text against itself; sacrebleu gives 0 for the empty text


def utilities(texts: Sequence[str]) -> list[float]:
    """The mean chrF, from 0 to 100, of each text against all the others; a text sampled twice counts twice.

    Time is quadratic in the number of distinct texts. A single text has utility 0: there is nothing to compare.
    """
    from sacrebleu.metrics.chrf import CHRF  # slow to import, and only this method of search needs it

    counts, chrf = Counter(texts), CHRF()
    others = max(len(texts) - 1, 1)

    def utility(text: str) -> float:
        like = sum(count * chrf.sentence_score(text, [other]).score for other, count in counts.items() if other != text)
        return float(like + (counts[text] - 1) * IDENTICAL) / others

    known = {text: utility(text) for text in counts}
    return [known[text] for text in texts]


def rank_by_utility(texts: Sequence[str]) -> list[int]:
    """The index of the first occurrence of each distinct text, highest utility first; ties keep their order."""
    values = utilities(texts)
    first = {text: index for index, text in reversed(list(enumerate(texts)))}
    return sorted(sorted(first.values()), key=lambda index: -values[index])
