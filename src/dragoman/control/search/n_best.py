"""The n best translations, each of another text: of a beam, or by minimum Bayes risk of samples.

One text can be written with several sequences of tokens, so a list of the best hypotheses may hold a text twice.

Minimum Bayes risk: of translations sampled from the model, the one most like all the others. The most probable
translation may be odd by chance; where most of the probability lies is what the model means (Eikema and Aziz 2022). The
utility is sentence-level chrF with the other samples as references.
"""

from collections import Counter
from collections.abc import Callable, Sequence

from dragoman.config import DecodeConfig
from dragoman.decode.hypothesis import Hypothesis
from dragoman.engine import Engine, Ids, Query
from dragoman.errors import ResourceError

Decode = Callable[[Sequence[Ids]], list[str]]

# By how many hypotheses the beam is widened, where texts repeat and too few are left.
WIDER = 4
MAX_BEAM = 4096
IDENTICAL = 100.0  # chrF of a text against itself; sacrebleu gives 0 for the empty text


def search_distinct(
    engine: Engine, decode: Decode, queries: Sequence[Query], options: DecodeConfig, widen: bool = True
) -> list[list[Hypothesis]]:
    """Up to `options.n_best` hypotheses of each query with different texts, best first: the best is that of the beam.

    If repeats leave too few and `widen`, the sentence is searched once more with a wider beam, and what is no better
    than the best is added. There may still be fewer.
    """
    beams = engine.translate(queries, options.model_copy(update={"n_best": options.beam}))
    ranked = [_distinct(hypotheses, decode) for hypotheses in beams]
    short = [n for n in range(len(queries)) if widen and len(ranked[n]) < min(options.n_best, len(beams[n]))]
    beam = min(options.beam + max(WIDER, options.n_best), MAX_BEAM)
    wide = options.model_copy(update={"beam": beam, "n_best": beam})
    try:
        more = engine.translate([queries[n] for n in short], wide) if short else []
    except ResourceError:  # what the beam itself found is enough
        more = [[] for _ in short]
    for n, hypotheses in zip(short, more, strict=True):
        most = max(hypothesis.score for hypothesis in ranked[n])
        added = [hypothesis for hypothesis in hypotheses if hypothesis.score <= most]
        first, *rest = _distinct([*ranked[n], *added], decode)
        ranked[n] = [first, *sorted(rest, key=lambda hypothesis: -hypothesis.score)]
    return [hypotheses[: options.n_best] for hypotheses in ranked]


def _distinct(hypotheses: Sequence[Hypothesis], decode: Decode) -> list[Hypothesis]:
    """The first hypothesis of each text."""
    first: dict[str, Hypothesis] = {}
    for text, hypothesis in zip(decode([hypothesis.tokens for hypothesis in hypotheses]), hypotheses, strict=True):
        first.setdefault(text, hypothesis)
    return list(first.values())


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

    by_text = {text: utility(text) for text in counts}
    return [by_text[text] for text in texts]


def rank_by_utility(texts: Sequence[str]) -> list[int]:
    """The index of the first occurrence of each distinct text, highest utility first; ties keep their order."""
    values = utilities(texts)
    first = {text: index for index, text in reversed(list(enumerate(texts)))}
    return sorted(sorted(first.values()), key=lambda index: -values[index])
