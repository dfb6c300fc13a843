"""The loss module of `train.objective`."""

from collections.abc import Sequence

from jaxtyping import Float
from torch import Tensor, nn

from dragoman.config import TrainConfig
from dragoman.model.parts.network import EncoderDecoder
from dragoman.training.objective.dual import DualLoss
from dragoman.training.objective.objective import SummedLoss
from dragoman.training.objective.risk import RiskLoss


class WithoutExperts(nn.Module):
    """A loss of networks without experts, with the results of `SummedLoss`: there are no totals."""

    def __init__(self, loss: nn.Module) -> None:
        super().__init__()
        self.loss = loss

    def forward(self, *given: Tensor | Sequence[float]) -> tuple[Float[Tensor, ""], Float[Tensor, "_"]]:
        """The loss of the tensors of a batch; the coefficients, which come last, are none."""
        *tensors, _ = given
        loss = self.loss(*tensors)
        return loss, loss.new_zeros(0)


def build_loss(model: EncoderDecoder, train: TrainConfig) -> nn.Module:
    """A module from the tensors of a batch, and coefficients of experts, to their summed loss and the totals."""
    if train.objective == "risk":
        return WithoutExperts(RiskLoss(model, train.risk))
    if train.objective == "dual":
        return WithoutExperts(DualLoss(model, train.label_smoothing, train.dual.weight))
    return SummedLoss(model, train.label_smoothing, train.r_drop)
