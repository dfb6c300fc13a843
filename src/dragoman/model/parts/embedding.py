"""Embeddings scaled by √d_model (section 3.4) plus sinusoidal positions (section 3.5)."""

import math
from functools import cache

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from dragoman.model.parts.device import compute_dtype
from dragoman.model.parts.dropout import Dropout

# Section 3.5: wavelengths form a geometric progression from 2π to 10000 · 2π.
BASE = 10000.0


def positional_encoding(start: int, length: int, d_model: int, base: float = BASE) -> Float[Tensor, "T D"]:
    """PE of positions start … start + length − 1, section 3.5, computed in double precision.

    PE(pos, 2i) = sin(pos / 10000^(2i/d_model)), PE(pos, 2i+1) = cos(pos / 10000^(2i/d_model)). Tensor2tensor's
    frequencies, 10000^(−i / (d_model/2 − 1)), which Marian and M2M-100 use, are those of another `base`.
    """
    positions = torch.arange(start, start + length, dtype=torch.float64)[:, None]
    even = torch.arange(0, d_model, 2, dtype=torch.float64)
    angles = positions / base ** (even / d_model)
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(1)[:, :d_model].to(torch.float32)


@cache  # without end: a recorded step reads the table where it is
def _known_positions(length: int, d_model: int, base: float, device: torch.device) -> Float[Tensor, "T D"]:
    return positional_encoding(0, length, d_model, base).to(device)


class Embedding(nn.Module):
    """Token ids → vectors: dropout(E[token] · √d_model + PE(pos)), sections 3.4, 3.5 and 5.4.

    Without `sinusoidal` no PE is added: positions are encoded in attention. `base` is that of `positional_encoding`,
    `first` the number of a sentence's first position.
    """

    def __init__(
        self, vocab: int, d_model: int, dropout: float, sinusoidal: bool = True, base: float = BASE, first: int = 0
    ) -> None:
        super().__init__()
        self.sinusoidal, self.base, self.first = sinusoidal, base, first
        self.weight = nn.Parameter(torch.empty(vocab, d_model))
        self.dropout = Dropout(dropout)
        self.scale = math.sqrt(d_model)
        # √d_model times this deviation is 1: scaled embeddings start at the magnitude of the positions.
        nn.init.normal_(self.weight, std=d_model**-0.5)

    def forward(
        self, ids: Int[Tensor, "B T"], start: int | Int[Tensor, "#B T"] = 0, most: int = 0
    ) -> Float[Tensor, "B T D"]:
        """Embed `ids`, the first of which is at position `start` of its sentence; or `start` is the position of each.

        A position that is given for each is less than T or, if it may be larger, than `most`.
        """
        x = nn.functional.embedding(ids, self.weight) * self.scale
        if self.sinusoidal:
            begin = self.first + (start if isinstance(start, int) else 0)
            end = begin + max(ids.size(1), most)
            known = _known_positions(1 << (end - 1).bit_length(), self.weight.size(1), self.base, ids.device)
            x = x + (known[begin : begin + ids.size(1)] if isinstance(start, int) else known[begin + start])
        return self.dropout(x.to(compute_dtype(ids.device, x.dtype)))


class LearnedPositions(Embedding):
    """Token ids → dropout(E[token] · √d_model + P[pos]), row (E) of table 3; positions after the last share its vector.

    Without `scaled` it is e_j = w_j + p_j of ConvS2S (Gehring et al. 2017, section 3.1), both from N(0, 0.1).
    """

    def __init__(self, vocab: int, d_model: int, dropout: float, positions: int, scaled: bool = True) -> None:
        super().__init__(vocab, d_model, dropout, sinusoidal=False)
        self.positions = nn.Parameter(torch.empty(positions, d_model))
        nn.init.normal_(self.positions, std=d_model**-0.5 if scaled else 0.1)
        if not scaled:
            self.scale = 1.0
            nn.init.normal_(self.weight, std=0.1)

    def vectors(self, start: int | Int[Tensor, "#B T"], length: int) -> Float[Tensor, "*any T D"]:
        """P of positions start … start + length − 1, or of each position that `start` has."""
        if isinstance(start, int):
            start = torch.arange(start, start + length, device=self.positions.device)
        return self.positions[start.clamp(max=self.positions.size(0) - 1)]

    def forward(
        self, ids: Int[Tensor, "B T"], start: int | Int[Tensor, "#B T"] = 0, most: int = 0
    ) -> Float[Tensor, "B T D"]:
        x = nn.functional.embedding(ids, self.weight) * self.scale + self.vectors(start, ids.size(1))
        return self.dropout(x.to(compute_dtype(ids.device, x.dtype)))
