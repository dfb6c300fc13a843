"""An engine for one pair of languages of a model of several: the language tokens go into every call. No torch."""

from collections.abc import Sequence
from dataclasses import dataclass

from dragoman.config import DecodeConfig
from dragoman.decode.hypothesis import Hypothesis
from dragoman.engine import Attention, Engine, Ids
from dragoman.text.tokens.marks import Marks


@dataclass(frozen=True, slots=True)
class MarkedEngine:
    """`engine` with the language tokens of one pair, so that its callers need not know of them."""

    engine: Engine
    marks: Marks

    def translate(
        self,
        sources: Sequence[Ids],
        options: DecodeConfig,
        target_prefixes: Sequence[Ids] | None = None,
        marks: Sequence[Marks] | None = None,
    ) -> list[list[Hypothesis]]:
        """See `Engine.translate`."""
        return self.engine.translate(sources, options, target_prefixes, marks or [self.marks] * len(sources))

    def score(
        self,
        sources: Sequence[Ids],
        targets: Sequence[Ids],
        marks: Sequence[Marks] | None = None,
        alone: bool = False,
    ) -> list[list[float]]:
        """See `Engine.score`."""
        return self.engine.score(sources, targets, marks or [self.marks] * len(sources), alone)

    def attention(
        self, sources: Sequence[Ids], targets: Sequence[Ids], marks: Sequence[Marks] | None = None
    ) -> list[Attention] | None:
        """See `Engine.attention`."""
        return self.engine.attention(sources, targets, marks or [self.marks] * len(sources))


def with_marks(engine: Engine, marks: Marks) -> Engine:
    """The engine itself if there are no language tokens."""
    return MarkedEngine(engine, marks) if marks else engine
