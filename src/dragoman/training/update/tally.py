"""What updates leave on the device until somebody looks: losses, the last norm, the first update that went wrong."""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor

# The columns of `Tally.values`.
LOSS, NORM, UPDATES, WRONG, WRONG_LOSS, WRONG_NORM = range(6)


@dataclass(frozen=True, slots=True)
class Wrong:
    """An update whose loss or gradient was not finite."""

    update: int
    """Counted from 1 since the last reading."""
    loss: float
    norm: float


@dataclass(frozen=True, slots=True)
class StepTotals:
    """Of the updates since the last reading."""

    loss: float
    """Summed over their tokens."""
    norm: float
    """Of the gradient of the last of them."""
    wrong: Wrong | None


class Tally:
    """Six numbers on `device`: adding to them asks nothing, reading them waits for the device."""

    def __init__(self, device: torch.device) -> None:
        self.values = torch.zeros(6, dtype=torch.float64, device=device)

    def add(self, loss: Float[Tensor, ""], norm: Float[Tensor, ""], is_wrong: Bool[Tensor, ""]) -> None:
        values = self.values
        values[UPDATES].add_(1)
        values[LOSS].add_(loss)
        values[NORM].copy_(norm)
        now = torch.stack((values[UPDATES], loss.to(values.dtype), norm.to(values.dtype)))
        is_first = is_wrong & (values[WRONG] == 0)
        values[WRONG:].copy_(torch.where(is_first, now, values[WRONG:]))

    def read(self) -> StepTotals:
        """What has been added since the last time."""
        loss, norm, _, update, wrong_loss, wrong_norm = self.values.tolist()
        self.values.zero_()
        return StepTotals(loss, norm, Wrong(round(update), wrong_loss, wrong_norm) if update else None)
