"""Engines: source ids → hypotheses. One Protocol; each engine is a module of its own."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dragoman.config import DecodeConfig
from dragoman.decode.hypothesis import Hypothesis
from dragoman.text.tokens.marks import Marks

Ids = Sequence[int]
Attention = NDArray[np.float32]


class Engine(Protocol):
    """Searches for translations and scores them. Ids hold no special tokens; no source is empty."""

    def translate(
        self,
        sources: Sequence[Ids],
        options: DecodeConfig,
        target_prefixes: Sequence[Ids] | None = None,
        marks: Sequence[Marks] | None = None,
    ) -> list[list[Hypothesis]]:
        """Up to `options.n_best` hypotheses of each source, best first; in the order drawn if sampled.

        A translation begins with its target prefix, which its tokens, log P and score include. The `marks` of each
        sentence are its language tokens; they are counted nowhere. `options.method` is `beam` or `sample`; `mbr` is
        built on samples in `dragoman.control`.
        """

    def score(
        self,
        sources: Sequence[Ids],
        targets: Sequence[Ids],
        marks: Sequence[Marks] | None = None,
        alone: bool = False,
    ) -> list[list[float]]:
        """log P in nats of each token of each target, and of EOS, given the source and the tokens before.

        `alone`: each pair by itself, so that the others make no difference to the last bit.
        """

    def attention(
        self, sources: Sequence[Ids], targets: Sequence[Ids], marks: Sequence[Marks] | None = None
    ) -> list[Attention] | None:
        """How much each token of each target attends to each token of its source, (T, S) of at most 1 in each row.

        None if the engine has no attention that aligns: `dragoman.decode.attention` names the layer.
        """
