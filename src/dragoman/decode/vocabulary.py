"""The target ids that the sentences of a batch may use: all of them, or those of their shortlists.

A shortlist makes the last matrix product small: only the rows of the union of the sentences' lists take part. A
candidate that only other sentences may use is disallowed, so a sentence's probabilities are over its own list.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from dragoman.text.tokens.tokenizer import BOS, EOS, PAD, UNK

SPECIAL_TOKENS = (PAD, UNK, BOS, EOS)


@dataclass(frozen=True, slots=True)
class CandidateVocabulary:
    """The target id of each of the U columns of a batch's scores."""

    ids: Int[Tensor, "U"] | None = None
    """Ascending; None: every column is its own id."""
    disallowed: Bool[Tensor, "B U"] | None = None
    """The candidates that only other sentences may use; None: there are none."""

    @classmethod
    def of(cls, lists: Sequence[Iterable[int]], device: torch.device) -> "CandidateVocabulary":
        """Each sentence's own list and the special tokens; those come first, so that their columns are their ids."""
        candidates = [{*some, *SPECIAL_TOKENS} for some in lists]
        ids = torch.tensor(sorted(set().union(*candidates)))
        disallowed = torch.stack([~torch.isin(ids, torch.tensor(sorted(some))) for some in candidates])
        return cls(ids.to(device), disallowed.to(device) if disallowed.any() else None)

    def column(self, tokens: Int[Tensor, "*any"]) -> Int[Tensor, "*any"]:
        """The columns of these ids, which must be candidates."""
        return tokens if self.ids is None else torch.searchsorted(self.ids, tokens)

    def contains(self, tokens: Int[Tensor, "*any"]) -> Bool[Tensor, "*any"]:
        """Which of these ids are candidates."""
        return torch.ones_like(tokens, dtype=torch.bool) if self.ids is None else torch.isin(tokens, self.ids)

    def tokens(self, columns: Int[Tensor, "*any"]) -> Int[Tensor, "*any"]:
        """The ids of these columns."""
        return columns if self.ids is None else self.ids[columns]

    def select(self, sentences: Int[Tensor, "B2"]) -> "CandidateVocabulary":
        """These columns for the sentences that remain."""
        return self if self.disallowed is None else CandidateVocabulary(self.ids, self.disallowed[sentences])
