"""Ancestral sampling: translations drawn from the model's distribution, or from a sharper one.

A sample depends only on the seed, the source and the sample's index, not on the rest of the batch.
"""

import hashlib
import random
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Float64, Int
from torch import Tensor

from dragoman.decode.constraints import Constraints
from dragoman.decode.ensemble import Ensemble
from dragoman.decode.hypothesis import Hypothesis, length_penalty
from dragoman.decode.search import COMPACT_AT
from dragoman.decode.vocabulary import CandidateVocabulary
from dragoman.model.parts.attention import padding_mask
from dragoman.text.tokens.tokenizer import BOS, EOS, PAD


@dataclass(frozen=True, slots=True)
class SamplingParams:
    """The distribution drawn from: P^(1/temperature), limited to `top_k` tokens and to `top_p` of the probability."""

    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0


@torch.inference_mode()
def sample(
    models: Ensemble,
    src: Int[Tensor, "B S"],
    constraints: Constraints,
    *,
    samples: int,
    params: SamplingParams,
    seed: int,
    alpha: float,
    vocabulary: CandidateVocabulary = CandidateVocabulary(),  # noqa: B008 - frozen
    start: Int[Tensor, "B P"] | None = None,
) -> list[list[Hypothesis]]:
    """`samples` translations of each sentence of `src`, in the order drawn; log P is the model's own.

    `start` is that of `beam_search`.
    """
    generators = _generators(src, samples, seed)
    rows = torch.arange(src.size(0), device=src.device).repeat_interleave(samples)
    # Every sample is a sentence of its own to the model: it does not fork, so its past needs no lineage mask.
    state = models.encode(src, padding_mask(src, PAD)).select(rows, rows)
    vocabulary, projections = vocabulary.select(rows), models.projections(vocabulary)
    sentences, indices = rows.tolist(), list(range(len(rows)))  # of each row: its sentence, its sample
    generated = torch.full((len(rows), 1), BOS, device=src.device)
    latest = generated if start is None else start[rows]
    total, done = torch.zeros(len(rows), device=src.device), torch.zeros_like(rows, dtype=torch.bool)
    finished: dict[int, Hypothesis] = {}
    while True:
        log_probs, state = models.decode(latest, state, projections, vocabulary.disallowed)
        log_probs = constraints.mask_logits_(log_probs, generated[:, 1:], sentences, vocabulary)
        columns = draw(log_probs, params, _uniform(generators, src.device))
        total = total + log_probs.gather(1, columns[:, None]).squeeze(1)
        tokens = vocabulary.tokens(columns)
        ended = ((tokens == EOS) & ~done).nonzero().squeeze(1)
        divisor = length_penalty(generated.size(1), alpha)  # BOS is counted in place of EOS
        ends = zip(ended.tolist(), generated[ended, 1:].tolist(), total[ended].tolist(), strict=True)
        for row, ids, log_prob in ends:
            finished[indices[row]] = Hypothesis(tuple(ids), log_prob, log_prob / divisor)
        if len(finished) == len(rows):
            return [[finished[first + n] for n in range(samples)] for first in range(0, len(rows), samples)]
        done[ended] = True
        generated = torch.cat((generated, tokens[:, None]), dim=1)
        if len(rows) - len(finished) <= (1 - COMPACT_AT) * len(indices):
            remaining = (~done).nonzero().squeeze(1)
            sentences, indices = ([values[row] for row in remaining.tolist()] for values in (sentences, indices))
            generators = [generators[row] for row in remaining.tolist()]
            generated, total, done = generated[remaining], total[remaining], done[remaining]
            state, vocabulary = state.select(remaining, remaining), vocabulary.select(remaining)
        latest = generated[:, -1:]


def draw(scores: Float[Tensor, "R U"], params: SamplingParams, uniform: Float64[Tensor, "R"]) -> Int[Tensor, "R"]:
    """A column of each row of `scores`, which are log P up to a constant: where the sum of P passes `uniform`.

    The sum runs in the order of the columns and in float64, so that rounding hardly changes the choice.
    """
    scores = scores.double() / params.temperature
    if 0 < params.top_k < scores.size(1):
        least = scores.topk(params.top_k, dim=1).values[:, -1:]
        scores = scores.masked_fill(scores < least, -torch.inf)
    p = scores.softmax(1)
    if params.top_p < 1:
        ordered = p.sort(dim=1, descending=True).values
        before = ordered.cumsum(1) - ordered  # the probability of all likelier tokens
        least = ordered.masked_fill(before >= params.top_p, torch.inf).amin(1, keepdim=True)
        p = p.masked_fill(p < least, 0.0)
    sums = p.cumsum(1)
    return torch.searchsorted(sums, uniform[:, None] * sums[:, -1:], right=True).squeeze(1)


def _generators(src: Int[Tensor, "B S"], samples: int, seed: int) -> list[random.Random]:
    """The random numbers of each sample, B × samples, drawn step by step because a sample may be long."""
    sources = [[token for token in source if token != PAD] for source in src.tolist()]
    return [
        random.Random(hashlib.sha256(repr((seed, ids, number)).encode()).digest())
        for ids in sources
        for number in range(samples)
    ]


def _uniform(generators: Sequence[random.Random], device: torch.device) -> Float64[Tensor, "R"]:
    """The next number in [0, 1) of each generator."""
    numbers = [generator.getrandbits(24) / 2**24 for generator in generators]  # below 1 in any product
    return torch.tensor(numbers, dtype=torch.float64, device=device)
