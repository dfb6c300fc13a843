"""The training objective: a batch → its loss, summed over target tokens. The update divides once by their count.

The loss function (section 5.4) and its kernel are in `dragoman.training.objective.loss`; here it is applied to a model.
`build_loss` makes the module of `train.objective`, which is this one, `risk` or `dual`.
"""

from collections.abc import Sequence

from jaxtyping import Float, Int
from torch import Tensor, nn

from dragoman.config import TrainConfig
from dragoman.data.batches.batch import Batch
from dragoman.model.parts.attention import padding_mask
from dragoman.model.parts.moe import routings
from dragoman.model.parts.network import EncoderDecoder
from dragoman.text.tokens.tokenizer import PAD
from dragoman.training.objective.balance import balance_loss
from dragoman.training.objective.dual import DualLoss
from dragoman.training.objective.loss import projected_loss
from dragoman.training.objective.risk import RiskLoss


class SummedLoss(nn.Module):
    """A model's summed loss as a module, so that it can be parallelized and hooked as one."""

    def __init__(self, model: EncoderDecoder, smoothing: float, r_drop: float = 0.0) -> None:
        super().__init__()
        self.model, self.smoothing, self.r_drop = model, smoothing, r_drop

    def forward(
        self,
        src: Int[Tensor, "B S"],
        tgt_in: Int[Tensor, "B T"],
        tgt_out: Int[Tensor, "B T"],
        coefficients: Sequence[float] = (),
    ) -> tuple[Float[Tensor, ""], Float[Tensor, "_"]]:
        """The loss of a batch; with `r_drop` = α that of R-Drop, Liang et al. (2021), Eq. (4), halved.

        ½ (CE₁ + CE₂) + α/4 (KL(p₁ ‖ p₂) + KL(p₂ ‖ p₁)), where 1 and 2 are two passes that differ by dropout.

        Of a network with experts the loss has the term of `dragoman.training.objective.balance` with these
        `coefficients`, and the totals of the batch are returned, from which those of the next update are made; of
        others none.
        """
        passes = 2 if self.r_drop else 1
        if self.r_drop:
            src, tgt_in, tgt_out = (side.repeat(2, 1) for side in (src, tgt_in, tgt_out))
        batch = Batch(src, tgt_in, tgt_out, ())
        with routings() as seen:
            features, gold = features_and_gold(self.model, batch)
        projection, bias = self.model.projection, self.model.projection_bias
        loss = projected_loss(features, projection, gold, self.smoothing, self.r_drop, bias)
        masks = (batch.src != PAD, batch.tgt_out != PAD)
        balance, totals = balance_loss(self.model.config, seen, coefficients, *masks)
        return (loss + balance) / passes, totals / passes


class LossWithoutExperts(nn.Module):
    """A loss of networks without experts, with the results of `SummedLoss`: there are no totals."""

    def __init__(self, loss: nn.Module) -> None:
        super().__init__()
        self.loss = loss

    def forward(self, *inputs: Tensor | Sequence[float]) -> tuple[Float[Tensor, ""], Float[Tensor, "_"]]:
        """The loss of the tensors of a batch; the coefficients, which come last, are none."""
        *tensors, _ = inputs
        loss = self.loss(*tensors)
        return loss, loss.new_zeros(0)


def build_loss(model: EncoderDecoder, train: TrainConfig) -> nn.Module:
    """A module from the tensors of a batch, and coefficients of experts, to their summed loss and the totals."""
    if train.objective == "risk":
        return LossWithoutExperts(RiskLoss(model, train.risk))
    if train.objective == "dual":
        return LossWithoutExperts(DualLoss(model, train.label_smoothing, train.dual.weight))
    return SummedLoss(model, train.label_smoothing, train.r_drop)


def batch_loss(model: EncoderDecoder, batch: Batch, smoothing: float) -> Float[Tensor, ""]:
    """The summed loss of a batch. Padded positions are never projected onto the vocabulary."""
    features, gold = features_and_gold(model, batch)
    return projected_loss(features, model.projection, gold, smoothing, bias=model.projection_bias)


def features_and_gold(model: EncoderDecoder, batch: Batch) -> tuple[Float[Tensor, "L D"], Int[Tensor, "L"]]:
    """The decoder's output at the L target positions that are not padding, and the reference token of each."""
    state = model.encode(batch.src, padding_mask(batch.src, PAD))
    features, _ = model.decode_features(batch.tgt_in, state)
    is_token = batch.tgt_out != PAD
    return features[is_token], batch.tgt_out[is_token]
