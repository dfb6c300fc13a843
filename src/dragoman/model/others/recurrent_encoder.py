"""The recurrent encoder: embedded source → annotations h_1 … h_S and the last state of every layer.

Padding is at the end of a sentence and changes nothing: a layer that reads backwards starts at the sentence's own
last token.
"""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from dragoman.config import RnnConfig
from dragoman.model.others.recurrence import Carry, Recurrence
from dragoman.model.parts.dropout import Dropout

# GNMT (Wu et al. 2016, Figure 1): the third layer from the bottom is the first with a residual connection.
FIRST_RESIDUAL = 2


def reversed_within(x: Float[Tensor, "B S D"], lengths: Int[Tensor, "B"]) -> Float[Tensor, "B S D"]:
    """The first `lengths` positions of each sentence in reverse order, the padding where it is."""
    positions = torch.arange(x.size(1), device=x.device).expand(x.size(0), -1)
    backwards = lengths[:, None] - 1 - positions
    index = torch.where(backwards >= 0, backwards, positions)
    return x.gather(1, index[..., None].expand_as(x))


class RecurrentEncoderLayer(nn.Module):
    """A layer that reads in one direction or in both, each with half of the width."""

    def __init__(self, inputs: int, config: RnnConfig, number: int) -> None:
        super().__init__()
        both = config.directions == "both" or (config.directions == "first" and number == 0)
        width = config.encoder_hidden // 2 if both else config.encoder_hidden
        backwards = both or config.directions == "backward"
        self.forwards = Recurrence(inputs, width, config.cell) if both or not backwards else None
        self.backwards = Recurrence(inputs, width, config.cell) if backwards else None
        self.residual = config.residual and number >= FIRST_RESIDUAL
        self.whole_carry = config.start == "copy"
        self.dropout = Dropout(config.dropout)

    def forward(
        self, x: Float[Tensor, "B S D"], lengths: Int[Tensor, "B"]
    ) -> tuple[Float[Tensor, "B S Z"], list[Carry]]:
        """The layer's output, and the last state of each of its directions."""
        outputs, lasts = [], []
        if self.forwards is not None:
            y, last = self._read(self.forwards, x, lengths)
            outputs.append(y)
            lasts.append(last)
        if self.backwards is not None:
            y, last = self._read(self.backwards, reversed_within(x, lengths), lengths)
            outputs.append(reversed_within(y, lengths))
            lasts.append(last)
        y = self.dropout(torch.cat(outputs, dim=-1))
        return x + y if self.residual else y, lasts

    def _read(self, layer: Recurrence, x: Tensor, lengths: Tensor) -> tuple[Tensor, Carry]:
        """The output and the last state; of an LSTM its c too only where the decoder copies it."""
        if self.whole_carry and layer.is_lstm:
            return _packed(layer, x, lengths)
        y, _ = layer(x, layer.empty(x.size(0)))
        return y, (y[torch.arange(x.size(0), device=x.device), lengths - 1],)


def _packed(layer: Recurrence, x: Tensor, lengths: Tensor) -> tuple[Tensor, Carry]:
    """An LSTM that ends at each sentence's own end, so that the c there is known."""
    packed = pack_padded_sequence(x, lengths.cpu(), batch_first=True, enforce_sorted=False)
    weights = [layer.w_x, layer.w_h, layer.bias, torch.zeros_like(layer.bias)]
    empty = [part[None] for part in layer.empty(x.size(0))]
    y, h, c = torch.lstm(packed.data, packed.batch_sizes, empty, weights, True, 1, 0.0, layer.training, False)
    back = packed.unsorted_indices
    y, _ = pad_packed_sequence(packed._replace(data=y), batch_first=True, total_length=x.size(1))
    return y, (h[0, back], c[0, back])


class RecurrentEncoder(nn.Module):
    """The layers, one over the other."""

    def __init__(self, config: RnnConfig) -> None:
        super().__init__()
        widths = [config.d_model] + [config.encoder_hidden] * (config.encoder_layers - 1)
        self.layers = nn.ModuleList(RecurrentEncoderLayer(width, config, n) for n, width in enumerate(widths))

    def forward(
        self, x: Float[Tensor, "B S D"], mask: Bool[Tensor, "B S"]
    ) -> tuple[Float[Tensor, "B S Z"], list[list[Carry]]]:
        """The annotations, and of each layer the last states of its directions."""
        lengths, lasts = mask.sum(1), []
        for layer in self.layers:
            x, last = layer(x, lengths)
            lasts.append(last)
        return x, lasts
