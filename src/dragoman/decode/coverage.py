"""How much attention each source token has received, for the coverage penalty of Wu et al. 2016, Eq. (14)."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from dragoman.decode.attention import require_attention
from dragoman.model.hooks import AttentionCall, watch_attention
from dragoman.model.parts.network import EncoderDecoder


class StepAttention:
    """p_ij of the last step: how much each hypothesis's newest token attends to each source token."""

    def __init__(self) -> None:
        self._weights: list[Tensor] = []

    def take(self) -> Float[Tensor, "R S"]:
        """The mean over heads and models since the previous `take`."""
        mean = torch.stack(self._weights).mean(0)
        self._weights.clear()
        return mean

    def add(self, _: int, call: AttentionCall) -> None:
        """Record one model's attention, with a call's (B, R / B) rows as R."""
        self._weights.append(call.weights.mean(1).flatten(0, 1))


@contextmanager
def cross_attention(models: Iterable[EncoderDecoder], beta: float) -> Iterator[StepAttention | None]:
    """The cross-attention of each model's last decoder layer while a search runs; None where `beta` is 0."""
    if beta == 0:
        yield None
        return
    attention = StepAttention()
    layers = [require_attention(model, "decode.coverage_penalty")[-1] for model in models]
    with watch_attention(dict(enumerate(layers)), attention.add):
        yield attention


def coverage_penalty(coverage: Float[Tensor, "R S"], is_token: Bool[Tensor, "R S"], beta: float) -> Float[Tensor, "R"]:
    """cp(X; Y) = β Σ_i log(min(Σ_j p_ij, 1)) over the source positions i that are no padding."""
    least = torch.finfo(coverage.dtype).tiny  # attention is above 0 except for rounding
    return beta * coverage.clamp(least, 1.0).log().masked_fill(~is_token, 0.0).sum(-1)
