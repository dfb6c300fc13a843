"""Engines: token ids of sentences → hypotheses. One Protocol; each engine is a module of its own."""

from collections.abc import Sequence
from typing import Protocol

from dragoman.config import DecodeConfig
from dragoman.decode.hypothesis import Hypothesis

Ids = Sequence[int]


class Engine(Protocol):
    """Anything that can search for translations. Sources and targets hold no marks; sources are not empty."""

    def translate(
        self, sources: Sequence[Ids], options: DecodeConfig, target_prefixes: Sequence[Ids] | None = None
    ) -> list[list[Hypothesis]]:
        """Up to `options.n_best` hypotheses of each source, best first; in order if drawn at random.

        A translation begins with its prefix, which its tokens, log P and score include. `options.method` is `beam`
        or `sample`; what is said of more than one hypothesis (`mbr`) is the translator's.
        """

    def score(self, sources: Sequence[Ids], targets: Sequence[Ids]) -> list[list[float]]:
        """log P in nats of each token of each target, and of its end mark, given the source and what comes before."""
