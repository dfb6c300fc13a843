"""The n best translations, each of another text, by any engine. No torch.

One text can be written with several sequences of tokens, so a list of the best hypotheses may hold a text twice.
"""

from collections.abc import Callable, Sequence

from dragoman.config import DecodeConfig
from dragoman.config.sections.decode import RetryOptions
from dragoman.decode.hypothesis import Hypothesis
from dragoman.engine import Engine, Ids
from dragoman.errors import ResourceError

Decode = Callable[[Sequence[Ids]], list[str]]

# By how many hypotheses the beam is widened, where texts repeat and too few are left.
WIDER = 4
MAX_BEAM = 4096


def search_distinct(
    engine: Engine, decode: Decode, sources: Sequence[Ids], prefixes: Sequence[Ids], options: DecodeConfig
) -> list[list[Hypothesis]]:
    """Up to `options.n_best` hypotheses of each source with different texts, best first: the best is that of the beam.

    If repeats leave too few, the sentence is searched once more with a wider beam, and what is no better than the best
    is added. There may still be fewer. `RetryOptions` need no certain number.
    """
    every = options.model_copy(update={"n_best": options.beam})
    found = engine.translate(sources, every, prefixes)
    kept = [_distinct(several, decode) for several in found]
    if isinstance(options, RetryOptions):  # what the beam itself found is enough
        return [several[: options.n_best] for several in kept]
    short = [n for n, several in enumerate(kept) if len(several) < min(options.n_best, len(found[n]))]
    beam = min(options.beam + max(WIDER, options.n_best), MAX_BEAM)
    wide = options.model_copy(update={"beam": beam, "n_best": beam})
    try:
        more = engine.translate([sources[n] for n in short], wide, [prefixes[n] for n in short]) if short else []
    except ResourceError:  # what the beam itself found is enough
        more = [[] for _ in short]
    for n, several in zip(short, more, strict=True):
        best = kept[n][0]
        added = [hypothesis for hypothesis in several if hypothesis.score <= best.score]
        kept[n] = sorted(_distinct([*kept[n], *added], decode), key=lambda hypothesis: -hypothesis.score)
    return [several[: options.n_best] for several in kept]


def _distinct(found: Sequence[Hypothesis], decode: Decode) -> list[Hypothesis]:
    """The first hypothesis of each text."""
    first: dict[str, Hypothesis] = {}
    for text, hypothesis in zip(decode([hypothesis.tokens for hypothesis in found]), found, strict=True):
        first.setdefault(text, hypothesis)
    return list(first.values())
