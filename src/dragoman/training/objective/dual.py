"""Dual supervised learning (Xia et al. 2017): both directions of a pair, tied by log P(x, y) that each implies.

    gap(x, y) = log P^(x) + log P(y | x; θ) − log P^(y) − log P(x | y; θ)            P^: fixed language models
    loss      = −log P(y | x) − log P(x | y) + λ gap²                                summed over pairs, divided once

The paper gives each direction a term of its own with the other one detached; the sum of the two has the gradient of
this one. Both terms are sums over a sentence and are divided by the same number, the tokens of both sides of an update:
a gap grows with the length of its sentence, and a mean loss per token next to λ gap² would vanish. Labels are smoothed
in the likelihood alone.
"""

from jaxtyping import Float, Int
from torch import Tensor, nn

from dragoman.model.parts.network import EncoderDecoder
from dragoman.text.tokens.tokenizer import PAD
from dragoman.training.objective.log_probs import start_of, token_log_probs
from dragoman.training.objective.loss import projected_loss


def squared_gap(
    forwards: Float[Tensor, "B"], backwards: Float[Tensor, "B"], priors: Float[Tensor, "B"]
) -> Float[Tensor, ""]:
    """Σ gap² from log P(y | x), log P(x | y) and log P^(x) − log P^(y)."""
    return (priors + forwards - backwards).square().sum()


class DualLoss(nn.Module):
    """The summed loss of both directions as a module."""

    def __init__(self, model: EncoderDecoder, smoothing: float, weight: float) -> None:
        super().__init__()
        self.model, self.smoothing, self.weight = model, smoothing, weight

    def forward(
        self,
        src: Int[Tensor, "B S"],
        tgt_in: Int[Tensor, "B T"],
        tgt_out: Int[Tensor, "B T"],
        back_src: Int[Tensor, "B S2"],
        back_in: Int[Tensor, "B T2"],
        back_out: Int[Tensor, "B T2"],
        priors: Float[Tensor, "B"],
    ) -> Float[Tensor, ""]:
        """The loss of pairs, which are given in one direction and in the other."""
        there, forwards = self._direction(src, tgt_in, tgt_out)
        back, backwards = self._direction(back_src, back_in, back_out)
        return there + back + self.weight * squared_gap(forwards, backwards, priors)

    def _direction(self, src: Tensor, tgt_in: Tensor, tgt_out: Tensor) -> tuple[Tensor, Tensor]:
        """The summed likelihood loss, and log P of each target."""
        model = self.model
        features, _ = model.decode_features(tgt_in, start_of(model, src))
        is_token = tgt_out != PAD
        x, gold = features[is_token], tgt_out[is_token]
        log_probs = token_log_probs(x, model.projection, model.projection_bias, gold)
        rows = is_token.nonzero()[:, 0]
        of_rows = log_probs.new_zeros(src.size(0)).index_add(0, rows, log_probs)
        if not self.smoothing:
            return -log_probs.sum(), of_rows
        return projected_loss(x, model.projection, gold, self.smoothing, bias=model.projection_bias), of_rows
