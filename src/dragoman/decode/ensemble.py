"""One model, or several that share a vocabulary, as one: their probabilities are averaged."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from dragoman.decode.hypothesis import FORBIDDEN_IDS
from dragoman.decode.vocabulary import CandidateVocabulary
from dragoman.model.transformer import DecoderState, Transformer


@dataclass(frozen=True, slots=True)
class EnsembleState:
    """What each model knows of the same sentences and hypotheses."""

    states: tuple[DecoderState, ...]

    def select(self, rows: Tensor, sentences: Tensor | None = None) -> "EnsembleState":
        """As `DecoderState.select`, in every model."""
        return EnsembleState(tuple(state.select(rows, sentences) for state in self.states))


class Ensemble:
    """Models with one source and one target vocabulary; their shapes may differ."""

    def __init__(self, models: Iterable[Transformer]) -> None:
        self.models = tuple(models)
        assert len({model.projection.size(0) for model in self.models}) == 1, "one vocabulary, or the caller refuses"

    def encode(self, src: Tensor, src_mask: Tensor) -> EnsembleState:
        """As `Transformer.encode`, in every model."""
        return EnsembleState(tuple(model.encode(src, src_mask) for model in self.models))

    def projections(self, vocabulary: CandidateVocabulary) -> list[Tensor]:
        """Each model's rows (U, D) of the projection matrix for these words: gathered once a batch."""
        return [
            model.projection if vocabulary.ids is None else model.projection[vocabulary.ids] for model in self.models
        ]

    def decode(
        self, tokens: Tensor, state: EnsembleState, projections: Sequence[Tensor], disallowed: Tensor | None = None
    ) -> tuple[Tensor, EnsembleState]:
        """log P (R, U), in float32, of the words after the last of `tokens` (R, T), and the state after them.

        What is `disallowed` (R, U), or in FORBIDDEN_IDS, has no probability, and the others have all.
        """
        found, states = [], []
        for model, before, projection in zip(self.models, state.states, projections, strict=True):
            x, after = model.decode_features(tokens, before)
            logits = F.linear(x[:, -1], projection)
            logits[:, FORBIDDEN_IDS] = -torch.inf  # the marks' columns are their ids: they come first
            if disallowed is not None:
                logits.masked_fill_(disallowed, -torch.inf)
            found.append(logits.log_softmax(-1, dtype=torch.float32))
            states.append(after)
        return average(found), EnsembleState(tuple(states))


def average(log_probs: Sequence[Tensor]) -> Tensor:
    """log of the mean of the models' probabilities."""
    if len(log_probs) == 1:
        return log_probs[0]
    return torch.stack(tuple(log_probs)).logsumexp(0) - math.log(len(log_probs))
