"""The decoder's past: keys and values of what was said, each position of each hypothesis kept once.

The hypotheses of a sentence form a tree: they share beginnings and fork. The cache of a sentence holds the nodes of
its tree in the order they were said, and a hypothesis sees those that it descends from (its lineage, a mask). When
hypotheses fork or die only the masks change; keys and values stay where they are.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from dragoman.model.attention import look_ahead_mask

# The seen nodes of each hypothesis; None: all of them, of one chain that has not forked.
Lineage = Bool[Tensor, "B _ _"] | None


class Room:
    """Memory for the nodes of one layer. The first `used` are written and never change; the rest is spare."""

    __slots__ = ("k", "used", "v")

    def __init__(self, k: Float[Tensor, "B H C K"], v: Float[Tensor, "B H C W"], used: int) -> None:
        self.k, self.v, self.used = k, v, used


@dataclass(frozen=True, slots=True)
class Past:
    """The keys and values of one layer: the first `length` nodes in a room that longer pasts may share."""

    room: Room
    length: int

    @classmethod
    def of(cls, k: Float[Tensor, "B H N K"], v: Float[Tensor, "B H N W"]) -> "Past":
        """A past that holds just these."""
        return cls(Room(k, v, k.size(2)), k.size(2))

    @property
    def k(self) -> Float[Tensor, "B H N K"]:
        """The keys."""
        return self.room.k[:, :, : self.length]

    @property
    def v(self) -> Float[Tensor, "B H N W"]:
        """The values."""
        return self.room.v[:, :, : self.length]

    def append(self, k: Float[Tensor, "B H M K"], v: Float[Tensor, "B H M W"]) -> "Past":
        """This past and M more nodes. A value still: what is written in place, no older past can see."""
        if k.requires_grad:
            return Past.of(torch.cat((self.k, k), dim=2), torch.cat((self.v, v), dim=2))
        start, end = self.length, self.length + k.size(2)
        room = self.room
        closed = room.k.is_inference() and not torch.is_inference_mode_enabled()
        if room.used != start or end > room.k.size(2) or closed:  # another past went on from here, or it is full
            room = Room(_roomy(self.k, 2 * end), _roomy(self.v, 2 * end), start)
        room.k[:, :, start:end], room.v[:, :, start:end] = k, v
        room.used = end
        return Past(room, end)

    def select(self, sentences: Int[Tensor, "B2"]) -> "Past":
        """The past of these sentences."""
        return Past.of(self.k[sentences], self.v[sentences])


def _roomy(x: Tensor, capacity: int) -> Tensor:
    """`x` (B, H, N, K) at the beginning of memory for `capacity` nodes; doubled when full, copies cost little."""
    spacious = x.new_empty(x.size(0), x.size(1), capacity, x.size(3))
    spacious[:, :, : x.size(2)] = x
    return spacious


def by_sentence(x: Float[Tensor, "R H T K"], sentences: int) -> Float[Tensor, "B H M K"]:
    """The T positions of all hypotheses of a sentence as its M = (R / B) · T nodes."""
    return x.unflatten(0, (sentences, -1)).transpose(1, 2).flatten(2, 3)


def grow(lineage: Lineage, past: int, width: int, length: int, like: Tensor) -> tuple[Lineage, Tensor | None]:
    """`width` hypotheses go on by `length` positions each: their lineage then, and what the new positions may see.

    The mask is (B or 1, 1, width · length, past + width · length); None lets everything be seen.
    """
    if width == 1 and lineage is None:
        return None, look_ahead_mask(length, past + length, like.device) if length > 1 else None
    if lineage is None:
        lineage = torch.ones(like.size(0), width, past, dtype=torch.bool, device=like.device)
    own = torch.eye(width, dtype=torch.bool, device=like.device)
    grown = torch.cat((lineage, own.repeat_interleave(length, 1).expand(lineage.size(0), -1, -1)), dim=2)
    if length == 1:
        return grown, grown[:, None]
    causal = torch.kron(own, torch.ones(length, length, dtype=torch.bool, device=like.device).tril())
    new = causal.expand(lineage.size(0), -1, -1)
    return grown, torch.cat((lineage.repeat_interleave(length, 1), new), dim=2)[:, None]
