"""Recurrent layers: x_1 … x_T and a state → h_1 … h_T and the state after them, one direction.

    LSTM (Hochreiter and Schmidhuber 1997, forget gate of Gers et al. 2000), with b_f = 1 at the start:
        i, f, o = σ(W x + U h + b)     g = tanh(W x + U h + b)     c' = f ⊙ c + i ⊙ g     h' = o ⊙ tanh(c')

    GRU (Bahdanau et al. 2015, appendix A.1.1): the reset gate is inside the product, unlike in torch.nn.GRU:
        z, r = σ(W x + U h + b)     h~ = tanh(W x + U (r ⊙ h) + b)     h' = (1 − z) ⊙ h + z ⊙ h~

Sums over time are in the type of the weights, whatever the autocast, because rounding would add up.
"""

import warnings
from contextlib import nullcontext
from typing import Literal

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

# What a layer carries from one position to the next: (h, c) of an LSTM, (h,) of a GRU.
Carry = tuple[Tensor, ...]


class Affine(nn.Module):
    """W x + b in the type of the weights; `nn.Linear` would be converted to bfloat16 in decoding."""

    bias: nn.Parameter | None

    def __init__(self, inputs: int, outputs: int, bias: bool = True) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(outputs, inputs))
        nn.init.xavier_uniform_(self.weight)
        self.register_parameter("bias", nn.Parameter(torch.zeros(outputs)) if bias else None)

    def forward(self, x: Float[Tensor, "*any _"]) -> Float[Tensor, "*any _"]:
        return F.linear(x, self.weight, self.bias)


class Recurrence(nn.Module):
    """An LSTM or GRU layer of one direction; the rows of `w_x` and `w_h` are its gates, i f g o or z r h~."""

    def __init__(self, inputs: int, hidden: int, cell: Literal["lstm", "gru"]) -> None:
        super().__init__()
        self.hidden, self.is_lstm = hidden, cell == "lstm"
        gates = 4 if self.is_lstm else 3
        self.w_x = nn.Parameter(torch.empty(gates * hidden, inputs))
        self.w_h = nn.Parameter(torch.empty(gates * hidden, hidden))
        self.bias = nn.Parameter(torch.zeros(gates * hidden))
        for of_input, of_state in zip(self.w_x.detach().chunk(gates), self.w_h.detach().chunk(gates), strict=True):
            nn.init.xavier_uniform_(of_input)
            nn.init.orthogonal_(of_state)
        if self.is_lstm:
            nn.init.ones_(self.bias.detach()[hidden : 2 * hidden])

    def empty(self, rows: int) -> Carry:
        """The carry before the first position: zeros."""
        return (self.w_h.new_zeros(rows, self.hidden),) * (2 if self.is_lstm else 1)

    def gates(self, x: Float[Tensor, "*any I"]) -> Float[Tensor, "*any G"]:
        """W x + b, where `x` may be the first part of the input only; the rest is then given to `step`."""
        return F.linear(x, self.w_x[:, : x.size(-1)], self.bias)

    def step(self, gates: Float[Tensor, "R G"], rest: Float[Tensor, "R _"] | None, carry: Carry) -> Carry:
        """One position: its `gates`, the `rest` of its input, the carry of the position before."""
        if rest is not None:
            gates = torch.addmm(gates, rest, self.w_x[:, -rest.size(1) :].t())
        return self._lstm_step(gates, carry) if self.is_lstm else self._gru_step(gates, carry)

    def forward(self, x: Float[Tensor, "R T I"], carry: Carry) -> tuple[Float[Tensor, "R T Z"], Carry]:
        """All positions in their order."""
        if self.is_lstm:
            h, c = (part.contiguous()[None] for part in carry)
            weights = [self.w_x, self.w_h, self.bias, torch.zeros_like(self.bias)]
            # cuDNN copies weights that are not in one piece of memory, which costs little, and warns of it.
            with warnings.catch_warnings() if x.is_cuda else nullcontext():
                if x.is_cuda:
                    warnings.filterwarnings("ignore", message="RNN module weights are not part of single")
                y, h, c = torch.lstm(x, (h, c), weights, True, 1, 0.0, self.training, False, True)
            return y, (h[0], c[0])
        outputs = []
        for gates in self.gates(x).unbind(1):
            carry = self._gru_step(gates, carry)
            outputs.append(carry[0])
        return torch.stack(outputs, dim=1), carry

    def _lstm_step(self, gates: Tensor, carry: Carry) -> Carry:
        h, c = carry
        i, f, g, o = torch.addmm(gates, h, self.w_h.t()).chunk(4, dim=1)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        return o.sigmoid() * c.tanh(), c

    def _gru_step(self, gates: Tensor, carry: Carry) -> Carry:
        (h,) = carry
        two = 2 * self.hidden
        z, r = torch.addmm(gates[:, :two], h, self.w_h[:two].t()).sigmoid().chunk(2, dim=1)
        candidate = torch.addmm(gates[:, two:], r * h, self.w_h[two:].t()).tanh()
        return (torch.lerp(h, candidate, z),)
