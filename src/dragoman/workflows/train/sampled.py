"""Risk training: a batch of pairs → the same with sampled translations of each source and what they cost.

The samples are drawn by our own search from the weights of the moment. They depend on the seed of the run, the step and
their source alone: a resumed run draws the same ones, and so does an update that is divided in another way.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import torch
from torch import Tensor

from dragoman.config import RiskConfig
from dragoman.data.batches.batch import Batch, pad
from dragoman.decode.constraints import Constraints
from dragoman.decode.ensemble import Ensemble
from dragoman.decode.sampling import SamplingParams, sample
from dragoman.model.parts.network import EncoderDecoder
from dragoman.text.tokens.tokenizer import EOS, PAD, Tokenizer

Tokens = tuple[int, ...]
# GLEU counts n-grams up to this size (Wu et al. 2016).
LONGEST = 4


def limit_for(reference_length: int) -> int:
    """Longer samples than this, half more than the reference, cost time and earn nothing."""
    return reference_length * 3 // 2 + 10


class RiskSampler:
    """Completes the batches of a run with `train.objective = "risk"`."""

    def __init__(self, risk: RiskConfig, tokenizer: Tokenizer, seed: int, device: torch.device) -> None:
        self.risk, self.tokenizer, self.seed, self.device = risk, tokenizer, seed, device

    def __call__(self, model: EncoderDecoder, batch: Batch, step: int) -> Batch:
        """`batch` with `more`: samples as input and output of the decoder, (B, K, T), and their costs, (B, K)."""
        forced = self._forced(batch)
        references = [tuple(t for t in row if t not in (PAD, EOS)) for row in batch.tgt_out.tolist()]
        limits = [limit_for(len(reference)) for reference in references]
        drawn = self._draw(model, batch, forced, limits, step)
        groups = [
            self._group(samples, reference, limit)
            for samples, reference, limit in zip(drawn, references, limits, strict=True)
        ]
        return replace(batch, more=self._tensors(groups, references, forced))

    def _forced(self, batch: Batch) -> list[list[int]]:
        """BOS and the language tokens of each target."""
        counts = (batch.tgt_out != PAD).int().argmax(1).tolist()
        return [row[: count + 1] for row, count in zip(batch.tgt_in.tolist(), counts, strict=True)]

    def _draw(
        self, model: EncoderDecoder, batch: Batch, forced: list[list[int]], limits: Sequence[int], step: int
    ) -> list[list[Tokens]]:
        seed = int.from_bytes(hashlib.sha256(f"{self.seed}/{step}".encode()).digest()[:4])
        training = model.training
        model.eval()
        groups = sample(
            Ensemble([model]),
            batch.src.to(self.device),
            Constraints(limits),
            samples=self.risk.samples,
            params=SamplingParams(),
            seed=seed,
            alpha=0.0,
            start=torch.tensor(forced, device=self.device),
        )
        model.train(training)
        return [[hypothesis.tokens for hypothesis in samples] for samples in groups]

    def _group(self, samples: Sequence[Tokens], reference: Tokens, limit: int) -> list[Tokens]:
        """The samples of a source, each ending in EOS unless it was cut at its limit."""
        ended = [tokens if len(tokens) >= limit else (*tokens, EOS) for tokens in samples]
        if self.risk.form == "reinforce":
            return ended
        return list(dict.fromkeys([*([(*reference, EOS)] if self.risk.reference else []), *ended]))

    def _tensors(
        self, groups: Sequence[Sequence[Tokens]], references: Sequence[Tokens], forced: Sequence[list[int]]
    ) -> tuple[Tensor, Tensor, Tensor]:
        width = max(map(len, groups))
        inputs, outputs, costs = [], [], []
        for group, reference, start in zip(groups, references, forced, strict=True):
            rest = width - len(group)
            inputs += [[*start, *tokens[:-1]] for tokens in group] + [start] * rest
            outputs += [[*[PAD] * (len(start) - 1), *tokens] for tokens in group] + [[]] * rest
            costs.append([-value for value in self._rewards(group, reference)] + [0.0] * rest)
        longest = max(map(len, inputs))
        shape = (len(groups), width, longest)
        return pad(inputs, longest).view(shape), pad(outputs, longest).view(shape), torch.tensor(costs)

    def _rewards(self, group: Sequence[Tokens], reference: Tokens) -> list[float]:
        if self.risk.reward == "gleu":
            return [gleu(tokens, (*reference, EOS)) for tokens in group]
        reward = TEXT_REWARDS[self.risk.reward]
        *texts, original = self.tokenizer.decode([*group, reference], "target")
        return [reward(text, original) for text in texts]


# --- what a sample is worth, from 0 to 1, sentence by sentence ------------------------------------------------------


def gleu(sample: Sequence[int], reference: Sequence[int]) -> float:
    """The share of common n-grams of 1 to 4 pieces: the lower of precision and recall (Wu et al. 2016)."""
    ours, theirs = _ngrams(tuple(sample)), _ngrams(tuple(reference))
    return (ours & theirs).total() / max(ours.total(), theirs.total(), 1)


@cache
def _metrics() -> tuple[Any, Any]:
    from sacrebleu.metrics.bleu import BLEU
    from sacrebleu.metrics.chrf import CHRF

    return BLEU(effective_order=True), CHRF()


def bleu_reward(sample: str, reference: str) -> float:
    """sacreBLEU's sentence BLEU, smoothed exponentially, of at most as many n-grams as the sample has."""
    return float(_metrics()[0].sentence_score(sample, [reference]).score) / 100


def chrf_reward(sample: str, reference: str) -> float:
    """sacreBLEU's sentence chrF."""
    return float(_metrics()[1].sentence_score(sample, [reference]).score) / 100


TEXT_REWARDS: dict[str, Callable[[str, str], float]] = {"bleu": bleu_reward, "chrf": chrf_reward}


def _ngrams(ids: Tokens) -> Counter[tuple[int, ...]]:
    sizes = range(1, LONGEST + 1)
    return Counter(ids[at : at + n] for n in sizes for at in range(len(ids) - n + 1))
