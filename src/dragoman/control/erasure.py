"""Which words of a translation a part of its source explains, by any engine that can score. No torch.

A part is taken out of the source and the same translation scored again: the words that have become less probable were
said because of it (erasure, Li et al. 2016). Unlike attention it needs nothing of what is inside the model.
"""

from collections.abc import Sequence

from dragoman.control.phrases import Ids, Searcher

Question = tuple[Ids, Ids, Ids]


def losses(engine: Searcher, questions: Sequence[Question]) -> list[list[float]]:
    """For each (source, source without the part, translation): by how many nats each token loses log P.

    Two scorings a question, all in one call. A source without anything left is compared with itself: nothing is lost.
    """
    sources = [ids for whole, without, _ in questions for ids in (whole, without or whole)]
    scored = engine.score(sources, [said for *_, said in questions for _ in range(2)]) if questions else []
    return [
        [before - after for before, after in zip(whole, without, strict=True)][: len(said)]
        for whole, without, (*_, said) in zip(scored[::2], scored[1::2], questions, strict=True)
    ]
