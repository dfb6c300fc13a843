"""What a hypothesis may say next, whatever it would like to: its beginning, its length, its repetitions.

Constraints strike words out; the probabilities of what remains stay the model's own, not divided anew.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from dragoman.decode.vocabulary import CandidateVocabulary
from dragoman.text.tokenizer import EOS


@dataclass(frozen=True, slots=True)
class Constraints:
    """The rules for B sentences."""

    max_lengths: Sequence[int]
    """The most tokens of each sentence's translations, the end mark not counted; a prefix is never cut."""
    prefixes: Sequence[Sequence[int]] = ()
    """What each sentence's translations begin with; empty: nothing is forced."""
    min_length: int = 0
    """The least tokens of a translation."""
    no_repeat_ngram: int = 0
    """No so many tokens in a row twice; 0 lets them. Prefixes may."""

    def prefix(self, sentence: int) -> Sequence[int]:
        """What the translations of this sentence begin with."""
        return self.prefixes[sentence] if self.prefixes else ()

    def limit(self, sentence: int) -> int:
        """The most tokens of this sentence's translations."""
        return max(self.max_lengths[sentence], len(self.prefix(sentence)))

    def mask_logits_(
        self, scores: Tensor, said: Tensor, sentences: Sequence[int], vocabulary: CandidateVocabulary
    ) -> Tensor:
        """`scores` (R, U) of what follows `said` (R, n), −∞ where it may not: changed in place and returned.

        The rows belong to `sentences`, equally many to each. At least one word stays in every row.
        """
        length, (forced, held) = said.size(1), self._forced(scores, said.size(1), sentences, vocabulary)
        ends = scores[:, EOS].clone()  # the marks' columns are their ids: they come first, in any `vocabulary`
        if length < self.min_length:
            scores[:, EOS] = -torch.inf
        if self.no_repeat_ngram:
            _mask_repeated_ngrams_(scores, said, self.no_repeat_ngram, vocabulary)
        full = [length >= self.limit(sentence) for sentence in sentences]
        if any(full):
            scores.masked_fill_(_per_row(full, scores)[:, None], -torch.inf)
        if any(full) or length < self.min_length:  # who can say nothing else ends, even too early
            mute = scores.amax(1) == -torch.inf
            scores[:, EOS] = torch.where(mute, ends, scores[:, EOS])
        if forced is not None:
            only = _per_row([place >= 0 for place in forced], scores)
            scores.masked_fill_(only[:, None], -torch.inf)
            columns = _per_row([max(place, 0) for place in forced], scores)[:, None]
            scores.scatter_(1, columns, torch.where(only[:, None], held, scores.gather(1, columns)))
        return scores

    def _forced(
        self, scores: Tensor, length: int, sentences: Sequence[int], vocabulary: CandidateVocabulary
    ) -> tuple[list[int] | None, Tensor]:
        """The column that each sentence's prefix demands, −1 for none, and the scores of those columns now."""
        following = [self.prefix(sentence)[length : length + 1] for sentence in sentences]
        if not any(following):
            return None, scores
        columns = vocabulary.column(torch.tensor([token for [token] in filter(None, following)], device=scores.device))
        place = iter(columns.tolist())
        forced = [next(place) if token else -1 for token in following]
        return forced, scores.gather(1, _per_row([max(place, 0) for place in forced], scores)[:, None])


def _mask_repeated_ngrams_(scores: Tensor, said: Tensor, n: int, vocabulary: CandidateVocabulary) -> None:
    """Strike out what would make the last n tokens of a row a repetition of n before them."""
    if said.size(1) < n:
        return
    followers = said[:, n - 1 :]
    repeated = vocabulary.holds(followers)
    if n > 1:
        beginnings = said[:, :-1].unfold(1, n - 1, 1)
        repeated &= (beginnings == said[:, None, 1 - n :]).all(-1)
    rows, places = repeated.nonzero(as_tuple=True)
    scores[rows, vocabulary.column(followers[rows, places])] = -torch.inf


def _per_row(values: Sequence[int], scores: Tensor) -> Tensor:
    """A value of each sentence as one of each of its rows, (R)."""
    return torch.tensor(values, device=scores.device).repeat_interleave(scores.size(0) // len(values))
