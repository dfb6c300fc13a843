"""Minimum-Bayes-risk choice: of translations drawn from the model, the one most like all the others. No torch.

What the model finds most probable may be odd by chance; where its probability lies thickest is what it means (Eikema
and Aziz 2022). Likeness is sentence-level chrF, the others taken as references; the samples are the expectation.
"""

from collections import Counter
from collections.abc import Sequence

IDENTICAL = 100.0  # chrF of a text against itself; sacrebleu gives 0 to the empty one


def utilities(texts: Sequence[str]) -> list[float]:
    """The mean chrF, from 0 to 100, of each text against all the others; a text drawn twice counts twice.

    Time is quadratic in the number of different texts. A single text has utility 0: there is nothing to compare.
    """
    from sacrebleu.metrics.chrf import CHRF  # slow to load, which only this method of search should cost

    drawn, chrf = Counter(texts), CHRF()
    others = max(len(texts) - 1, 1)

    def utility(text: str) -> float:
        like = sum(count * chrf.sentence_score(text, [other]).score for other, count in drawn.items() if other != text)
        return float(like + (drawn[text] - 1) * IDENTICAL) / others

    known = {text: utility(text) for text in drawn}
    return [known[text] for text in texts]


def rank_by_utility(texts: Sequence[str]) -> list[int]:
    """Where in `texts` each different one stands first, the most like the others first; ties keep their order."""
    worth = utilities(texts)
    first = {text: index for index, text in reversed(list(enumerate(texts)))}
    return sorted(sorted(first.values()), key=lambda index: -worth[index])
