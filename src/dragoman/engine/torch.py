"""The reference engine: our own search on our own model."""

import random
from collections.abc import Sequence

import torch

from dragoman.config import DecodeConfig
from dragoman.data.batch import pad
from dragoman.data.batching import pack
from dragoman.decode.hypothesis import Hypothesis
from dragoman.decode.search import beam_search
from dragoman.model.device import within_memory
from dragoman.model.transformer import Transformer
from dragoman.text.tokenizer import EOS


class TorchEngine:
    """A model on a device, in eval mode."""

    def __init__(self, model: Transformer, device: torch.device) -> None:
        self.model, self.device = model.to(device).eval(), device

    def translate(self, sources: Sequence[Sequence[int]], options: DecodeConfig) -> list[list[Hypothesis]]:
        """See `Engine.translate`. Sentences of similar length are searched together."""
        found: list[list[Hypothesis]] = [[] for _ in sources]
        lengths = [(len(source) + 1,) * 2 for source in sources]
        for group in pack(lengths, options.batch_tokens, random.Random(0)):
            for index, hypotheses in zip(group, self._search([sources[i] for i in group], options), strict=True):
                found[index] = hypotheses[: options.n_best]
        return found

    def _search(self, sources: Sequence[Sequence[int]], options: DecodeConfig) -> list[list[Hypothesis]]:
        src = pad([[*source, EOS] for source in sources]).to(self.device)
        what = f"{len(sources)} sentences of {src.size(1)} tokens"
        with within_memory(what, "lower decode.batch_tokens or the beam"):
            return beam_search(
                self.model,
                src,
                beam=options.beam,
                alpha=options.length_penalty,
                max_lengths=[len(source) + options.extra_length for source in sources],
            )
