"""Sparsely gated experts, Shazeer et al. 2017, in the place of a Transformer's feed-forward network.

    y = Σ_i G(x)_i E_i(x)        G(x) = softmax(KeepTopK(H(x), k))                        Eq. (1), (3), (5)
    H(x)_i = (x W_g)_i + N(0, 1) · σ_i        σ_i = softplus((x W_noise)_i)               Eq. (4)
    P(x, i) = Φ(((x W_g)_i − kth_excluding(H(x), k, i)) / σ_i)                            Eq. (8), (9)

N(0, 1) is 0 outside training. P is the probability that expert i is among the k if its own noise is drawn again. W_g
and W_noise start at zero, so that noise alone chooses at first. Every token is computed by its k experts, however many
others want the same ones: what a sentence becomes depends on no other. The gate is computed in the type of its
weights, whatever the autocast, because rounding would choose other experts.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from dragoman.config import MoeConfig
from dragoman.model.parts.dropout import generator_here

# Added to σ by the paper's authors in their code: softplus can underflow to 0.
LEAST_DEVIATION = 0.01

_here = threading.local()


@dataclass(frozen=True, slots=True)
class Routing:
    """What a layer's gate decided for each position."""

    gates: Float[Tensor, "B T X"]
    """G(x), 0 for the experts that do not compute the token."""
    load: Float[Tensor, "B T X"]
    """P(x, i); 0 without noise."""


@contextmanager
def routings() -> Iterator[list[Routing]]:
    """In this context and thread, what every layer with experts decides, in the order of the layers."""
    _here.seen = []
    try:
        yield _here.seen
    finally:
        _here.seen = None


class Experts(nn.Module):
    """The gate and its n experts, which `expert` makes."""

    def __init__(self, config: MoeConfig, expert: Callable[[], nn.Module]) -> None:
        super().__init__()
        self.k = config.active
        self.w_g = nn.Parameter(torch.zeros(config.experts, config.d_model))
        w_noise = nn.Parameter(torch.zeros(config.experts, config.d_model)) if config.noise else None
        self.w_noise: nn.Parameter | None
        self.register_parameter("w_noise", w_noise)
        self.experts = nn.ModuleList(expert() for _ in range(config.experts))

    def forward(self, x: Float[Tensor, "B T D"]) -> Float[Tensor, "B T D"]:
        """Σ_i G(x)_i E_i(x): one product for all positions of an expert."""
        positions = x.reshape(-1, x.size(-1))
        gates, chosen = self._gates(positions, x.shape[:2])
        order = chosen.flatten().argsort(stable=True)
        counts = chosen.flatten().bincount(minlength=len(self.experts)).tolist()
        copies = positions[:, None].expand(-1, self.k, -1).flatten(0, 1)
        # Rows are moved, never added: sums in an order that threads decide would not resume bit for bit.
        outputs = self._outputs(copies.index_select(0, order).split(counts))
        y = torch.cat(outputs).index_select(0, order.argsort()).unflatten(0, (-1, self.k))
        return (gates[..., None].to(y.dtype) * y).sum(1).view_as(x)

    def _outputs(self, parts: tuple[Tensor, ...]) -> list[Tensor]:
        """E_i of the positions that are sent to it; in training of none too, so that its gradient is 0."""
        pairs = zip(self.experts, parts, strict=True)
        return [expert(part[None])[0] for expert, part in pairs if len(part) or torch.is_grad_enabled()]

    def _gates(self, x: Float[Tensor, "J D"], shape: torch.Size) -> tuple[Float[Tensor, "J A"], Int[Tensor, "J A"]]:
        """The k gates of each position that are not 0, and whose they are; reported within `routings`."""
        with torch.autocast(x.device.type, enabled=False):
            x, seen = x.to(self.w_g.dtype), getattr(_here, "seen", None)
            noisy = clean = F.linear(x, self.w_g)
            load = torch.zeros_like(clean)
            if self.w_noise is not None and (self.training or seen is not None):
                deviation = F.softplus(F.linear(x, self.w_noise)) + LEAST_DEVIATION
                noisy = clean + standard_normal(clean) * deviation if self.training else clean
                load = chances(clean, noisy, deviation, self.k)
            ordered, by_size = noisy.sort(dim=-1, descending=True, stable=True)
            gates, chosen = ordered[:, : self.k].softmax(dim=-1), by_size[:, : self.k]
            if seen is not None:
                everyone = torch.zeros_like(clean).scatter(1, chosen, gates)
                seen.append(Routing(everyone.unflatten(0, shape), load.unflatten(0, shape)))
        return gates, chosen


def chances(
    clean: Float[Tensor, "J X"], noisy: Float[Tensor, "J X"], deviation: Float[Tensor, "J X"], k: int
) -> Float[Tensor, "J X"]:
    """P(x, i), Eq. (9), of x W_g, H(x) and σ.

    Without i itself the k-th largest is the (k + 1)-th if i is among the first k, else the k-th.
    """
    kth, next_one = noisy.topk(k + 1).values[:, k - 1 :].split(1, dim=1)
    excluding = torch.where(noisy > next_one, next_one, kth)
    return torch.special.ndtr((clean - excluding) / deviation)


def standard_normal(like: Tensor) -> Tensor:
    """N(0, 1) of this shape; in a thread of its own from the generator of its dropout."""
    if like.device.type != "cpu":
        return torch.randn_like(like)
    return torch.randn(like.shape, dtype=like.dtype, generator=generator_here())
