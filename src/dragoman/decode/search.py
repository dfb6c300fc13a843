"""Beam search, section 6.1: the most probable translations, found left to right with a key/value cache.

All sentences of a batch advance together. The hypotheses of a sentence share its memory and the cache of their common
prefixes; finished sentences leave the batch. A beam of 1 is greedy search.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from dragoman.decode.constraints import Constraints
from dragoman.decode.coverage import StepAttention, coverage_penalty, cross_attention
from dragoman.decode.ensemble import Ensemble, EnsembleState
from dragoman.decode.fusion import Fusion
from dragoman.decode.hypothesis import Hypothesis, length_penalty
from dragoman.decode.topk import topk_by_blocks
from dragoman.decode.vocabulary import CandidateVocabulary
from dragoman.model.parts.attention import padding_mask
from dragoman.text.tokens.tokenizer import BOS, EOS, PAD

# Finished rows are dropped once they are this share of the batch, because dropping them copies the cache.
COMPACT_AT = 1 / 8


@torch.inference_mode()
def beam_search(
    models: Ensemble,
    src: Int[Tensor, "B S"],
    constraints: Constraints,
    *,
    beam: int,
    alpha: float,
    beta: float = 0.0,
    vocabulary: CandidateVocabulary = CandidateVocabulary(),  # noqa: B008 - frozen
    start: Int[Tensor, "B P"] | None = None,
    fusion: Fusion | None = None,
) -> list[list[Hypothesis]]:
    """Up to `beam` finished hypotheses of each sentence of `src`, best score first.

    `start` is what each target follows, BOS and language tokens; None: BOS.

    The score is log P / lp + cp, Wu et al. 2016, Eq. (14), with `alpha` and `beta`. The search of a sentence stops at
    its first `beam` finished hypotheses, because a later, longer one rarely overtakes them. If several end in its last
    step and there are more, the `beam` with the highest log P count, as in CTranslate2. With `fusion` the search and
    the order of what it finds are by log P + β log P_LM; hypotheses have their own log P and score.
    """
    with cross_attention(models.models, beta) as attention:
        state = models.encode(src, padding_mask(src, PAD))
        search = _Search(models, state, src, constraints, vocabulary, attention, beam, alpha, beta, start, fusion)
        while search.sentences:
            search.advance()
    return [rank(finished, beam) for finished in search.finished]


def rank(finished: Sequence[tuple[Hypothesis, Hypothesis]], beam: int) -> list[Hypothesis]:
    """The `beam` likeliest finished hypotheses of a sentence, best score first.

    Each is given as it is searched for and as it is reported; the two differ with a language model.
    """
    likeliest = sorted(finished, key=lambda both: -both[0].log_prob)[:beam]
    return [reported for _, reported in sorted(likeliest, key=lambda both: -both[0].score)]


def extension_count(beam: int, candidates: int) -> int:
    """How many extensions of a hypothesis are considered.

    One extension of each hypothesis is EOS, so 2 × beam extensions hold at least `beam` unfinished ones. A beam of 1
    ends when its best extension does.
    """
    return min(2 * beam if beam > 1 else 1, candidates)


def best_extensions(
    log_probs: Float[Tensor, "B M"], values: Float[Tensor, "R C"], columns: Int[Tensor, "R C"], beam: int
) -> tuple[Float[Tensor, "B E"], Int[Tensor, "B E"], Int[Tensor, "B E"]]:
    """log P of each sentence's E best extensions, best first; the hypotheses extended (0 … M − 1); columns.

    `values` are the log P of the C best tokens after each of the sentence's M hypotheses, `log_probs` their own.
    """
    totals = (log_probs.flatten()[:, None] + values).unflatten(0, log_probs.shape).flatten(1)
    totals, indices = totals.topk(min(2 * beam, totals.size(1)), dim=1)
    columns = columns.unflatten(0, log_probs.shape).flatten(1).gather(1, indices)
    return totals, indices // values.size(1), columns


def endings(totals: Float[Tensor, "B E"], tokens: Int[Tensor, "B E"], beam: int) -> Bool[Tensor, "B _"]:
    """Which of the `beam` best extensions end."""
    return (tokens[:, :beam] == EOS) & totals[:, :beam].isfinite()


def best_unfinished(
    totals: Float[Tensor, "B E"], tokens: Int[Tensor, "B E"], counts: Int[Tensor, "B"], beam: int
) -> tuple[Float[Tensor, "B M"], Int[Tensor, "B M"]]:
    """log P of each sentence's M ≤ `beam` best extensions that do not end, and which of the E these are.

    `counts` are the finished hypotheses of the sentences: with `beam` of them there are no others, and log P is −∞.
    """
    unfinished = totals.masked_fill(tokens == EOS, -torch.inf)
    unfinished.masked_fill_((counts >= beam)[:, None], -torch.inf)
    values, order = unfinished.topk(min(beam, unfinished.size(1)), dim=1)
    return values, order


@dataclass
class _Search:
    """The unfinished hypotheses of the B unfinished sentences, grouped by sentence, `width` for each: R rows.

    A row whose log P is −∞ holds no hypothesis; it only fills the rectangle.
    """

    models: Ensemble
    state: EnsembleState
    src: Int[Tensor, "B S"]
    constraints: Constraints
    vocabulary: CandidateVocabulary
    attention: StepAttention | None
    beam: int
    alpha: float
    beta: float
    start: Int[Tensor, "B P"] | None
    """What the first step decodes, if not BOS alone."""
    fusion: Fusion | None = None
    sentences: list[int] = field(init=False)
    """The index in the batch of each unfinished sentence."""
    finished: list[list[tuple[Hypothesis, Hypothesis]]] = field(init=False)
    """Of each sentence of the batch: as they are searched for, and as they are reported."""

    def __post_init__(self) -> None:
        count, device = self.src.size(0), self.src.device
        self.sentences = list(range(count))
        self.finished = [[] for _ in range(count)]
        self.width = 1  # hypotheses per sentence: one at first, which forks
        self.tokens = torch.full((count, 1), BOS, device=device)
        self.log_probs = torch.zeros(count, 1, device=device)
        self.counts = torch.zeros(count, dtype=torch.int64, device=device)  # finished hypotheses of each sentence
        self.coverage = torch.zeros(self.src.shape, device=device)
        self.model_totals = self.log_probs  # of the extensions of the latest step
        self.projections = self.models.projections(self.vocabulary)
        self.fused = self.fusion.start(count, self.vocabulary) if self.fusion else None
        self.model_log_probs = (
            self.log_probs
        )  # log P of each row; `log_probs` is log P + β log P_LM with a language model

    def advance(self) -> None:
        """Extend every hypothesis by one token; keep the `beam` best unfinished ones of each sentence."""
        totals, parents, tokens = self._extensions()
        ends = endings(totals, tokens, self.beam)
        self.counts += ends.sum(1)
        log_probs, order = best_unfinished(totals, tokens, self.counts, self.beam)
        flags = torch.cat((log_probs[:, :1] > -torch.inf, ends), dim=1).tolist()  # the step's one read from the device
        if any(any(ended) for _, *ended in flags):
            self._collect(ends, totals, parents)
        self.log_probs, self.model_log_probs = log_probs, self.model_totals.gather(1, order)
        alive = [row for row, (is_alive, *_) in enumerate(flags) if is_alive]
        self._keep(parents.gather(1, order), tokens.gather(1, order), alive)

    def _extensions(self) -> tuple[Float[Tensor, "B E"], Int[Tensor, "B E"], Int[Tensor, "B E"]]:
        """log P of each sentence's E best extensions, best first; the hypotheses extended (0 … width − 1); tokens."""
        disallowed = self.vocabulary.disallowed
        if disallowed is not None:
            disallowed = disallowed.repeat_interleave(self.width, 0)
        latest, self.start = self.tokens[:, -1:] if self.start is None else self.start, None
        decoded, self.state = self.models.decode(latest, self.state, self.projections, disallowed)
        log_probs = decoded
        if self.fused is not None:  # before the first token it has read BOS alone, never language tokens
            added, self.fused = self.fused.decode(self.tokens[:, -1:], disallowed)
            log_probs = decoded + added
        if self.attention is not None:
            self.coverage = self.coverage + self.attention.take()[latest.size(1) - 1 :: latest.size(1)]
        log_probs = self.constraints.mask_logits_(log_probs, self.tokens[:, 1:], self.sentences, self.vocabulary)
        values, columns = topk_by_blocks(log_probs, extension_count(self.beam, log_probs.size(1)))
        totals, parents, columns = best_extensions(self.log_probs, values, columns, self.beam)
        self.model_totals = totals
        if self.fused is not None:
            rows = parents + torch.arange(totals.size(0), device=totals.device)[:, None] * self.width
            self.model_totals = self.model_log_probs.flatten()[rows] + decoded[rows, columns]
        return totals, parents, self.vocabulary.tokens(columns)

    def _collect(self, ends: Bool[Tensor, "B _"], totals: Float[Tensor, "B E"], parents: Int[Tensor, "B E"]) -> None:
        """Add the extensions that end to the finished hypotheses."""
        rows, ranks = ends.nonzero(as_tuple=True)
        ending = rows * self.width + parents[rows, ranks]
        penalties = torch.zeros(len(rows))
        if self.attention is not None:
            penalties = coverage_penalty(self.coverage[ending], self.src[rows] != PAD, self.beta)
        divisor = length_penalty(self.tokens.size(1), self.alpha)  # BOS is counted in place of EOS
        columns = (rows, self.tokens[ending, 1:], totals[rows, ranks], self.model_totals[rows, ranks], penalties)
        for row, tokens, total, log_prob, penalty in zip(*(column.tolist() for column in columns), strict=True):
            reported = Hypothesis(tuple(tokens), log_prob, log_prob / divisor + penalty)
            searched = reported if self.fused is None else Hypothesis((), total, total / divisor + penalty)
            self.finished[self.sentences[row]].append((searched, reported))

    def _keep(self, parents: Int[Tensor, "B _"], tokens: Int[Tensor, "B _"], alive: list[int]) -> None:
        """Continue with these extensions of each sentence; drop finished sentences once there are many."""
        remaining = None
        if len(alive) <= (1 - COMPACT_AT) * len(self.sentences):
            self.sentences = [self.sentences[row] for row in alive]
            remaining = torch.tensor(alive, dtype=torch.int64, device=self.src.device)
            parents, tokens = parents[remaining], tokens[remaining]
            self.log_probs, self.model_log_probs = self.log_probs[remaining], self.model_log_probs[remaining]
            self.counts, self.src = self.counts[remaining], self.src[remaining]
            self.vocabulary = self.vocabulary.select(remaining)
            if not alive:
                return
        groups = torch.arange(parents.size(0), device=parents.device) if remaining is None else remaining
        rows = (parents + groups[:, None] * self.width).flatten()
        self.tokens = torch.cat((self.tokens[rows], tokens.flatten()[:, None]), dim=1)
        self.state = self.state.select(rows, remaining)
        if self.fused is not None:
            self.fused = self.fused.select(rows, remaining)
        if self.attention is not None:
            self.coverage = self.coverage[rows]
        self.width = parents.size(1)
