"""Engines: queries → hypotheses. One Protocol; each engine is a module of its own."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dragoman.config import DecodeConfig
from dragoman.decode.hypothesis import Hypothesis
from dragoman.errors import ConfigError
from dragoman.text.tokens.marks import NO_MARKS, Marks

Ids = Sequence[int]
Attention = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Query:
    """A sentence that an engine is asked for. Its ids hold no special tokens; the source is not empty."""

    source: Ids
    prefix: tuple[int, ...] = ()
    """The target tokens that the translation begins with; its tokens, log P and score include them."""
    marks: Marks = NO_MARKS
    """The language tokens of the sentence; they are counted nowhere."""


def queries(sources: Iterable[Ids], marks: Marks = NO_MARKS) -> list[Query]:
    """A query for each source, all with the language tokens of one pair."""
    return [Query(source, (), marks) for source in sources]


class Engine(Protocol):
    """Searches for translations and scores them."""

    def translate(self, queries: Sequence[Query], options: DecodeConfig) -> list[list[Hypothesis]]:
        """Up to `options.n_best` hypotheses of each query, best first; in the order drawn if sampled.

        `options.method` is `beam` or `sample`; `mbr` is built on samples in `dragoman.control`.
        """

    def score(self, queries: Sequence[Query], targets: Sequence[Ids], alone: bool = False) -> list[list[float]]:
        """log P in nats of each token of each target, and of EOS, given the source and the tokens before.

        Prefixes count for nothing. `alone`: each pair by itself, so that the others make no difference to the last bit.
        """

    def attention(self, queries: Sequence[Query], targets: Sequence[Ids]) -> list[Attention] | None:
        """How much each token of each target attends to each token of its source, (T, S) of at most 1 in each row.

        None if the engine has no attention that aligns: `dragoman.decode.attention` names the layer.
        """


class Closed:
    """The engine of a translator that was closed: whatever it is asked, it raises ConfigError."""

    def translate(self, queries: Sequence[Query], options: DecodeConfig) -> list[list[Hypothesis]]:
        raise ConfigError("translator: it was closed; load it again")

    def score(self, queries: Sequence[Query], targets: Sequence[Ids], alone: bool = False) -> list[list[float]]:
        raise ConfigError("translator: it was closed; load it again")

    def attention(self, queries: Sequence[Query], targets: Sequence[Ids]) -> list[Attention] | None:
        raise ConfigError("translator: it was closed; load it again")
