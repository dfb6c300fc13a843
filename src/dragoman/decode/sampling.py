"""Ancestral sampling: translations drawn from the model's distribution, or from a sharper one.

What is drawn depends on the seed, the source and the number of the sample alone, not on the batch.
"""

import hashlib
import random
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from dragoman.decode.constraints import Constraints
from dragoman.decode.ensemble import Ensemble
from dragoman.decode.hypothesis import Hypothesis, length_penalty
from dragoman.decode.vocabulary import CandidateVocabulary
from dragoman.model.attention import padding_mask
from dragoman.text.tokenizer import BOS, EOS, PAD

# Ended samples stay, unheeded, until they are this share of the batch: leaving, they have the cache copied.
COMPACT_AT = 1 / 8


@dataclass(frozen=True, slots=True)
class SamplingParams:
    """Of what the samples are drawn: P^(1/temperature), of the `top_k` likeliest and of `top_p` of the mass."""

    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0


@torch.inference_mode()
def sample(
    models: Ensemble,
    src: Tensor,
    constraints: Constraints,
    *,
    samples: int,
    params: SamplingParams,
    seed: int,
    alpha: float,
    vocabulary: CandidateVocabulary = CandidateVocabulary(),  # noqa: B008 - frozen
) -> list[list[Hypothesis]]:
    """`samples` translations of each sentence of `src` (B, S), in the order drawn; log P is the model's own."""
    count = src.size(0)
    streams = _streams(src, samples, seed)
    rows = torch.arange(count, device=src.device).repeat_interleave(samples)
    # Every sample is a sentence of its own, for none forks: what each sees of the past needs no mask.
    state = models.encode(src, padding_mask(src, PAD)).select(rows, rows)
    words, projections = vocabulary.select(rows), models.projections(words)
    numbers, places = rows.tolist(), list(range(len(rows)))  # of each row: its sentence, its sample
    said = torch.full((len(rows), 1), BOS, device=src.device)
    total, done = torch.zeros(len(rows), device=src.device), torch.zeros_like(rows, dtype=torch.bool)
    found: dict[int, Hypothesis] = {}
    while True:
        log_probs, state = models.decode(said[:, -1:], state, projections, vocabulary.disallowed)
        log_probs = constraints.mask_logits_(log_probs, said[:, 1:], numbers, words)
        columns = draw(log_probs, params, _chances(streams, src.device))
        total = total + log_probs.gather(1, columns[:, None]).squeeze(1)
        tokens = vocabulary.tokens(columns)
        ended = ((tokens == EOS) & ~done).nonzero().squeeze(1)
        divisor = length_penalty(said.size(1), alpha)  # the begin mark stands for the end mark
        for row, history, log_prob in zip(ended.tolist(), said[ended, 1:].tolist(), total[ended].tolist(), strict=True):
            found[places[row]] = Hypothesis(tuple(history), log_prob, log_prob / divisor)
        if len(found) == len(rows):
            return [[found[first + number] for number in range(samples)] for first in range(0, len(rows), samples)]
        done[ended] = True
        said = torch.cat((said, tokens[:, None]), dim=1)
        if len(rows) - len(found) <= (1 - COMPACT_AT) * len(places):
            kept = (~done).nonzero().squeeze(1)
            numbers, places = ([some[row] for row in kept.tolist()] for some in (numbers, places))
            streams = [streams[row] for row in kept.tolist()]
            said, total, done = said[kept], total[kept], done[kept]
            state, words = state.select(kept, kept), vocabulary.select(kept)


def draw(scores: Tensor, params: SamplingParams, chance: Tensor) -> Tensor:
    """A column of each row of `scores` (R, U), log P up to a constant: where the sum of P passes `chance` (R).

    Summed in the order of the columns and in float64, so that rounding hardly moves the places where it passes.
    """
    scores = scores.double() / params.temperature
    if 0 < params.top_k < scores.size(1):
        least = scores.topk(params.top_k, dim=1).values[:, -1:]
        scores = scores.masked_fill(scores < least, -torch.inf)
    p = scores.softmax(1)
    if params.top_p < 1:
        ordered = p.sort(dim=1, descending=True).values
        before = ordered.cumsum(1) - ordered  # the mass of what is likelier
        least = ordered.masked_fill(before >= params.top_p, torch.inf).amin(1, keepdim=True)
        p = p.masked_fill(p < least, 0.0)
    sums = p.cumsum(1)
    return torch.searchsorted(sums, chance[:, None] * sums[:, -1:], right=True).squeeze(1)


def _streams(src: Tensor, samples: int, seed: int) -> list[random.Random]:
    """Where each sample's numbers come from, (B · samples): a sample may be long, so they are drawn step by step."""
    sources = [[token for token in source if token != PAD] for source in src.tolist()]
    return [
        random.Random(hashlib.sha256(repr((seed, ids, number)).encode()).digest())
        for ids in sources
        for number in range(samples)
    ]


def _chances(streams: Sequence[random.Random], device: torch.device) -> Tensor:
    """The next number in [0, 1) of each."""
    numbers = [stream.getrandbits(24) / 2**24 for stream in streams]  # below 1 in any product
    return torch.tensor(numbers, dtype=torch.float64, device=device)
