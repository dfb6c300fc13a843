"""The quantities of sections 3.1–3.5 inside a model, recorded from outside by forward hooks, by module name.

    with record(model) as recording:
        model(src, src_mask, tgt)
    recording["decoder.5.cross_attention"].weights

The hooks exist only inside the `with`, so that a model that is not recorded computes nothing more. The fused attention
kernel does not return scores and weights: they are computed again from the same queries and keys.
"""

import math
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from dragoman.model.hooks import AttentionCall, watch_attention
from dragoman.model.layers import AddNorm, FeedForward, GatedFeedForward
from dragoman.model.parts.attention import MultiHeadAttention, attention_weights
from dragoman.model.parts.embedding import Embedding, LearnedPositions, positional_encoding
from dragoman.model.transformer import Transformer


@dataclass(frozen=True)
class EmbeddingRecord:
    """Sections 3.4 and 3.5: E[token] · √d_model + PE(pos)."""

    ids: Int[Tensor, "B T"]
    scaled: Float[Tensor, "B T D"]
    """E[token] · √d_model."""
    positions: Float[Tensor, "T D"]
    """PE(pos); zeros in a model with rotary positions."""
    output: Float[Tensor, "B T D"]


@dataclass(frozen=True)
class AttentionRecord:
    """Sections 3.2.1 and 3.2.2, all heads at once. With rotary positions, queries and keys are already rotated."""

    q: Float[Tensor, "B H T K"]
    k: Float[Tensor, "B H S K"]
    v: Float[Tensor, "B H S W"]
    mask: Bool[Tensor, "#B 1 #T S"]
    """True: may be seen."""
    heads: Float[Tensor, "B H T W"]
    """head_i, as computed by the fused kernel."""
    concat: Float[Tensor, "B T HW"]
    output: Float[Tensor, "B T D"]
    """Concat(head_1, …, head_h) W^O."""

    @cached_property
    def products(self) -> Float[Tensor, "B H T S"]:
        """Q Kᵀ."""
        return self.q @ self.k.mT

    @property
    def scaled(self) -> Float[Tensor, "B H T S"]:
        """Q Kᵀ / √d_k."""
        return self.products / math.sqrt(self.q.size(-1))

    @property
    def masked(self) -> Float[Tensor, "B H T S"]:
        """Q Kᵀ / √d_k, −∞ where the mask is False."""
        return self.scaled.masked_fill(~self.mask, -math.inf)

    @cached_property
    def weights(self) -> Float[Tensor, "B H T S"]:
        """softmax(Q Kᵀ / √d_k)."""
        return attention_weights(self.q, self.k, self.mask)


@dataclass(frozen=True)
class FeedForwardRecord:
    """Section 3.3."""

    inner: Float[Tensor, "B T F"]
    """x W_1 + b_1."""
    active: Float[Tensor, "B T F"]
    """max(0, x W_1 + b_1), SiLU(x W_1 + b_1), or Swish(x W_1) ⊙ x W_3."""
    output: Float[Tensor, "B T D"]


@dataclass(frozen=True)
class AddNormRecord:
    """Section 3.1: a residual connection around a sub-layer, with the norm before it (Pre-LN) or after it (Post-LN)."""

    x: Float[Tensor, "B T D"]
    """The residual stream before the sub-layer."""
    added: Float[Tensor, "B T D"]
    """Sublayer(…), which is added to it."""
    unnormed: Float[Tensor, "B T D"]
    """The input of the norm."""
    normed: Float[Tensor, "B T D"]
    """The output of the norm."""
    output: Float[Tensor, "B T D"]
    """The residual stream after the sub-layer."""


Activation = EmbeddingRecord | AttentionRecord | FeedForwardRecord | AddNormRecord | Tensor


Recording = dict[str, Any]
"""Module name → its latest activation.

Names: `source_embedding`, `target_embedding`, `encoder.L`, `encoder.L.self_attention`, `encoder.L.feed_forward`,
`encoder.L.self_attention_norm`, `encoder.L.feed_forward_norm`, `encoder_norm` (the memory); the same for the decoder,
with `decoder.L.cross_attention`, `decoder.L.cross_attention_norm` and `decoder_norm` (the input of the projection onto
the vocabulary).
"""


@contextmanager
def record(model: Transformer) -> Iterator[Recording]:
    """Record every activation of `model` while open, in training as in a search. Tensors keep their gradients."""
    recording: Recording = {}
    with ExitStack() as hooks:
        for name, module in model.named_modules():
            add = partial(recording.__setitem__, name)
            if isinstance(module, MultiHeadAttention):
                hooks.enter_context(_watch_heads(module, add))
            for handle in _watch(name, module, add):
                hooks.enter_context(handle)
        yield recording


Add = Callable[[Activation], None]
Handle = torch.utils.hooks.RemovableHandle
# The layers, and the norms after the last ones.
_STREAM = re.compile(r"(encoder|decoder)(\.\d+|_norm)")


def _output(add: Callable[[Any], None]) -> Callable[..., None]:
    return lambda _module, _args, output: add(output[0] if isinstance(output, tuple) else output)


def _watch(name: str, module: nn.Module, add: Add) -> list[Handle]:
    """Hooks on a module of the paper; none on other modules."""
    if _STREAM.fullmatch(name):
        return [module.register_forward_hook(_output(add))]
    if isinstance(module, Embedding):
        return [_watch_embedding(module, add)]
    if isinstance(module, FeedForward | GatedFeedForward):
        return _watch_feed_forward(module, add)
    if isinstance(module, AddNorm):
        return _watch_add_norm(module, add)
    return []


def _watch_embedding(module: Embedding, add: Add) -> Handle:
    def keep(_: nn.Module, args: tuple[Any, ...], output: Tensor) -> None:
        ids, start = args[0], args[1] if len(args) > 1 else 0
        if isinstance(module, LearnedPositions):
            positions, has_positions = module.vectors(start, ids.size(1)).detach().to(output), True
        else:
            known = positional_encoding(module.first + start, ids.size(1), output.size(-1), module.base)
            positions, has_positions = known.to(output), module.sinusoidal
        scaled = F.embedding(ids, module.weight) * module.scale
        add(EmbeddingRecord(ids, scaled, positions if has_positions else torch.zeros_like(positions), output))

    return module.register_forward_hook(keep)


@contextmanager
def _watch_heads(module: MultiHeadAttention, add: Add) -> Iterator[None]:
    calls: list[AttentionCall] = []

    def keep(_: nn.Module, args: tuple[Tensor], output: Tensor) -> None:
        call = calls.pop()
        mask = call.mask
        if mask is None:
            mask = torch.ones(1, 1, 1, call.k.size(2), dtype=torch.bool, device=call.k.device)
        # In a search, k and v are views of a buffer that later steps write to.
        add(AttentionRecord(call.q, call.k.clone(), call.v.clone(), mask, call.output, args[0], output))

    with module.w_o.register_forward_hook(keep), watch_attention({"": module}, lambda _, call: calls.append(call)):
        yield


def _watch_feed_forward(module: FeedForward | GatedFeedForward, add: Add) -> list[Handle]:
    inner: list[Tensor] = []

    def keep(_: nn.Module, args: tuple[Tensor], output: Tensor) -> None:
        add(FeedForwardRecord(inner.pop(), args[0], output))

    return [module.w_1.register_forward_hook(_output(inner.append)), module.w_2.register_forward_hook(keep)]


def _watch_add_norm(module: AddNorm, add: Add) -> list[Handle]:
    parts = module.norm, module.add.dropout, module.add
    seen: dict[nn.Module, tuple[Tensor, Tensor]] = {}

    def keep(part: nn.Module, args: tuple[Tensor, ...], output: Tensor) -> None:
        seen[part] = args[0], output
        if part is (module.norm if module.post else module.add):  # the last one
            (unnormed, normed), (_, added), (x, total) = map(seen.pop, parts)
            add(AddNormRecord(x, added, unnormed, normed, output=normed if module.post else total))

    return [part.register_forward_hook(keep) for part in parts]
