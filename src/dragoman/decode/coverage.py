"""How much attention each source token got, for the coverage penalty of Wu et al. 2016, Eq. (14)."""

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, cast

import torch
from torch import Tensor, nn

from dragoman.model.attention import attention_weights
from dragoman.model.layers import DecoderLayer
from dragoman.model.transformer import Transformer


class Attention:
    """p_ij of the last step: what each hypothesis's newest token sees of each source token."""

    def __init__(self) -> None:
        self._seen: list[Tensor] = []

    def take(self) -> Tensor:
        """(R, S), the mean over heads, and over models, since last taken."""
        mean = torch.stack(self._seen).mean(0)
        self._seen.clear()
        return mean

    def _watch(self, module: nn.Module, args: tuple[Any, ...]) -> None:
        q, k, _, mask = args
        self._seen.append(attention_weights(q.float(), k.float(), mask).mean(1).flatten(0, 1))


@contextmanager
def watched(models: Iterable[Transformer], beta: float) -> Iterator[Attention | None]:
    """The attention of the last decoder layer to the source, watched from outside; None if it costs nothing."""
    if beta == 0:
        yield None
        return
    attention = Attention()
    with ExitStack() as stack:
        for model in models:
            attend = cast("DecoderLayer", model.decoder[-1]).cross_attention.attend
            stack.enter_context(attend.register_forward_pre_hook(attention._watch))
        yield attention


def coverage_penalty(coverage: Tensor, source: Tensor, beta: float) -> Tensor:
    """cp(X; Y) = β Σ_i log(min(Σ_j p_ij, 1)) of each row of `coverage` (R, S); `source` (R, S): not padding."""
    least = torch.finfo(coverage.dtype).tiny  # attention is above 0, but for rounding
    return beta * coverage.clamp(least, 1.0).log().masked_fill(~source, 0.0).sum(-1)
