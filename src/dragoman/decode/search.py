"""Beam search, section 6.1: the most probable translations, found left to right with a key/value cache.

All sentences of a batch advance together. What the hypotheses of a sentence share, its memory and their common
beginnings, is kept once; finished sentences leave the batch. A beam of 1 is greedy search.
"""

from dataclasses import dataclass, field

import torch
from torch import Tensor

from dragoman.decode.constraints import Constraints
from dragoman.decode.coverage import Attention, coverage_penalty, watched
from dragoman.decode.ensemble import Ensemble, EnsembleState
from dragoman.decode.hypothesis import Hypothesis, length_penalty
from dragoman.decode.topk import best
from dragoman.decode.vocabulary import CandidateVocabulary
from dragoman.model.attention import padding_mask
from dragoman.text.tokenizer import BOS, EOS, PAD

# Finished sentences stay, unheeded, until they are this share of the batch: leaving, they have the cache copied.
COMPACT_AT = 1 / 8


@torch.inference_mode()
def beam_search(
    models: Ensemble,
    src: Tensor,
    constraints: Constraints,
    *,
    beam: int,
    alpha: float,
    beta: float = 0.0,
    vocabulary: CandidateVocabulary = CandidateVocabulary(),  # noqa: B008 - frozen
) -> list[list[Hypothesis]]:
    """Up to `beam` finished hypotheses of each sentence of `src` (B, S), best score first.

    The score is log P / lp + cp, Wu et al. 2016, Eq. (14), by `alpha` and `beta`. A sentence is finished when it has
    `beam` hypotheses: those found first, as a longer one rarely overtakes them.
    """
    with watched(models.models, beta) as attention:
        state = models.encode(src, padding_mask(src, PAD))
        search = _Search(models, state, src, constraints, vocabulary, attention, beam, alpha, beta)
        while search.sentences:
            search.advance()
    return [sorted(found, key=lambda hypothesis: -hypothesis.score)[:beam] for found in search.finished]


@dataclass
class _Search:
    """The living hypotheses of the unfinished sentences, grouped by sentence, `width` for each.

    A hypothesis whose log P is −∞ is none: it fills a row.
    """

    models: Ensemble
    state: EnsembleState
    src: Tensor
    constraints: Constraints
    vocabulary: CandidateVocabulary
    attention: Attention | None
    beam: int
    alpha: float
    beta: float
    sentences: list[int] = field(init=False)
    finished: list[list[Hypothesis]] = field(init=False)

    def __post_init__(self) -> None:
        count, device = self.src.size(0), self.src.device
        self.sentences = list(range(count))
        self.finished = [[] for _ in range(count)]
        self.width = 1  # hypotheses per sentence: they fork from one
        self.tokens = torch.full((count, 1), BOS, device=device)
        self.log_probs = torch.zeros(count, 1, device=device)
        self.counts = torch.zeros(count, dtype=torch.int64, device=device)  # of the finished hypotheses
        self.coverage = torch.zeros(self.src.shape, device=device)
        self.projections = self.models.projections(self.vocabulary)

    def advance(self) -> None:
        """Prolong every hypothesis by a token; keep the `beam` best of each sentence."""
        totals, parents, tokens = self._extensions()
        ends = (tokens[:, : self.beam] == EOS) & totals[:, : self.beam].isfinite()
        self.counts += ends.sum(1)
        going_on = totals.masked_fill(tokens == EOS, -torch.inf)
        going_on.masked_fill_((self.counts >= self.beam)[:, None], -torch.inf)
        log_probs, order = going_on.topk(min(self.beam, going_on.size(1)), dim=1)
        flags = torch.cat((log_probs[:, :1] > -torch.inf, ends), dim=1).tolist()  # the step's one look at the device
        if any(any(ended) for _, *ended in flags):
            self._collect(ends, totals, parents)
        self.log_probs = log_probs
        self._keep(
            parents.gather(1, order),
            tokens.gather(1, order),
            [row for row, (goes_on, *_) in enumerate(flags) if goes_on],
        )

    def _extensions(self) -> tuple[Tensor, Tensor, Tensor]:
        """log P of the best extensions of each sentence, their hypotheses (of 0 … width) and tokens, best first."""
        disallowed = self.vocabulary.disallowed
        if disallowed is not None:
            disallowed = disallowed.repeat_interleave(self.width, 0)
        log_probs, self.state = self.models.decode(self.tokens[:, -1:], self.state, self.projections, disallowed)
        if self.attention is not None:
            self.coverage = self.coverage + self.attention.take()
        log_probs = self.constraints.mask_logits_(log_probs, self.tokens[:, 1:], self.sentences, self.vocabulary)
        # Each hypothesis has one extension that ends: 2 × beam candidates hold at least `beam` that go on. A beam of
        # 1 ends when its best does.
        count = min(2 * self.beam if self.beam > 1 else 1, log_probs.size(1))
        values, columns = best(log_probs, count)
        totals = (self.log_probs.flatten()[:, None] + values).unflatten(0, (-1, self.width)).flatten(1)
        totals, places = totals.topk(min(2 * self.beam, totals.size(1)), dim=1)
        columns = columns.unflatten(0, (-1, self.width)).flatten(1).gather(1, places)
        return totals, places // count, self.vocabulary.tokens(columns)

    def _collect(self, ends: Tensor, totals: Tensor, parents: Tensor) -> None:
        """Copy the extensions that end to the finished."""
        rows, ranks = ends.nonzero(as_tuple=True)
        ending = rows * self.width + parents[rows, ranks]
        penalties = torch.zeros(len(rows))
        if self.attention is not None:
            penalties = coverage_penalty(self.coverage[ending], self.src[rows] != PAD, self.beta)
        divisor = length_penalty(self.tokens.size(1), self.alpha)  # the begin mark stands for the end mark
        found = (rows, self.tokens[ending, 1:], totals[rows, ranks], penalties)
        for row, tokens, log_prob, penalty in zip(*(part.tolist() for part in found), strict=True):
            hypothesis = Hypothesis(tuple(tokens), log_prob, log_prob / divisor + penalty)
            self.finished[self.sentences[row]].append(hypothesis)

    def _keep(self, parents: Tensor, following: Tensor, alive: list[int]) -> None:
        """Fork the state into the extensions that go on; drop finished sentences when they are many."""
        remaining = None
        if len(alive) <= (1 - COMPACT_AT) * len(self.sentences):
            self.sentences = [self.sentences[row] for row in alive]
            remaining = torch.tensor(alive, dtype=torch.int64, device=self.src.device)
            parents, following, self.log_probs = parents[remaining], following[remaining], self.log_probs[remaining]
            self.counts, self.src = self.counts[remaining], self.src[remaining]
            self.vocabulary = self.vocabulary.select(remaining)
            if not alive:
                return
        own = torch.arange(parents.size(0), device=parents.device) if remaining is None else remaining
        rows = (parents + own[:, None] * self.width).flatten()
        self.tokens = torch.cat((self.tokens[rows], following.flatten()[:, None]), dim=1)
        self.state = self.state.select(rows, remaining)
        if self.attention is not None:
            self.coverage = self.coverage[rows]
        self.width = parents.size(1)
