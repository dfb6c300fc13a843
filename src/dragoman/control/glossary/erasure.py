"""Which words of a translation a part of its source explains, by any engine that can score.

The part is removed from the source and the same translation is scored again: the words that become less probable are
there because of the part (erasure, Li et al. 2016). Unlike attention, this needs nothing from inside the model. A
source may be erased in several ways; a token counts only as far as it loses by all of them.
"""

from collections.abc import Sequence

from dragoman.engine import Engine, Ids, Query

# The query of a source, the ids of the source without the part in several ways, the translation.
Erasure = tuple[Query, Sequence[Ids], Ids]


def erasure_losses(engine: Engine, erasures: Sequence[Erasure]) -> list[list[float]]:
    """By how many nats each token of each translation loses log P when the part is erased, the least of all ways.

    All scorings, one for each way and one for each source that differs, are one call. A way that leaves nothing of a
    source is left out; if there is no other, the losses are 0.
    """
    variants = [
        [(tuple(ids), tuple(target), query.marks) for ids in (query.source, *filter(None, ways))]
        for query, ways, target in erasures
    ]
    # Several parts are erased from one source, which is scored once.
    distinct = list(dict.fromkeys(variant for of_erasure in variants for variant in of_erasure))
    queries = [Query(ids, (), marks) for ids, _, marks in distinct]
    rows = engine.score(queries, [target for _, target, _ in distinct]) if distinct else []
    row_of = dict(zip(distinct, rows, strict=True))
    losses = []
    for of_erasure, (*_, target) in zip(variants, erasures, strict=True):
        whole, *erased = [row_of[variant][: len(target)] for variant in of_erasure]
        best = [max(ways) for ways in zip(*erased, strict=True)] if erased else whole
        losses.append([before - after for before, after in zip(whole, best, strict=True)])
    return losses
