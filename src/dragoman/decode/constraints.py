"""Constraints on the next token: forced prefix, length limits, no repeated n-grams.

They mask logits. The probabilities of the tokens that remain stay the model's own: they are not renormalised.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from dragoman.decode.vocabulary import CandidateVocabulary
from dragoman.text.tokens.tokenizer import EOS

# In place of a token that has to follow: none has to.
ANY = -1


@dataclass(frozen=True, slots=True)
class Constraints:
    """The constraints of B sentences."""

    max_lengths: Sequence[int]
    """The maximum length of each sentence's translations in tokens, EOS not counted; a prefix is never cut."""
    prefixes: Sequence[Sequence[int]] = ()
    """The ids that each sentence's translations begin with; empty: nothing is forced."""
    min_length: int = 0
    """The minimum length of a translation in tokens, EOS not counted."""
    no_repeat_ngram: int = 0
    """No n-gram of this size may occur twice, except in prefixes; 0 disables."""

    def prefix(self, sentence: int) -> Sequence[int]:
        """The forced prefix of this sentence's translations."""
        return self.prefixes[sentence] if self.prefixes else ()

    def limit(self, sentence: int) -> int:
        """The maximum length of this sentence's translations."""
        return max(self.max_lengths[sentence], len(self.prefix(sentence)))

    def forced(self, sentences: Sequence[int], length: int) -> Int[Tensor, "B T"]:
        """The only token that may follow the first 0 … `length` − 1 tokens of these sentences; ANY where any may.

        It is the next of a prefix, or EOS where a translation has its maximum length.
        """
        limits = torch.tensor([self.limit(sentence) for sentence in sentences], dtype=torch.int64)
        table = torch.where(torch.arange(length) >= limits[:, None], EOS, ANY)
        for row, sentence in enumerate(sentences) if self.prefixes else ():
            prefix = torch.tensor(self.prefix(sentence)[:length], dtype=torch.int64)
            table[row, : prefix.size(0)] = prefix
        return table

    def mask_logits_(
        self,
        scores: Float[Tensor, "R U"],
        generated_ids: Int[Tensor, "R T"],
        sentences: Sequence[int],
        vocabulary: CandidateVocabulary,
    ) -> Float[Tensor, "R U"]:
        """Set the score of each token that may not follow `generated_ids` to −∞, in place; return `scores`.

        The rows belong to `sentences`, an equal number to each. At least one token stays possible in every row.
        """
        length = generated_ids.size(1)
        forced = self._forced(length, sentences, vocabulary, scores.device)
        forced_scores = None if forced is None else scores.gather(1, _per_row(forced, scores).clamp(min=0)[:, None])
        ends = scores[:, EOS].clone()  # the column of a special token is its id, in any vocabulary
        if length < self.min_length:
            scores[:, EOS] = -torch.inf
        if self.no_repeat_ngram:
            _mask_repeated_ngrams_(scores, generated_ids, self.no_repeat_ngram, vocabulary)
        full = [length >= self.limit(sentence) for sentence in sentences]
        if any(full):
            scores.masked_fill_(_per_row(full, scores)[:, None], -torch.inf)
        if any(full) or length < self.min_length:  # where nothing else may follow, the translation ends, even too early
            stuck = scores.amax(1) == -torch.inf
            scores[:, EOS] = torch.where(stuck, ends, scores[:, EOS])
        if forced is not None and forced_scores is not None:
            columns = _per_row(forced, scores)[:, None]
            is_forced, columns = columns >= 0, columns.clamp(min=0)
            scores.masked_fill_(is_forced, -torch.inf)
            scores.scatter_(1, columns, torch.where(is_forced, forced_scores, scores.gather(1, columns)))
        return scores

    def _forced(
        self, length: int, sentences: Sequence[int], vocabulary: CandidateVocabulary, device: torch.device
    ) -> list[int] | None:
        """The column of each sentence's prefix token at position `length`, −1 for none; None where all are none."""
        tokens = [self.prefix(sentence)[length : length + 1] for sentence in sentences]
        if not any(tokens):
            return None
        columns = vocabulary.column(torch.tensor([token for [token] in filter(None, tokens)], device=device))
        following = iter(columns.tolist())
        return [next(following) if token else -1 for token in tokens]


def _mask_repeated_ngrams_(
    scores: Float[Tensor, "R U"], generated_ids: Int[Tensor, "R T"], n: int, vocabulary: CandidateVocabulary
) -> None:
    """Mask each token that would make the last n tokens of a row equal to n tokens before them."""
    if generated_ids.size(1) < n:
        return
    followers = generated_ids[:, n - 1 :]
    repeated = vocabulary.contains(followers)
    if n > 1:
        starts = generated_ids[:, :-1].unfold(1, n - 1, 1)
        repeated &= (starts == generated_ids[:, None, 1 - n :]).all(-1)
    rows, positions = repeated.nonzero(as_tuple=True)
    scores[rows, vocabulary.column(followers[rows, positions])] = -torch.inf


def _per_row(values: Sequence[int], scores: Float[Tensor, "R U"]) -> Int[Tensor, "R"] | Bool[Tensor, "R"]:
    """A value for each sentence as one for each of its rows."""
    return torch.tensor(values, device=scores.device).repeat_interleave(scores.size(0) // len(values))
