"""Rows that hold several pairs of sentences: segments and positions follow from the ids, and from them the masks.

    src      a b EOS  c EOS  PAD        tgt_in   BOS x  BOS y z  PAD
    segment  1 1 1    2 2    0          segment  1   1  2   2 2  0
    place    0 1 2    0 1    2          place    0   1  0   1 2  3

A pair has the same number on both sides. A row of one pair is what a padded batch has. Nothing here depends on the
values in a tensor but its values: shapes and operations are those of any other batch of these rows.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from dragoman.model.parts.attention import look_ahead_mask


@dataclass(frozen=True, slots=True)
class RowLayout:
    """Where the sentences of B rows are: the place of each position in its own, and who may see whom."""

    source_places: Int[Tensor, "B S"]
    target_places: Int[Tensor, "B T"]
    source_mask: Bool[Tensor, "B 1 S S"]
    """A source position sees its sentence."""
    target_mask: Bool[Tensor, "B 1 T T"]
    """A target position sees those of its sentence up to itself."""
    memory_mask: Bool[Tensor, "B 1 T S"]
    """A target position sees the source of its sentence; padding sees all, because a row of a mask is never empty."""


def row_layout(src: Int[Tensor, "B S"], tgt_in: Int[Tensor, "B T"], *, bos: int, eos: int, pad: int) -> RowLayout:
    """The layout of rows whose sources end in `eos` and whose targets begin with `bos`."""
    ends = (src == eos).long()
    begins = (tgt_in == bos).long()
    before = ends.cumsum(1) - ends  # sentences that have ended before a position
    source, target = (before + 1) * (src != pad), begins.cumsum(1) * (tgt_in != pad)
    causal = look_ahead_mask(tgt_in.size(1), tgt_in.size(1), tgt_in.device)
    return RowLayout(
        source_places=_places(torch.cat((torch.ones_like(ends[:, :1]), ends[:, :-1]), dim=1)),
        target_places=_places(begins),
        source_mask=_equal(source, source),
        target_mask=_equal(target, target) & causal,
        memory_mask=_equal(target, source) | (target == 0)[:, None, :, None],
    )


def _places(begins: Int[Tensor, "B T"]) -> Int[Tensor, "B T"]:
    """How far each position is from the last beginning, which is marked by 1."""
    positions = torch.arange(begins.size(1), device=begins.device)
    return positions - (begins * positions).cummax(1).values


def _equal(queries: Int[Tensor, "B T"], keys: Int[Tensor, "B S"]) -> Bool[Tensor, "B 1 T S"]:
    return (queries[:, :, None] == keys[:, None, :])[:, None]
