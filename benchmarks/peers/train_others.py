"""The peers of `train/speed.py` for other architectures: JoeyNMT's RNN, and ConvS2S in plain PyTorch.

Each function takes the shape, the batches and a precision, and returns a model, a step and the batches in its form, as
those of `train_worker.py`. Each model takes our weights (`load_ours`), so that equal work is shown by equal losses.
"""

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils.parametrizations import weight_norm

Weights = dict[str, Tensor]
ROOT_HALF = math.sqrt(0.5)


@dataclass(frozen=True)
class OtherShape:
    """The size of a recurrent or convolutional model; `encoder` is the width of the recurrent encoder's output."""

    encoder_layers: int
    decoder_layers: int
    d_model: int
    encoder: int
    dropout: float


def joeynmt_config(shape: OtherShape) -> dict[str, Any]:
    """Bidirectional LSTM layers, LSTM decoder with Luong's general attention and input feeding, shared embeddings."""
    embeddings = {"embedding_dim": shape.d_model, "scale": True, "dropout": shape.dropout}
    stack = {"type": "recurrent", "rnn_type": "lstm", "embeddings": embeddings, "dropout": shape.dropout}
    encoder = {"num_layers": shape.encoder_layers, "hidden_size": shape.encoder // 2, "bidirectional": True}
    decoder = {"num_layers": shape.decoder_layers, "hidden_size": shape.d_model, "hidden_dropout": shape.dropout}
    decoder |= {"attention": "luong", "input_feeding": True, "init_hidden": "bridge"}
    return {"tied_embeddings": True, "tied_softmax": True, "encoder": stack | encoder, "decoder": stack | decoder}


@torch.no_grad()
def load_into_joeynmt(model: Any, ours: Weights) -> None:
    """Our weights in JoeyNMT's model: its second biases are 0, and both start the decoder at 0 (`bridge` weights 0)."""
    model.src_embed.lut.weight.copy_(ours["target_embedding.weight"])
    for layer in range(model.encoder.rnn.num_layers):
        for direction, suffix in (("forwards", ""), ("backwards", "_reverse")):
            _lstm(model.encoder.rnn, f"l{layer}{suffix}", ours, f"encoder.layers.{layer}.{direction}")
    for layer in range(model.decoder.rnn.num_layers):
        _lstm(model.decoder.rnn, f"l{layer}", ours, f"decoder.layers.{layer}")
    model.decoder.attention.key_layer.weight.copy_(ours["decoder.cross_attention.w_q.weight"].T)
    context = model.encoder.output_size
    w_c = ours["decoder.w_c.weight"]  # ours is of [c; h], theirs of [h; c]
    model.decoder.att_vector_layer.weight.copy_(torch.cat((w_c[:, context:], w_c[:, :context]), dim=1))
    model.decoder.att_vector_layer.bias.zero_()
    model.decoder.bridge_layer.weight.zero_()
    model.decoder.bridge_layer.bias.zero_()


def _lstm(module: nn.Module, suffix: str, ours: Weights, name: str) -> None:
    for theirs, mine in (("weight_ih", "w_x"), ("weight_hh", "w_h"), ("bias_ih", "bias")):
        getattr(module, f"{theirs}_{suffix}").copy_(ours[f"{name}.{mine}"])
    getattr(module, f"bias_hh_{suffix}").zero_()


class Halved(torch.autograd.Function):
    """x, whose gradient is multiplied by a factor: fairseq's scaling of the encoder's gradient."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, factor: float) -> Tensor:
        """The same numbers."""
        ctx.factor = factor
        return x.new(x)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        """The scaled gradient of `x`."""
        return grads[0] * ctx.factor, None


class Conv1d(nn.Module):
    """A convolution with weight normalisation per output channel, on (B, T, C)."""

    def __init__(self, d: int, kernel: int) -> None:
        super().__init__()
        self.conv = weight_norm(nn.Conv1d(d, 2 * d, kernel), "weight", dim=0)

    def forward(self, x: Tensor, left: int, right: int) -> Tensor:
        """Padded by zeros on both sides."""
        return self.conv(F.pad(x.transpose(1, 2), (left, right))).transpose(1, 2)


def linear(inputs: int, outputs: int) -> nn.Module:
    """A linear map with weight normalisation."""
    return weight_norm(nn.Linear(inputs, outputs), "weight", dim=0)


class PlainConvS2S(nn.Module):
    """Gehring et al. 2017 as fairseq computes it, in PyTorch's own modules; embeddings and projection are shared."""

    def __init__(self, shape: OtherShape, vocab: int, pad: int, kernel: int = 3, positions: int = 1024) -> None:
        super().__init__()
        d = f = shape.d_model
        self.pad, self.rate, self.kernel = pad, shape.dropout, kernel
        self.embedding = nn.Embedding(vocab, f)
        nn.init.normal_(self.embedding.weight, std=0.1)
        self.src_positions, self.tgt_positions = nn.Embedding(positions, f), nn.Embedding(positions, f)
        self.enc_in, self.enc_out, self.dec_in, self.dec_out = (linear(f, d) for _ in range(4))
        self.enc = nn.ModuleList(Conv1d(d, kernel) for _ in range(shape.encoder_layers))
        self.dec = nn.ModuleList(Conv1d(d, kernel) for _ in range(shape.decoder_layers))
        self.att_in = nn.ModuleList(linear(d, f) for _ in range(shape.decoder_layers))
        self.att_out = nn.ModuleList(linear(f, d) for _ in range(shape.decoder_layers))
        self.output_bias = nn.Parameter(torch.zeros(vocab))

    def dropped(self, x: Tensor) -> Tensor:
        """Dropout."""
        return F.dropout(x, self.rate, self.training)

    def embed(self, ids: Tensor, positions: nn.Embedding) -> Tensor:
        """e_j = w_j + p_j."""
        return self.dropped(self.embedding(ids) + positions.weight[: ids.size(1)])

    def encode(self, src: Tensor, padding: Tensor) -> tuple[Tensor, Tensor]:
        """Keys z and values √½ (z + e)."""
        e = self.embed(src, self.src_positions)
        x = self.enc_in(e)
        for layer in self.enc:
            side = (self.kernel - 1) // 2
            y = self.dropped(x.masked_fill(padding[..., None], 0))
            x = (F.glu(layer(y, side, side), dim=2) + x) * ROOT_HALF
        z = self.enc_out(x).masked_fill(padding[..., None], 0)
        z = Halved.apply(z, 1 / (2 * len(self.dec)))
        return z, (z + e) * ROOT_HALF

    def forward(self, src: Tensor, tgt_in: Tensor) -> Tensor:
        """Logits."""
        padding = src == self.pad
        keys, values = self.encode(src, padding)
        lengths = (~padding).sum(1).to(keys.dtype)[:, None, None]
        g = self.embed(tgt_in, self.tgt_positions)
        x = self.dec_in(g)
        for conv, att_in, att_out in zip(self.dec, self.att_in, self.att_out, strict=True):
            h = F.glu(conv(self.dropped(x), self.kernel - 1, 0), dim=2)
            scores = torch.bmm((att_in(h) + g) * ROOT_HALF, keys.transpose(1, 2))
            a = scores.masked_fill(padding[:, None], -math.inf).softmax(dim=2)
            c = torch.bmm(a, values) * (lengths * lengths.rsqrt())
            x = ((att_out(c) + h) * ROOT_HALF + x) * ROOT_HALF
        return F.linear(self.dropped(self.dec_out(x)), self.embedding.weight, self.output_bias)

    @torch.no_grad()
    def load_ours(self, ours: Weights) -> None:
        """Our weights: V and g of each map, rows of [x_1 … x_k] as a kernel."""
        self.embedding.weight.copy_(ours["target_embedding.weight"])
        self.src_positions.weight.copy_(ours["source_embedding.positions"])
        self.tgt_positions.weight.copy_(ours["target_embedding.positions"])
        self.output_bias.copy_(ours["projection_bias"])
        maps = {"encoder.w_in": self.enc_in, "encoder.w_out": self.enc_out}
        maps |= {"decoder_in": self.dec_in, "decoder_out": self.dec_out}
        for number in range(len(self.dec)):
            maps[f"decoder.{number}.cross_attention.w_d"] = self.att_in[number]
            maps[f"decoder.{number}.cross_attention.w_c"] = self.att_out[number]
        maps |= {f"encoder.layers.{number}.w": conv for number, conv in enumerate(self.enc)}
        maps |= {f"decoder.{number}.convolution.w": conv for number, conv in enumerate(self.dec)}
        for name, module in maps.items():
            v, g, bias = (ours[f"{name}.{part}"] for part in ("v", "g", "bias"))
            weight = F.normalize(v, dim=1) * g[:, None]
            owner = getattr(module, "conv", module)
            if isinstance(module, Conv1d):
                weight = weight.unflatten(1, (self.kernel, -1)).transpose(1, 2)
            owner.weight = weight  # of a parametrised weight: g and V are set from it
            owner.bias.copy_(bias)
