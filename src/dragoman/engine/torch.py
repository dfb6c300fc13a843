"""The reference engine: our own search on our own model."""

import random
from collections.abc import Sequence

import torch

from dragoman.data.batch import pad
from dragoman.data.batching import pack
from dragoman.decode.hypothesis import Hypothesis
from dragoman.decode.scoring import log_probabilities
from dragoman.decode.search import beam_search
from dragoman.engine import Ids
from dragoman.model.device import within_memory
from dragoman.model.transformer import Transformer
from dragoman.options import DecodeConfig
from dragoman.text.tokenizer import BOS, EOS


class TorchEngine:
    """A model on a device, in eval mode."""

    def __init__(self, model: Transformer, device: torch.device) -> None:
        self.model, self.device = model.to(device).eval(), device

    def translate(
        self, sources: Sequence[Ids], options: DecodeConfig, prefixes: Sequence[Ids] | None = None
    ) -> list[list[Hypothesis]]:
        """See `Engine.translate`. Sentences of similar length are searched together."""
        forced = prefixes or [()] * len(sources)
        found: list[list[Hypothesis]] = [[] for _ in sources]
        for group in self._groups(sources, options.batch_tokens):
            hypotheses = self._search([sources[i] for i in group], [forced[i] for i in group], options)
            for index, best in zip(group, hypotheses, strict=True):
                found[index] = best[: options.n_best]
        return found

    def score(self, sources: Sequence[Ids], targets: Sequence[Ids]) -> list[list[float]]:
        """See `Engine.score`."""
        found: list[list[float]] = [[] for _ in sources]
        for group in self._groups(sources, DecodeConfig().batch_tokens):
            said = [targets[i] for i in group]
            tensors = (
                self._padded([[*sources[i], EOS] for i in group]),
                self._padded([[BOS, *tokens] for tokens in said]),
                self._padded([[*tokens, EOS] for tokens in said]),
            )
            for index, row in zip(group, log_probabilities(self.model, *tensors).tolist(), strict=True):
                found[index] = row[: len(targets[index]) + 1]
        return found

    def _groups(self, sources: Sequence[Ids], budget: int) -> list[list[int]]:
        return pack([(len(source) + 1,) * 2 for source in sources], budget, random.Random(0))

    def _padded(self, rows: list[list[int]]) -> torch.Tensor:
        return pad(rows).to(self.device)

    def _search(self, sources: Sequence[Ids], prefixes: Sequence[Ids], options: DecodeConfig) -> list[list[Hypothesis]]:
        src = self._padded([[*source, EOS] for source in sources])
        what = f"{len(sources)} sentences of {src.size(1)} tokens"
        with within_memory(what, "lower decode.batch_tokens or the beam"):
            return beam_search(
                self.model,
                src,
                beam=options.beam,
                alpha=options.length_penalty,
                max_lengths=[options.limit(len(source)) for source in sources],
                prefixes=prefixes,
            )
