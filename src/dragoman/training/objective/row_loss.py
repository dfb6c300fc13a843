"""The label-smoothed loss of rows that hold several pairs, summed over target tokens: what a GPU computes.

It is the number of `dragoman.training.objective.objective`, computed without a question to the device: no branch and no
shape depends on a value. Padding is projected too, with weight 0, instead of being looked for.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.func import functional_call

from dragoman.model.parts.device import compute_dtype
from dragoman.model.parts.rows import row_layout
from dragoman.model.transformer import Transformer
from dragoman.text.tokens.tokenizer import BOS, EOS, PAD
from dragoman.training.objective.loss import CHUNK

Chunked = Callable[[Tensor, Tensor, float], tuple[Tensor, Tensor]]


class RowFeatures(nn.Module):
    """A Transformer's output at every target position of a batch of rows."""

    def __init__(self, model: Transformer) -> None:
        super().__init__()
        self.model = model
        linear = [part for layer in model.layers() for part in layer.modules() if isinstance(part, nn.Linear)]
        inside = {id(parameter) for part in linear for parameter in part.parameters() if parameter.requires_grad}
        self.of_layers = [name for name, parameter in self.named_parameters() if id(parameter) in inside]

    def forward(self, src: Int[Tensor, "B S"], tgt_in: Int[Tensor, "B T"]) -> Float[Tensor, "B T D"]:
        layout = row_layout(src, tgt_in, bos=BOS, eos=EOS, pad=PAD)
        state = self.model.encode(src, layout.source_mask, layout)
        return self.model.decode_features(tgt_in, state, layout)[0]

    def rounded(
        self, src: Int[Tensor, "B S"], tgt_in: Int[Tensor, "B T"], dtype: torch.dtype
    ) -> Float[Tensor, "B T D"]:
        """`forward` with the matrices of the layers in `dtype`, which autocast would convert one by one."""
        weights = [self.get_parameter(name) for name in self.of_layers]
        converted = dict(zip(self.of_layers, _Converted.apply(dtype, *weights), strict=True))
        features: Tensor = functional_call(self, converted, (src, tgt_in))
        return features


class _Converted(torch.autograd.Function):
    """Tensors in another type, and their gradients in their own, by a few operations for all of them."""

    @staticmethod
    def forward(ctx: Any, dtype: torch.dtype, *tensors: Tensor) -> tuple[Tensor, ...]:
        ctx.dtypes = [tensor.dtype for tensor in tensors]
        return _converted(tensors, [dtype] * len(tensors))

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        return (None, *_converted(grads, ctx.dtypes))


def _converted(tensors: Sequence[Tensor], dtypes: Sequence[torch.dtype]) -> tuple[Tensor, ...]:
    copies = [torch.empty_like(tensor, dtype=dtype) for tensor, dtype in zip(tensors, dtypes, strict=True)]
    torch._foreach_copy_(copies, list(tensors))
    return tuple(copies)


class RowLoss(nn.Module):
    """A Transformer's summed loss of a batch of rows; `chunk` is how many positions are projected at once."""

    def __init__(self, model: Transformer, smoothing: float, chunk: int = CHUNK["cuda"]) -> None:
        super().__init__()
        self.model, self.smoothing, self.chunk = model, smoothing, chunk
        self.features = RowFeatures(model)
        self.of_logits: Chunked = loss_and_gradient

    def forward(
        self, src: Int[Tensor, "B S"], tgt_in: Int[Tensor, "B T"], tgt_out: Int[Tensor, "B T"]
    ) -> Float[Tensor, ""]:
        model, compute = self.model, compute_dtype(src.device, self.model.projection.dtype)
        is_converted = compute != model.projection.dtype and self.features.of_layers
        features = self.features.rounded(src, tgt_in, compute) if is_converted else self.features(src, tgt_in)
        table = model.projection, model.projection_bias
        how = self.smoothing, self.chunk, self.of_logits, compute
        with torch.autocast(src.device.type, enabled=False):
            loss: Tensor = _LossWithGradient.apply(features.flatten(0, 1), *table, tgt_out.flatten(), *how)
        return loss


def loss_and_gradient(
    logits: Float[Tensor, "L V"], gold: Int[Tensor, "L"], smoothing: float
) -> tuple[Float[Tensor, ""], Float[Tensor, "L V"]]:
    """Σ over tokens of −Σ_v q(v) log p(v), and p − q, its gradient in the logits; of padding both are 0.

    log p is exact however unlikely the gold token is. p − q is computed before it is rounded to the type of `logits`.
    """
    exact = torch.promote_types(logits.dtype, torch.float32)
    everywhere, index = smoothing / logits.size(1), gold[:, None]
    counts = (index != PAD).to(exact)
    log_p = logits.log_softmax(1, dtype=exact)
    at_gold = log_p.gather(1, index)
    loss = -(counts * ((1 - smoothing) * at_gold + smoothing * log_p.mean(1, keepdim=True))).sum()
    difference = (log_p.exp().sub_(everywhere).mul_(counts)).to(logits.dtype)
    gold_difference = (at_gold.exp() - (1 - smoothing + everywhere)) * counts
    return loss, difference.scatter_(1, index, gold_difference.to(logits.dtype))


class _LossWithGradient(torch.autograd.Function):
    """The gradient is computed with the loss, so that logits exist once, `chunk` positions at a time."""

    @staticmethod
    def forward(
        ctx: Any,
        features: Tensor,
        projection: Tensor,
        bias: Tensor | None,
        gold: Tensor,
        smoothing: float,
        chunk: int,
        of_logits: Chunked,
        compute: torch.dtype,
    ) -> Tensor:
        x, table = features.to(compute), projection.to(compute)
        added = None if bias is None else bias.to(compute)
        has_gradient = any(ctx.needs_input_grad)
        d_projection = torch.zeros_like(projection) if ctx.needs_input_grad[1] else None  # None where it is frozen
        d_bias = torch.zeros_like(bias) if bias is not None and has_gradient else None
        loss, d_features = projection.new_zeros(()), []
        for part, golden in zip(x.split(chunk), gold.split(chunk), strict=True):
            summed, d_logits = of_logits(F.linear(part, table, added), golden, smoothing)
            loss += summed
            if not has_gradient:
                continue
            d_features.append(d_logits @ table)
            if d_projection is not None:
                d_projection += d_logits.T @ part
            if d_bias is not None:
                d_bias += d_logits.sum(0, dtype=d_bias.dtype)
        if has_gradient:
            ctx.save_for_backward(torch.cat(d_features).to(features.dtype), d_projection, d_bias)
        return loss

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        scaled = [None if tensor is None else tensor * grads[0] for tensor in ctx.saved_tensors]
        return (*scaled, None, None, None, None, None)
