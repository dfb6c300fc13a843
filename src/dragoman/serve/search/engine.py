"""The engine of one request: what its translator asks goes to the batcher, which asks the engine of the model."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

from dragoman.config import DecodeConfig
from dragoman.decode.hypothesis import Hypothesis
from dragoman.engine import Attention, Engine, Ids
from dragoman.serve.requests.ticket import Ticket
from dragoman.serve.search.batcher import Batcher
from dragoman.serve.search.fair import UNBOUNDED
from dragoman.text.tokens.marks import NO_MARKS, Marks
from dragoman.translator import Translator

# Tokens of given translations that are scored in the time in which one is searched.
PAIRS = 4

_Search = tuple[Ids, Ids, Marks]
_Pair = tuple[Ids, Ids, Marks]
Batched = TypeVar("Batched")


class SharedEngine:
    """An `Engine` whose calls are batched with those of other requests."""

    def __init__(self, engine: Engine, batcher: Batcher, ticket: Ticket) -> None:
        self.engine, self.batcher, self.ticket = engine, batcher, ticket

    def translate(
        self,
        sources: Sequence[Ids],
        options: DecodeConfig,
        target_prefixes: Sequence[Ids] | None = None,
        marks: Sequence[Marks] | None = None,
    ) -> list[list[Hypothesis]]:
        """See `Engine.translate`. Samples depend on the other sentences of a call, which is then a batch by itself."""
        prefixes, own = target_prefixes or [()] * len(sources), marks or [NO_MARKS] * len(sources)
        jobs = list(zip(sources, prefixes, own, strict=True))
        group = (id(self.engine), "translate", type(options), options)
        work = partial(_translate, self.engine, options)
        sizes = [_size(source, mark.source) for source, mark in zip(sources, own, strict=True)]
        whole = options.method != "beam"
        return self.batcher.search(self.ticket, group, jobs, sizes, work, whole, self._budget)

    def score(
        self,
        sources: Sequence[Ids],
        targets: Sequence[Ids],
        marks: Sequence[Marks] | None = None,
        alone: bool = False,
    ) -> list[list[float]]:
        """See `Engine.score`."""
        what = "score alone" if alone else "score"
        return self._of_pairs(what, sources, targets, marks, partial(_score, self.engine, alone))

    def attention(
        self, sources: Sequence[Ids], targets: Sequence[Ids], marks: Sequence[Marks] | None = None
    ) -> list[Attention] | None:
        """See `Engine.attention`."""
        rows = self._of_pairs("attention", sources, targets, marks, partial(_attend, self.engine))
        found = [row for row in rows if row is not None]
        return found if len(found) == len(rows) else None

    def _of_pairs(
        self,
        what: str,
        sources: Sequence[Ids],
        targets: Sequence[Ids],
        marks: Sequence[Marks] | None,
        work: Callable[[Sequence[_Pair]], list[Batched]],
    ) -> list[Batched]:
        jobs = list(zip(sources, targets, marks or [NO_MARKS] * len(sources), strict=True))
        sizes = [max(_size(source, mark.source), _size(target, mark.target)) for source, target, mark in jobs]
        budget = PAIRS * self._budget
        return self.batcher.search(self.ticket, (id(self.engine), what), jobs, sizes, work, budget=budget)

    @property
    def _budget(self) -> int:
        """Tokens that the engine searches together; more would only wait for each other."""
        return int(getattr(self.engine, "batch_tokens", UNBOUNDED))


def _size(tokens: Ids, mark: Ids) -> int:
    return len(mark) + len(tokens) + 1  # and EOS


def _translate(engine: Engine, options: DecodeConfig, jobs: Sequence[_Search]) -> list[list[Hypothesis]]:
    sources, prefixes, marks = zip(*jobs, strict=True)
    return engine.translate(sources, options, prefixes if any(prefixes) else None, marks if any(marks) else None)


def _score(engine: Engine, alone: bool, jobs: Sequence[_Pair]) -> list[list[float]]:
    sources, targets, marks = zip(*jobs, strict=True)
    return engine.score(sources, targets, marks if any(marks) else None, alone)


def _attend(engine: Engine, jobs: Sequence[_Pair]) -> list[Attention | None]:
    sources, targets, marks = zip(*jobs, strict=True)
    found = engine.attention(sources, targets, marks if any(marks) else None)
    return [None] * len(jobs) if found is None else [*found]


def for_request(
    translator: Translator, batcher: Batcher, ticket: Ticket, kind: type[SharedEngine] = SharedEngine
) -> Translator:
    """The translator, with the engine of one request."""
    if translator.bundle:
        ticket.record.model = translator.bundle.folder.name
    other = object.__new__(Translator)
    other.__dict__.update(translator.__dict__, engine=kind(translator.engine, batcher, ticket))
    return other
