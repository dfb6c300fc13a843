"""Shallow fusion (Gulcehre et al. 2015): a search for the most probable log P(y | x) + β log P_LM(y).

The language model has the target pieces of the translation model; its state is selected by the rows of the search.
Its EOS counts like every token: if only the others were charged with β log P_LM, a search would end too early.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from dragoman.decode.ensemble import Ensemble, EnsembleState, Projection
from dragoman.decode.vocabulary import CandidateVocabulary
from dragoman.model.others.language_model import LanguageModel
from dragoman.text.tokens.tokenizer import EOS


@dataclass(frozen=True, slots=True)
class Fusion:
    """A language model and its weight β."""

    model: LanguageModel
    weight: float

    def start(self, sentences: int, vocabulary: CandidateVocabulary) -> "FusionState":
        """The state before the first token of a batch."""
        alone = Ensemble([self.model])
        nothing = torch.full((sentences, 1), EOS, device=self.model.projection.device)
        state = alone.encode(nothing, torch.ones_like(nothing, dtype=torch.bool)[:, None, None])
        return FusionState(alone, self.weight, alone.projections(vocabulary), state)


@dataclass(frozen=True, slots=True)
class FusionState:
    """What the language model has read of every hypothesis of a search."""

    alone: Ensemble
    weight: float
    projections: list[Projection]
    state: EnsembleState

    def decode(
        self, tokens: Int[Tensor, "R 1"], disallowed: Bool[Tensor, "R U"] | None
    ) -> tuple[Float[Tensor, "R U"], "FusionState"]:
        """β log P_LM of each candidate after one more token of R hypotheses, and the state after it."""
        log_probs, state = self.alone.decode(tokens, self.state, self.projections, disallowed)
        return self.weight * log_probs, FusionState(self.alone, self.weight, self.projections, state)

    def select(self, rows: Int[Tensor, "R2"], sentences: Int[Tensor, "B2"] | None) -> "FusionState":
        """`State.select` of the language model."""
        return FusionState(self.alone, self.weight, self.projections, self.state.select(rows, sentences))
