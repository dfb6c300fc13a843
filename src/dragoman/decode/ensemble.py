"""One model, or an ensemble of models with the same vocabularies: the mean of their probabilities."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor

from dragoman.decode.hypothesis import FORBIDDEN_IDS
from dragoman.decode.vocabulary import CandidateVocabulary
from dragoman.model.parts.network import EncoderDecoder, State


@dataclass(frozen=True, slots=True)
class EnsembleState:
    """The decoder state of each model, for the same sentences and hypotheses."""

    states: tuple[State, ...]

    def select(self, rows: Int[Tensor, "R2"], sentences: Int[Tensor, "B2"] | None = None) -> "EnsembleState":
        """`State.select` in every model."""
        return EnsembleState(tuple(state.select(rows, sentences) for state in self.states))


# A matrix (U, D) and, where the model has one, a bias (U).
Projection = tuple[Tensor, Tensor | None]


class Ensemble:
    """Models with the same source and target vocabulary; their shapes may differ."""

    def __init__(self, models: Iterable[EncoderDecoder]) -> None:
        self.models = tuple(models)
        assert len({model.projection.size(0) for model in self.models}) == 1, "the caller refuses other vocabularies"

    def encode(self, src: Int[Tensor, "B S"], src_mask: Bool[Tensor, "B 1 1 S"]) -> EnsembleState:
        """`encode` in every model."""
        return EnsembleState(tuple(model.encode(src, src_mask) for model in self.models))

    def projections(self, vocabulary: CandidateVocabulary) -> list[Projection]:
        """Each model's projection onto these candidates: gathered once per batch."""
        return [_onto(vocabulary.ids, model) for model in self.models]

    def decode(
        self,
        tokens: Int[Tensor, "R T"],
        state: EnsembleState,
        projections: Sequence[Projection],
        disallowed: Bool[Tensor, "R U"] | None = None,
    ) -> tuple[Float[Tensor, "R U"], EnsembleState]:
        """log P in float32 of each candidate after the last of `tokens`, and the state after them.

        The `disallowed` candidates and FORBIDDEN_IDS have probability 0; the others share all of it.
        """
        log_probs, states = [], []
        for model, before, projection in zip(self.models, state.states, projections, strict=True):
            x, after = model.decode_features(tokens, before)
            log_probs.append(project_log_probs(x[:, -1], projection, disallowed))
            states.append(after)
        return log_mean(log_probs), EnsembleState(tuple(states))


def project_log_probs(
    x: Float[Tensor, "R D"], projection: Projection, disallowed: Bool[Tensor, "R U"] | None = None
) -> Float[Tensor, "R U"]:
    """log P in float32 of each candidate, of a model's decoder output, as `Ensemble.decode` states it."""
    matrix, bias = projection
    logits = F.linear(x, matrix, bias)
    # The column of a special token is its id, in any vocabulary; a list of them would be copied to a GPU.
    logits[:, : len(FORBIDDEN_IDS)] = -torch.inf
    if disallowed is not None:
        logits.masked_fill_(disallowed, -torch.inf)
    return logits.log_softmax(-1, dtype=torch.float32)


def _onto(ids: Int[Tensor, "U"] | None, model: EncoderDecoder) -> Projection:
    matrix, bias = model.projection, model.projection_bias
    if ids is None:
        return matrix, bias
    return matrix[ids], None if bias is None else bias[ids]


def log_mean(log_probs: Sequence[Float[Tensor, "*any"]]) -> Float[Tensor, "*any"]:
    """log of the mean of the models' probabilities."""
    if len(log_probs) == 1:
        return log_probs[0]
    return torch.stack(tuple(log_probs)).logsumexp(0) - math.log(len(log_probs))
