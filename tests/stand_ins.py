"""Stubs of an engine, and queries for one."""

from collections.abc import Callable, Iterable, Sequence

from dragoman.config import DecodeConfig
from dragoman.decode.hypothesis import Hypothesis
from dragoman.engine import Attention, Ids, Query
from dragoman.text.tokens.marks import NO_MARKS, Marks

Answer = Callable[[Query, DecodeConfig], list[Hypothesis]]


def repeated(query: Query, options: DecodeConfig) -> list[Hypothesis]:
    """The source, `n_best` times, each time worse."""
    return [Hypothesis(tuple(query.source), -1.0 - n, -1.0 - n) for n in range(options.n_best)]


class FakeEngine:
    """An engine whose hypotheses are those of a function; every token costs a nat, and it has no attention.

    `searched` are the queries that it has answered, with their options.
    """

    def __init__(self, answer: Answer = repeated) -> None:
        self.answer = answer
        self.searched: list[tuple[Query, DecodeConfig]] = []

    def translate(self, queries: Sequence[Query], options: DecodeConfig) -> list[list[Hypothesis]]:
        """The answers, one after the other."""
        assert all(query.source for query in queries)
        self.searched += [(query, options) for query in queries]
        return [self.answer(query, options) for query in queries]

    def score(self, queries: Sequence[Query], targets: Sequence[Ids], alone: bool = False) -> list[list[float]]:
        """−1 for each token and for EOS."""
        return [[-1.0] * (len(target) + 1) for _, target in zip(queries, targets, strict=True)]

    def attention(self, queries: Sequence[Query], targets: Sequence[Ids]) -> list[Attention] | None:
        """None."""
        return None


class OnDevice(FakeEngine):
    """An engine that reports the type of a device; `calls` has the number of queries of each call."""

    def __init__(self, device: str) -> None:
        super().__init__()
        self.device = device
        self.calls: list[int] = []

    def translate(self, queries: Sequence[Query], options: DecodeConfig) -> list[list[Hypothesis]]:
        """The answers of `FakeEngine`."""
        self.calls.append(len(queries))
        return super().translate(queries, options)


def queries(
    sources: Sequence[Ids], prefixes: Iterable[Ids] | None = None, marks: Iterable[Marks] | None = None
) -> list[Query]:
    """A query for each source, with its own prefix and language tokens."""
    rows = zip(sources, prefixes or [()] * len(sources), marks or [NO_MARKS] * len(sources), strict=True)
    return [Query(source, tuple(prefix), of_pair) for source, prefix, of_pair in rows]
