"""Which words of a translation a part of its source explains, by any engine that can score. No torch.

The part is removed from the source and the same translation is scored again: the words that become less probable are
there because of the part (erasure, Li et al. 2016). Unlike attention, this needs nothing from inside the model.
"""

from collections.abc import Sequence

from dragoman.engine import Engine, Ids

# The source, the source without the part, the translation.
Erasure = tuple[Ids, Ids, Ids]


def erasure_losses(engine: Engine, erasures: Sequence[Erasure]) -> list[list[float]]:
    """By how many nats each token of each translation loses log P when the part is erased.

    All scorings, two for each erasure, are one call. If nothing of a source is left, its losses are 0.
    """
    sources = [ids for source, erased, _ in erasures for ids in (source, erased or source)]
    scored = engine.score(sources, [target for *_, target in erasures for _ in range(2)]) if erasures else []
    return [
        [before - after for before, after in zip(whole, erased, strict=True)][: len(target)]
        for whole, erased, (*_, target) in zip(scored[::2], scored[1::2], erasures, strict=True)
    ]
