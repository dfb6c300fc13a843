"""What is watched on held-out text: the loss, the best value so far, and when to give up."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Literal, Self

import torch
from torch import Tensor, nn

from dragoman.data.batch import Batch
from dragoman.model.attention import padding_mask
from dragoman.model.transformer import Transformer
from dragoman.text.tokenizer import PAD
from dragoman.training.loss import projected_loss


@dataclass(frozen=True)
class TranslationScores:
    """Scores of real translations of the validation set, and one of them to look at."""

    bleu: float
    chrf: float
    source: str
    translation: str
    reference: str


@dataclass(frozen=True)
class Watch:
    """The best value of what is watched, and how many validations have passed without a better one."""

    kind: Literal["loss", "bleu", "chrf"]
    best: float | None = None
    best_step: int = 0
    waited: int = 0

    def better(self, value: float) -> bool:
        """Whether `value` beats the best so far."""
        if self.best is None:
            return not math.isnan(value)
        return value < self.best if self.kind == "loss" else value > self.best

    def after(self, value: float, step: int) -> Self:
        """This watch once `value` has been measured at `step`."""
        if self.better(value):
            return replace(self, best=value, best_step=step, waited=0)
        return replace(self, waited=self.waited + 1)

    def state_dict(self) -> dict[str, object]:
        """For a checkpoint."""
        return asdict(self)


@torch.inference_mode()
def validation_loss(model: Transformer, batches: Sequence[Batch], device: torch.device) -> float:
    """Mean negative log-likelihood of a target token, in nats, without label smoothing; `model` in eval mode."""
    total, tokens = 0.0, 0
    for batch in batches:
        total += float(batch_loss(model, batch.to(device), smoothing=0.0))
        tokens += batch.target_tokens
    return total / tokens


class SummedLoss(nn.Module):
    """The summed loss of a model as a module: what several processes share out, hooks and all."""

    def __init__(self, model: Transformer, smoothing: float, r_drop: float = 0.0) -> None:
        super().__init__()
        self.model, self.smoothing, self.r_drop = model, smoothing, r_drop

    def forward(self, src: Tensor, tgt_in: Tensor, tgt_out: Tensor) -> Tensor:
        """The loss of a batch; with `r_drop` that of R-Drop, Liang et al. (2021), Eq. (4), halved.

        ½ (CE₁ + CE₂) + α/4 (KL(p₁ ‖ p₂) + KL(p₂ ‖ p₁)), where 1 and 2 are two passes that dropout makes differ.
        """
        if not self.r_drop:
            return batch_loss(self.model, Batch(src, tgt_in, tgt_out, ()), self.smoothing)
        twice = Batch(src.repeat(2, 1), tgt_in.repeat(2, 1), tgt_out.repeat(2, 1), ())
        features, gold = features_and_gold(self.model, twice)
        return projected_loss(features, self.model.projection, gold, self.smoothing, self.r_drop) / 2


def batch_loss(model: Transformer, batch: Batch, smoothing: float) -> Tensor:
    """The summed loss of a batch; padded positions are never projected onto the vocabulary."""
    features, gold = features_and_gold(model, batch)
    return projected_loss(features, model.projection, gold, smoothing)


def features_and_gold(model: Transformer, batch: Batch) -> tuple[Tensor, Tensor]:
    """The decoder's output (N, D) where something is to be said, and what (N,)."""
    state = model.encode(batch.src, padding_mask(batch.src, PAD))
    features, _ = model.decode_features(batch.tgt_in, state)
    said = batch.tgt_out != PAD
    return features[said], batch.tgt_out[said]
