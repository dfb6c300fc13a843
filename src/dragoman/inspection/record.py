"""What passes through a model, watched from outside: the quantities of sections 3.1–3.5, by the name of their module.

    with record(model) as seen:
        model(src, src_mask, tgt)
    seen["decoder.5.cross_attention"].weights

Hooks stand on the modules only within the `with`: a model that nobody watches computes nothing more. Where the fused
kernel keeps a step to itself (scores, weights), it is computed again from the same queries and keys.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from dragoman.model.attention import MultiHeadAttention, attention_weights
from dragoman.model.embedding import Embedding, positional_encoding
from dragoman.model.layers import AddNorm, FeedForward, GatedFeedForward
from dragoman.model.transformer import Transformer


@dataclass(frozen=True)
class EmbeddingSeen:
    """Sections 3.4 and 3.5: E[token] · √d_model + PE(pos)."""

    ids: Int[Tensor, "B T"]
    scaled: Float[Tensor, "B T D"]
    """E[token] · √d_model."""
    positions: Float[Tensor, "T D"]
    """PE(pos); zeros where attention itself knows of positions."""
    output: Float[Tensor, "B T D"]


@dataclass(frozen=True)
class AttentionSeen:
    """Sections 3.2.1 and 3.2.2, every head at once. Queries and keys are as they meet: turned, where rotary."""

    q: Float[Tensor, "B H T K"]
    k: Float[Tensor, "B H S K"]
    v: Float[Tensor, "B H S W"]
    mask: Bool[Tensor, "#B 1 #T S"]
    """True: may be seen."""
    heads: Float[Tensor, "B H T W"]
    """head_i, as the fused kernel computed it."""
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
        """Q Kᵀ / √d_k, −∞ where nothing may be seen."""
        return self.scaled.masked_fill(~self.mask, -math.inf)

    @cached_property
    def weights(self) -> Float[Tensor, "B H T S"]:
        """softmax(Q Kᵀ / √d_k)."""
        return attention_weights(self.q, self.k, self.mask)


@dataclass(frozen=True)
class FeedForwardSeen:
    """Section 3.3."""

    inner: Float[Tensor, "B T F"]
    """x W_1 + b_1."""
    active: Float[Tensor, "B T F"]
    """max(0, x W_1 + b_1), or Swish(x W_1) ⊙ x W_3."""
    output: Float[Tensor, "B T D"]


@dataclass(frozen=True)
class AddNormSeen:
    """Section 3.1: a residual connection around a sub-layer, with its norm before (Pre-LN) or after (Post-LN)."""

    x: Float[Tensor, "B T D"]
    """The residual stream before."""
    added: Float[Tensor, "B T D"]
    """Sublayer(…): what is added to it."""
    unnormed: Float[Tensor, "B T D"]
    """What the norm was given."""
    normed: Float[Tensor, "B T D"]
    """What the norm made of it."""
    output: Float[Tensor, "B T D"]
    """The residual stream after."""


Sight = EmbeddingSeen | AttentionSeen | FeedForwardSeen | AddNormSeen | Tensor


class Seen(Mapping[str, Any]):
    """By module name, what passed through it last; `every` tells of all times.

    Names: `source_embedding`, `target_embedding`, `encoder.L`, `encoder.L.self_attention`, `encoder.L.feed_forward`,
    `encoder.L.add_norm.I`, `encoder_norm` (the memory), and for the decoder too, with `decoder.L.cross_attention` and
    `decoder_norm` (what is projected onto the vocabulary).
    """

    def __init__(self) -> None:
        self._sights: dict[str, list[Sight]] = {}

    def __getitem__(self, name: str) -> Any:
        return self._sights[name][-1]

    def __iter__(self) -> Iterator[str]:
        return iter(self._sights)

    def __len__(self) -> int:
        return len(self._sights)

    def every(self, name: str) -> tuple[Any, ...]:
        """What passed through the module, time by time: in a search, step by step."""
        return tuple(self._sights[name])

    def _add(self, name: str, sight: Sight) -> None:
        self._sights.setdefault(name, []).append(sight)


@contextmanager
def record(model: Transformer) -> Iterator[Seen]:
    """Within, everything that passes through `model`, in training as in a search. Tensors keep their gradients."""
    seen = Seen()
    with ExitStack() as hooks:
        for name, module in model.named_modules():
            for handle in _watch(module, _adder(seen, name)):
                hooks.callback(handle.remove)
        for name in ("encoder_norm", "decoder_norm"):
            handle = model.get_submodule(name).register_forward_hook(_output(_adder(seen, name)))
            hooks.callback(handle.remove)
        for stack in ("encoder", "decoder"):
            for number, layer in enumerate(model.get_submodule(stack).children()):
                add = _adder(seen, f"{stack}.{number}")
                hooks.callback(layer.register_forward_hook(_output(add)).remove)
        yield seen


Add = Callable[[Sight], None]
Handle = torch.utils.hooks.RemovableHandle


def _adder(seen: Seen, name: str) -> Add:
    return lambda sight: seen._add(name, sight)


def _output(add: Callable[[Any], None]) -> Callable[..., None]:
    return lambda _module, _args, output: add(output[0] if isinstance(output, tuple) else output)


def _watch(module: nn.Module, add: Add) -> list[Handle]:
    """Hooks on a module of the paper; none on others."""
    if isinstance(module, Embedding):
        return [_watch_embedding(module, add)]
    if isinstance(module, MultiHeadAttention):
        return _watch_attention(module, add)
    if isinstance(module, FeedForward | GatedFeedForward):
        return _watch_feed_forward(module, add)
    if isinstance(module, AddNorm):
        return _watch_add_norm(module, add)
    return []


def _watch_embedding(module: Embedding, add: Add) -> Handle:
    def look(_: nn.Module, args: tuple[Any, ...], output: Tensor) -> None:
        ids, start = args[0], args[1] if len(args) > 1 else 0
        positions = positional_encoding(start, ids.size(1), output.size(-1)).to(output)
        scaled = F.embedding(ids, module.weight) * module.scale
        add(EmbeddingSeen(ids, scaled, positions if module.sinusoidal else torch.zeros_like(positions), output))

    return module.register_forward_hook(look)


def _watch_attention(module: MultiHeadAttention, add: Add) -> list[Handle]:
    heads: list[Callable[..., AttentionSeen]] = []

    def look_at_heads(_: nn.Module, args: tuple[Any, ...], output: Tensor) -> None:
        q, k, v, mask = args
        if mask is None:
            mask = torch.ones(1, 1, 1, k.size(2), dtype=torch.bool, device=k.device)
        # Of a search's room for more positions only what is written; and that is written into no more.
        heads.append(partial(AttentionSeen, q, k.clone(), v.clone(), mask, output))

    def look(_: nn.Module, args: tuple[Tensor], output: Tensor) -> None:
        add(heads.pop()(args[0], output))

    return [module.attend.register_forward_hook(look_at_heads), module.w_o.register_forward_hook(look)]


def _watch_feed_forward(module: FeedForward | GatedFeedForward, add: Add) -> list[Handle]:
    inner: list[Tensor] = []

    def look(_: nn.Module, args: tuple[Tensor], output: Tensor) -> None:
        add(FeedForwardSeen(inner.pop(), args[0], output))

    return [module.w_1.register_forward_hook(_output(inner.append)), module.w_2.register_forward_hook(look)]


def _watch_add_norm(module: AddNorm, add: Add) -> list[Handle]:
    norms: list[tuple[Tensor, Tensor]] = []
    added: list[Tensor] = []

    def look_at_norm(_: nn.Module, args: tuple[Tensor], output: Tensor) -> None:
        norms.append((args[0], output))

    def look(_: nn.Module, args: tuple[Any, ...], output: Tensor) -> None:
        add(AddNormSeen(args[0], added.pop(), *norms.pop(), output=output))

    return [
        module.norm.register_forward_hook(look_at_norm),
        module.dropout.register_forward_hook(_output(added.append)),
        module.register_forward_hook(look),
    ]
