"""The balance of experts, Shazeer et al. 2017, section 4 and appendix A, in an objective that is a sum over tokens.

    L_importance = w_importance CV(Importance)²     Importance_i = Σ_x G(x)_i            Eq. (6), (7)
    L_load       = w_load CV(Load)²                 Load_i       = Σ_x P(x, i)           Eq. (10), (11)

Both are functions of totals over all tokens of an update: their value depends on what is added up, and a batch alone
does not know it. But their gradient is that of a sum over tokens,

    ∂ CV(I)² = Σ_x Σ_i c_i ∂G(x)_i     c_i = ∂CV(I)² / ∂I_i = 2 n / (Σ I)² · (I_i − Σ I² / Σ I)

with numbers c that are the same for all tokens. They are taken from the totals of the update before, which are known
when an update starts; those of the first are 0 (decision 0054). As Σ_i c_i I_i = 0, the term adds next to nothing to
the loss that is reported.
"""

from collections.abc import Iterator, Sequence

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from dragoman.config import AnyModel, MoeConfig
from dragoman.model.parts.moe import Routing


def slopes(totals: Float[Tensor, "*any X"]) -> Float[Tensor, "*any X"]:
    """∂CV(I)² / ∂I_i; 0 where all totals are 0.

    CV(I)² is the squared coefficient of variation, (standard deviation / mean)² = n Σ I² / (Σ I)² − 1.
    """
    total, squares = totals.sum(-1, keepdim=True), totals.square().sum(-1, keepdim=True)
    return torch.where(total > 0, 2 * totals.size(-1) * (totals - squares / total) / total.square(), 0.0)


class Balance:
    """The coefficients of a model's layers with experts for the next update; of none for other networks."""

    def __init__(self, config: AnyModel) -> None:
        self.shape, self.weights = (0, 2, 0), torch.zeros(2, 1, dtype=torch.float64)
        if isinstance(config, MoeConfig):
            self.shape = (sum(_layers_with_experts(config)), 2, config.experts)
            self.weights = torch.tensor([[config.w_importance], [config.w_load]], dtype=torch.float64)
        self.coefficients = [0.0] * (self.shape[0] * self.shape[1] * self.shape[2])
        self.uneven: float | None = None
        """The largest total of an expert over the mean, in the most uneven layer, of the load or without noise of the
        importance; 1 is even. None before the first update."""

    def after(self, totals: Sequence[float], target_tokens: int) -> None:
        """Set the coefficients by the totals of an update of all processes.

        The objective is divided by the target tokens, so that the coefficients are multiplied by them.
        """
        by_layer = torch.tensor(totals, dtype=torch.float64).view(self.shape)
        self.coefficients = (target_tokens * self.weights * slopes(by_layer)).flatten().tolist()
        importance, load = by_layer.unbind(1)
        shown = load if load.any() else importance
        self.uneven = float((shown.amax(-1) / shown.mean(-1)).max())


def balance_loss(
    config: AnyModel,
    seen: Sequence[Routing],
    coefficients: Sequence[float],
    is_source: Bool[Tensor, "B S"],
    is_target: Bool[Tensor, "B T"],
) -> tuple[Float[Tensor, ""], Float[Tensor, "_"]]:
    """Σ_x Σ_i c_i G(x)_i and the same of P, over the tokens and layers of a batch; and the totals, padding left out."""
    if not isinstance(config, MoeConfig):
        return torch.zeros((), device=is_target.device), torch.zeros(0)
    totals = torch.stack(list(_totals(config, seen, is_source, is_target)))
    c = torch.tensor(coefficients, dtype=totals.dtype, device=totals.device)
    return c @ totals.flatten(), totals.detach().flatten()


def _totals(config: MoeConfig, seen: Sequence[Routing], is_source: Tensor, is_target: Tensor) -> Iterator[Tensor]:
    encoder, decoder = _layers_with_experts(config)
    for routing, is_token in zip(seen, [is_source] * encoder + [is_target] * decoder, strict=True):
        yield torch.stack([routing.gates[is_token].sum(0), routing.load[is_token].sum(0)])


def _layers_with_experts(config: MoeConfig) -> tuple[int, int]:
    """How many layers of the encoder and of the decoder have experts."""
    return config.encoder_layers // config.every, config.decoder_layers // config.every
