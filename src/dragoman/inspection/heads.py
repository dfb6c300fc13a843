"""What each attention head does with a sentence: its entropy, and four roles defined by formulas.

w(i, j) is the weight from query position i (of T) to key position j (of S). In encoder-decoder attention the two
count in different texts: i is the target token being predicted, j the source token. Voita et al. (2019) describe heads
that attend to neighbours in every sentence, and heads that align source and target.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from dragoman.inspection.inspection import Inspection
from dragoman.inspection.record import AttentionRecord


@dataclass(frozen=True, slots=True)
class HeadRole:
    """One head of one attention. Shares and means are from 0 to 1; None if the sentence is too short."""

    where: str
    """The module's name: `encoder.0.self_attention`, `decoder.5.cross_attention`."""
    head: int
    entropy: float
    """H = −Σ_j w(i, j) ln w(i, j) in nats, the mean over i."""
    normalised_entropy: float | None
    """H(i) / ln n(i), the mean over those i that may see n(i) > 1 positions: 1 if all weights are equal."""
    previous: float | None
    """The mean of w(i, i − 1)."""
    same: float
    """The mean of w(i, i)."""
    positional: float
    """The largest mean of w(i, i + o) over i, among the offsets o on long enough diagonals: those with
    2 · |{i: 0 ≤ i + o < S}| ≥ min(T, S)."""
    offset: int
    """The offset o of that mean: −1 is the previous position, 1 the next."""
    alignment: float | None
    """For encoder-decoder attention: the share of target tokens whose `strongest` source position is also the one
    whose erasure costs most (`attribution.erasure`). None for self-attention, or if no erasure was given."""


def roles(inspection: Inspection, erasure: Tensor | None = None) -> tuple[HeadRole, ...]:
    """The roles of all heads, encoder first, layer by layer; `erasure` is (T, S), from `attribution.erasure`."""
    heads: list[HeadRole] = []
    for where, record in inspection.recording.items():
        if isinstance(record, AttentionRecord):
            heads += attention_roles(where, record, erasure if where.endswith("cross_attention") else None)
    return tuple(sorted(heads, key=lambda role: (not role.where.startswith("encoder"), int(role.where.split(".")[1]))))


def strongest(weights: Tensor) -> Tensor:
    """(…, T, S) → (…, T − 1): the source position with the largest value for each target token.

    EOS is left out on both sides: it is no word, and heads with nothing to attend to put their weight there.
    """
    return weights[..., :-1, :-1].argmax(-1)


def attention_roles(where: str, record: AttentionRecord, erasure: Tensor | None) -> list[HeadRole]:
    """The roles of the heads of one attention."""
    weights = record.weights[0].float()
    entropy = torch.special.entr(weights).sum(-1)
    visible = record.mask[0, 0].expand(*weights.shape[1:]).sum(-1)
    choice = visible > 1  # ln 1 = 0: of one visible position the entropy says nothing
    normalised = (entropy[:, choice] / visible[choice].log()).mean(-1) if choice.any() else None
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
            _per_head(normalised, len(weights)),
            _per_head(previous, len(weights)),
            weights.diagonal(0, 1, 2).mean(-1).tolist(),
            positional.tolist(),
            offsets,
            _per_head(aligned, len(weights)),
            strict=True,
        )
    ]


def _per_head(values: Tensor | None, heads: int) -> Sequence[float | None]:
    return [None] * heads if values is None else values.tolist()


def _best_offset(weights: Tensor) -> tuple[Tensor, list[int]]:
    """For each head of (H, T, S), the largest mean along a diagonal and the offset of that diagonal."""
    _, queries, keys = weights.shape
    shortest = math.ceil(min(queries, keys) / 2)
    offsets = range(shortest - queries, keys - shortest + 1)
    means = torch.stack([weights.diagonal(offset, 1, 2).mean(-1) for offset in offsets])
    best = means.max(0)
    return best.values, [offsets[index] for index in best.indices.tolist()]
