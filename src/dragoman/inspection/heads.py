"""What each attention head does with a sentence: how spread it is, and four roles by formulas.

w(i, j) is the weight that position i of those that ask (T) gives to position j of those that are asked (S). In an
encoder-decoder attention the two are counted in different texts: i is the token being said, j the source token.
Compare the heads of Voita et al. 2019, which point at neighbours whatever the sentence, and those that align.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from dragoman.inspection.look import Inspection
from dragoman.inspection.record import AttentionSeen


@dataclass(frozen=True, slots=True)
class HeadRole:
    """One head of one attention. Shares and means are from 0 to 1; None where the sentence is too short to tell."""

    where: str
    """As `encoder.0.self_attention`, `decoder.5.cross_attention`."""
    head: int
    entropy: float
    """H = −Σ_j w(i, j) ln w(i, j) in nats, the mean over i."""
    normalised_entropy: float | None
    """H(i) / ln n(i), the mean over those i that may see n(i) > 1 positions: 1 if all are seen alike."""
    previous: float | None
    """The mean of w(i, i − 1)."""
    same: float
    """The mean of w(i, i)."""
    positional: float
    """The largest mean of w(i, i + o) over i, among all offsets o that at least half as many i have as may have
    any: those with 2 · |{i: 0 ≤ i + o < S}| ≥ min(T, S)."""
    offset: int
    """That o; −1 is the previous position, 1 the next."""
    alignment: float | None
    """Of an encoder-decoder attention: the share of the tokens said whose `strongest` source position is also the one
    without which they lose most (`attribution.erasure`). None of a self-attention, or where no erasure was given."""


def roles(inspection: Inspection, erasure: Tensor | None = None) -> tuple[HeadRole, ...]:
    """The roles of all heads: encoder, then decoder, layer by layer; `erasure` is (T, S), of `attribution.erasure`."""
    found: list[HeadRole] = []
    for where, seen in inspection.seen.items():
        if isinstance(seen, AttentionSeen):
            crossing = where.endswith("cross_attention")
            found += _roles_of(where, seen, erasure if crossing else None)
    return tuple(sorted(found, key=lambda role: (not role.where.startswith("encoder"), _layer(role.where))))


def _layer(where: str) -> int:
    return int(where.split(".")[1])


def strongest(weights: Tensor) -> Tensor:
    """(…, T, S) → (…, T − 1): the source position that each token said has the most of.

    The end marks of both sides are left out: no word, and where attention rests that has nothing to look at.
    """
    return weights[..., :-1, :-1].argmax(-1)


def _roles_of(where: str, seen: AttentionSeen, erasure: Tensor | None) -> list[HeadRole]:
    """The heads of one attention."""
    weights = seen.weights[0].float()
    entropy = torch.special.entr(weights).sum(-1)
    visible = seen.mask[0, 0].expand(*weights.shape[1:]).sum(-1)
    several = visible > 1
    normalised = (entropy[:, several] / visible[several].log()).mean(-1) if several.any() else None
    previous = weights.diagonal(-1, 1, 2).mean(-1) if weights.size(1) > 1 else None
    positional, offsets = _best_offset(weights)
    aligned = None
    if erasure is not None and len(erasure) > 1:
        aligned = (strongest(weights) == strongest(erasure)).float().mean(-1)
    return [
        HeadRole(where, head, *values)
        for head, *values in zip(
            range(len(weights)),
            entropy.mean(-1).tolist(),
            _each(normalised, len(weights)),
            _each(previous, len(weights)),
            weights.diagonal(0, 1, 2).mean(-1).tolist(),
            positional.tolist(),
            offsets,
            _each(aligned, len(weights)),
            strict=True,
        )
    ]


def _each(values: Tensor | None, heads: int) -> Sequence[float | None]:
    return [None] * heads if values is None else values.tolist()


def _best_offset(weights: Tensor) -> tuple[Tensor, list[int]]:
    """For each head of (H, T, S) the largest mean along a diagonal, and which."""
    _, asking, asked = weights.shape
    least = math.ceil(min(asking, asked) / 2)
    offsets = range(least - asking, asked - least + 1)
    means = torch.stack([weights.diagonal(offset, 1, 2).mean(-1) for offset in offsets])
    best = means.max(0)
    return best.values, [offsets[place] for place in best.indices.tolist()]
