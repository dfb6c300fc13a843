"""Engines: token ids of sentences → hypotheses. One Protocol; each engine is a module of its own."""

from collections.abc import Sequence
from typing import Protocol

from dragoman.config import DecodeConfig
from dragoman.decode.hypothesis import Hypothesis


class Engine(Protocol):
    """Anything that can search for translations."""

    def translate(self, sources: Sequence[Sequence[int]], options: DecodeConfig) -> list[list[Hypothesis]]:
        """Up to `options.n_best` hypotheses of each source, best first; sources hold no marks and are not empty."""
