"""The decoder's past: keys and values of the target positions decoded so far, each position stored once.

The hypotheses of a sentence form a tree: they share prefixes and fork. A node of the tree is one token of one or more
hypotheses. The cache of a sentence holds the keys and values of its nodes in the order they were decoded, and a mask,
the lineage, says which nodes each hypothesis consists of. When hypotheses fork or end, only the lineage changes; keys
and values stay where they are (decision 0002).

    nodes      0: a   1: b   2: c   3: d          a ── b ── d
    lineage    [1,    1,     0,     1]  a b d      └── c
               [1,    0,     1,     0]  a c
"""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from dragoman.model.parts.attention import look_ahead_mask

# Which of the N nodes each of the M hypotheses of a sentence consists of; None: of all, a single unforked hypothesis.
Lineage = Bool[Tensor, "B M N"] | None


class KVBuffer:
    """Memory for C nodes of one layer. The first `used` are written and never change; the rest is spare."""

    __slots__ = ("k", "used", "v")

    def __init__(self, k: Float[Tensor, "B H C K"], v: Float[Tensor, "B H C W"], used: int) -> None:
        self.k, self.v, self.used = k, v, used


@dataclass(frozen=True, slots=True)
class Past:
    """The keys and values of one layer: the first `length` nodes of a buffer, which longer pasts may share."""

    buffer: KVBuffer
    length: int

    @classmethod
    def of(cls, k: Float[Tensor, "B H N K"], v: Float[Tensor, "B H N W"]) -> "Past":
        """A past of exactly these nodes."""
        return cls(KVBuffer(k, v, k.size(2)), k.size(2))

    @property
    def k(self) -> Float[Tensor, "B H N K"]:
        return self.buffer.k[:, :, : self.length]

    @property
    def v(self) -> Float[Tensor, "B H N W"]:
        return self.buffer.v[:, :, : self.length]

    def append(self, k: Float[Tensor, "B H Q K"], v: Float[Tensor, "B H Q W"]) -> "Past":
        """A past with Q more nodes; this one does not change. Spare memory of the buffer is used in place."""
        if k.requires_grad:
            return Past.of(torch.cat((self.k, k), dim=2), torch.cat((self.v, v), dim=2))
        start, end = self.length, self.length + k.size(2)
        buffer = self.buffer
        frozen = buffer.k.is_inference() and not torch.is_inference_mode_enabled()
        if buffer.used != start or end > buffer.k.size(2) or frozen:  # another past has used the memory, or it is full
            buffer = KVBuffer(_with_capacity(self.k, 2 * end), _with_capacity(self.v, 2 * end), start)
        buffer.k[:, :, start:end], buffer.v[:, :, start:end] = k, v
        buffer.used = end
        return Past(buffer, end)

    def select(self, sentences: Int[Tensor, "B2"]) -> "Past":
        return Past.of(self.k[sentences], self.v[sentences])


@dataclass(frozen=True, slots=True)
class FixedPast:
    """The past of one layer in memory for N nodes that stays where it is: a recorded step writes to it and reads it.

    Which nodes have been written, and which a hypothesis may see, is up to a mask.
    """

    k: Float[Tensor, "B H N K"]
    v: Float[Tensor, "B H N W"]
    nodes: Int[Tensor, "Q"]
    """Where the next nodes are written."""

    def append(self, k: Float[Tensor, "B H Q K"], v: Float[Tensor, "B H Q W"]) -> "FixedPast":
        """Write Q nodes in place."""
        self.k.index_copy_(2, self.nodes, k)
        self.v.index_copy_(2, self.nodes, v)
        return self


def write_first(target: Tensor, source: Tensor) -> None:
    """Write `source` to the first elements of `target` along every dimension."""
    target[tuple(map(slice, source.shape))].copy_(source)


def _with_capacity(x: Float[Tensor, "B H N K"], capacity: int) -> Float[Tensor, "B H C K"]:
    """`x` at the beginning of memory for `capacity` nodes. Doubling keeps the cost of copying constant per node."""
    larger = x.new_empty(x.size(0), x.size(1), capacity, x.size(3))
    larger[:, :, : x.size(2)] = x
    return larger


def by_sentence(x: Float[Tensor, "R H T K"], sentences: int) -> Float[Tensor, "B H Q K"]:
    """The T positions of each of a sentence's M = R / B hypotheses as Q = M · T nodes of the sentence."""
    return x.unflatten(0, (sentences, -1)).transpose(1, 2).flatten(2, 3)


def extend_lineage(
    lineage: Lineage, past_length: int, width: int, length: int, memory_mask: Bool[Tensor, "B 1 #S S"]
) -> Bool[Tensor, "B M N2"] | None:
    """The lineage after each of `width` hypotheses per sentence has been extended by `length` nodes of its own."""
    if width == 1 and lineage is None:
        return None
    sentences, device = memory_mask.size(0), memory_mask.device
    if lineage is None:
        lineage = torch.ones(sentences, width, past_length, dtype=torch.bool, device=device)
    new_nodes = torch.eye(width, dtype=torch.bool, device=device).repeat_interleave(length, 1)
    return torch.cat((lineage, new_nodes.expand(sentences, -1, -1)), dim=2)


def step_mask(lineage: Lineage, past_length: int, length: int, device: torch.device) -> Bool[Tensor, "#B 1 Q N"] | None:
    """Which nodes each of the last `length` positions of every hypothesis may see: its lineage up to itself.

    `lineage` includes the new positions. None lets everything be seen.
    """
    if lineage is None:
        return look_ahead_mask(length, past_length + length, device) if length > 1 else None
    if length == 1:
        return lineage[:, None]
    same_hypothesis = torch.eye(lineage.size(1), dtype=torch.bool, device=device)
    causal = torch.kron(same_hypothesis, torch.ones(length, length, dtype=torch.bool, device=device).tril())
    before = lineage[..., :past_length].repeat_interleave(length, 1)
    return torch.cat((before, causal.expand(lineage.size(0), -1, -1)), dim=2)[:, None]
