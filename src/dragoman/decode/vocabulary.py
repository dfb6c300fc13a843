"""Which target ids the sentences of a batch may say: all, or those of their shortlists.

A shortlist makes the last matrix product small: only the rows of the union of the sentences' lists take part. What
only a neighbour may say is disallowed, so that a sentence's probabilities are over its own list.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from dragoman.text.tokenizer import BOS, EOS, PAD, UNK

MARKS = (PAD, UNK, BOS, EOS)


@dataclass(frozen=True, slots=True)
class CandidateVocabulary:
    """The target id of each of the U columns of a batch's scores."""

    ids: Tensor | None = None
    """(U), ascending; None: every column is the id of its number."""
    disallowed: Tensor | None = None
    """(B, U): what only other sentences may say."""

    @classmethod
    def of(cls, lists: Sequence[Iterable[int]], device: torch.device) -> "CandidateVocabulary":
        """Each sentence's own list, and the marks; those come first, so that their columns are their ids."""
        own = [{*some, *MARKS} for some in lists]
        ids = torch.tensor(sorted(set().union(*own)))
        disallowed = torch.stack([~torch.isin(ids, torch.tensor(sorted(some))) for some in own])
        return cls(ids.to(device), disallowed.to(device) if disallowed.any() else None)

    def column(self, tokens: Tensor) -> Tensor:
        """Where these ids stand; they must be among the batch's."""
        return tokens if self.ids is None else torch.searchsorted(self.ids, tokens)

    def holds(self, tokens: Tensor) -> Tensor:
        """Which of these ids are among the batch's."""
        return torch.ones_like(tokens, dtype=torch.bool) if self.ids is None else torch.isin(tokens, self.ids)

    def tokens(self, columns: Tensor) -> Tensor:
        """The ids of these columns."""
        return columns if self.ids is None else self.ids[columns]

    def select(self, sentences: Tensor) -> "CandidateVocabulary":
        """The same columns for the sentences that remain."""
        return self if self.disallowed is None else CandidateVocabulary(self.ids, self.disallowed[sentences])
