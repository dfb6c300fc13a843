"""Attention watched from outside: each call of Eq. (1) in chosen modules is reported to a function."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TypeVar

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from dragoman.model.parts.attention import attention_weights
from dragoman.model.parts.network import Attending
from dragoman.model.parts.scores import ScoredAttention

Key = TypeVar("Key")


@dataclass(frozen=True, slots=True)
class AttentionCall:
    """The inputs and the output of one call of `ScaledDotProduct`, every head at once."""

    q: Float[Tensor, "B H T K"]
    k: Float[Tensor, "B H S K"]
    v: Float[Tensor, "B H S W"]
    mask: Bool[Tensor, "#B 1 #T S"] | None
    """True: may be seen; None: everything may."""
    output: Float[Tensor, "B H T W"]
    module: nn.Module
    """What was called: `ScaledDotProduct`, or another attention, which then has a method `weights` of its own."""

    @property
    def weights(self) -> Float[Tensor, "B H T S"]:
        """softmax(Q Kᵀ / √d_k) in float32. The fused kernel does not return them, so they are computed again."""
        mask = self.mask
        if isinstance(self.module, ScoredAttention):
            return self.module.weights(self.q.float(), self.k.float(), mask)
        if mask is None:
            mask = torch.ones(1, 1, 1, self.k.size(2), dtype=torch.bool, device=self.k.device)
        return attention_weights(self.q.float(), self.k.float(), mask)


@contextmanager
def watch_attention(
    attentions: Mapping[Key, Attending], report: Callable[[Key, AttentionCall], None]
) -> Iterator[None]:
    """Within the context, `report(key, call)` runs after every call of each attention, in the order of the calls."""

    def hook(key: Key) -> Callable[..., None]:
        def see(module: nn.Module, inputs: tuple[Tensor, Tensor, Tensor, Tensor | None], output: Tensor) -> None:
            report(key, AttentionCall(*inputs, output, module))

        return see

    with ExitStack() as hooks:
        for key, attention in attentions.items():
            hooks.callback(attention.attend.register_forward_hook(hook(key)).remove)
        yield
