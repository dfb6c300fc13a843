"""Which words of a translation a part of its source explains, by any engine that can score. No torch.

The part is removed from the source and the same translation is scored again: the words that become less probable are
there because of the part (erasure, Li et al. 2016). Unlike attention, this needs nothing from inside the model. A
source may be erased in several ways; a token counts only as far as it loses by all of them.
"""

from collections.abc import Sequence

from dragoman.engine import Engine, Ids

# The source, the same without the part in several ways, the translation.
Erasure = tuple[Ids, Sequence[Ids], Ids]


def erasure_losses(engine: Engine, erasures: Sequence[Erasure]) -> list[list[float]]:
    """By how many nats each token of each translation loses log P when the part is erased, the least of all ways.

    All scorings, one for each way and one for each source that differs, are one call. A way that leaves nothing of a
    source is left out; if there is no other, the losses are 0.
    """
    variants = [[source, *filter(None, ways)] for source, ways, _ in erasures]
    pairs = [(tuple(ids), tuple(target)) for own, (*_, target) in zip(variants, erasures, strict=True) for ids in own]
    distinct = list(dict.fromkeys(pairs))  # several parts are erased from one source
    rows = engine.score([ids for ids, _ in distinct], [target for _, target in distinct]) if distinct else []
    found = dict(zip(distinct, rows, strict=True))
    scored = (found[pair] for pair in pairs)
    losses = []
    for own, (*_, target) in zip(variants, erasures, strict=True):
        whole, *erased = [next(scored)[: len(target)] for _ in own]
        best = [max(ways) for ways in zip(*erased, strict=True)] if erased else whole
        losses.append([before - after for before, after in zip(whole, best, strict=True)])
    return losses
