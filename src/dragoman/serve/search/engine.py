"""The engine of one request: what its translator asks goes to the batcher, which asks the engine of the model."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

from dragoman.config import DecodeConfig
from dragoman.decode.hypothesis import Hypothesis
from dragoman.engine import Attention, Engine, Ids, Query
from dragoman.serve.requests.ticket import Ticket
from dragoman.serve.search.batcher import Batcher
from dragoman.serve.search.fair import UNBOUNDED
from dragoman.translator import Translator

# Tokens of given translations that are scored in the time in which one is searched.
PAIRS = 4

_Pair = tuple[Query, Ids]
Batched = TypeVar("Batched")


class SharedEngine:
    """An `Engine` whose calls are batched with those of other requests."""

    def __init__(self, engine: Engine, batcher: Batcher, ticket: Ticket) -> None:
        self.engine, self.batcher, self.ticket = engine, batcher, ticket

    def translate(self, queries: Sequence[Query], options: DecodeConfig) -> list[list[Hypothesis]]:
        """`Engine.translate`. Samples depend on the other queries of a call, which is then a batch by itself."""
        group = (id(self.engine), "translate", options)
        work = partial(_translate, self.engine, options)
        sizes = [_size(query.source, query.marks.source) for query in queries]
        whole = options.method != "beam"
        return self.batcher.search(self.ticket, group, queries, sizes, work, whole, self._budget)

    def score(self, queries: Sequence[Query], targets: Sequence[Ids], alone: bool = False) -> list[list[float]]:
        """`Engine.score`."""
        what = "score alone" if alone else "score"
        return self._of_pairs(what, queries, targets, partial(_score, self.engine, alone))

    def attention(self, queries: Sequence[Query], targets: Sequence[Ids]) -> list[Attention] | None:
        """`Engine.attention`."""
        rows = self._of_pairs("attention", queries, targets, partial(_attend, self.engine))
        attentions = [row for row in rows if row is not None]
        return attentions if len(attentions) == len(rows) else None

    def _of_pairs(
        self,
        what: str,
        queries: Sequence[Query],
        targets: Sequence[Ids],
        work: Callable[[Sequence[_Pair]], list[Batched]],
    ) -> list[Batched]:
        jobs = list(zip(queries, targets, strict=True))
        sizes = [
            max(_size(query.source, query.marks.source), _size(target, query.marks.target)) for query, target in jobs
        ]
        budget = PAIRS * self._budget
        return self.batcher.search(self.ticket, (id(self.engine), what), jobs, sizes, work, budget=budget)

    @property
    def _budget(self) -> int:
        """Tokens that the engine searches together; more would only wait for each other."""
        return int(getattr(self.engine, "batch_tokens", UNBOUNDED))


def _size(tokens: Ids, marks: Ids) -> int:
    return len(marks) + len(tokens) + 1  # and EOS


def _translate(engine: Engine, options: DecodeConfig, jobs: Sequence[Query]) -> list[list[Hypothesis]]:
    return engine.translate(jobs, options)


def _score(engine: Engine, alone: bool, jobs: Sequence[_Pair]) -> list[list[float]]:
    queries, targets = zip(*jobs, strict=True)
    return engine.score(queries, targets, alone)


def _attend(engine: Engine, jobs: Sequence[_Pair]) -> list[Attention | None]:
    queries, targets = zip(*jobs, strict=True)
    attentions = engine.attention(queries, targets)
    return [None] * len(jobs) if attentions is None else [*attentions]


def for_request(
    translator: Translator, batcher: Batcher, ticket: Ticket, kind: type[SharedEngine] = SharedEngine
) -> Translator:
    """The translator, with the engine of one request."""
    if translator.bundle:
        ticket.record.model = translator.bundle.folder.name
    return translator.with_engine(kind(translator.engine, batcher, ticket))
