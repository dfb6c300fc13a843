"""The engine of one request: what its translator asks goes to the batcher, which asks the engine of the model."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

from dragoman.config import DecodeConfig
from dragoman.decode.hypothesis import Hypothesis
from dragoman.engine import Attention, Engine, Ids, Query
from dragoman.serve.requests.ticket import Ticket
from dragoman.serve.search.batcher import Batcher
from dragoman.serve.search.fair import UNBOUNDED, EngineCall
from dragoman.translator import Translator

# Tokens of given translations that are scored in the time in which one is searched.
PAIRS = 4

Batched = TypeVar("Batched")


class SharedEngine:
    """An `Engine` whose calls are batched with those of other requests."""

    def __init__(self, engine: Engine, batcher: Batcher, ticket: Ticket) -> None:
        self.engine, self.batcher, self.ticket = engine, batcher, ticket
        self._budget = int(getattr(engine, "batch_tokens", UNBOUNDED))
        """Tokens that the engine searches together; more would only wait for each other."""

    def translate(self, queries: Sequence[Query], options: DecodeConfig) -> list[list[Hypothesis]]:
        """`Engine.translate`. Samples depend on the other queries of a call, which is then a batch by itself."""
        group = (id(self.engine), "translate", options)
        sizes = [_size(query.source, query.marks.source) for query in queries]
        work, whole = partial(self.engine.translate, options=options), options.method != "beam"
        return self.batcher.search(EngineCall(self.ticket, group, sizes, work, queries, whole, self._budget))

    def score(self, queries: Sequence[Query], targets: Sequence[Ids], alone: bool = False) -> list[list[float]]:
        what = "score alone" if alone else "score"
        return self._of_pairs(what, queries, targets, partial(self.engine.score, alone=alone))

    def attention(self, queries: Sequence[Query], targets: Sequence[Ids]) -> list[Attention] | None:
        rows = self._of_pairs(
            "attention", queries, targets, lambda *pairs: self.engine.attention(*pairs) or [None] * len(pairs[0])
        )
        attentions = [row for row in rows if row is not None]
        return attentions if len(attentions) == len(rows) else None

    def _of_pairs(
        self,
        what: str,
        queries: Sequence[Query],
        targets: Sequence[Ids],
        work: Callable[[Sequence[Query], Sequence[Ids]], Sequence[Batched]],
    ) -> list[Batched]:
        jobs = list(zip(queries, targets, strict=True))
        sizes = [
            max(_size(query.source, query.marks.source), _size(target, query.marks.target)) for query, target in jobs
        ]
        group, budget = (id(self.engine), what), PAIRS * self._budget
        call = EngineCall(self.ticket, group, sizes, lambda pairs: work(*zip(*pairs, strict=True)), jobs, budget=budget)
        return self.batcher.search(call)


def _size(tokens: Ids, marks: Ids) -> int:
    return len(marks) + len(tokens) + 1  # and EOS


def for_request(
    translator: Translator, batcher: Batcher, ticket: Ticket, kind: type[SharedEngine] = SharedEngine
) -> Translator:
    """The translator, with the engine of one request."""
    if translator.bundle:
        ticket.record.model = translator.bundle.folder.name
    return translator.with_engine(kind(translator.engine, batcher, ticket))
