"""An exponential moving average of the weights, kept next to those being trained (Polyak and Juditsky 1992)."""

import torch
from jaxtyping import Float
from torch import Tensor, nn


class MovingAverage:
    """θ̄ ← d θ̄ + (1 − d) θ after each step t, with d at most (1 + t) / (10 + t), to forget the beginning."""

    def __init__(self, model: nn.Module, decay: float) -> None:
        self.model, self.decay = model, decay
        self.weights: dict[str, Tensor] = {name: p.detach().clone() for name, p in model.named_parameters()}

    def decay_at(self, step: int) -> float:
        """What the average keeps of itself after `step`, counted from 1."""
        return min(self.decay, (1 + step) / (10 + step))

    @torch.no_grad()
    def update(self, step: int) -> None:
        """Add the model's weights after `step` to the average."""
        decay = self.decay_at(step)
        for mean, parameter in zip(self.weights.values(), self.model.parameters(), strict=True):
            mean.lerp_(parameter.detach(), 1 - decay)

    @torch.no_grad()
    def blend(self, share: Float[Tensor, ""]) -> None:
        """`update` with 1 − d on the device, in a few operations whatever the number of tensors."""
        means = list(self.weights.values())
        apart = torch._foreach_sub([parameter.detach() for parameter in self.model.parameters()], means)
        torch._foreach_mul_(apart, share)
        torch._foreach_add_(means, apart)

    @torch.no_grad()
    def restart(self) -> None:
        """Set the average to the model's current weights."""
        for mean, parameter in zip(self.weights.values(), self.model.parameters(), strict=True):
            mean.copy_(parameter.detach())
