"""log P of whole sentences, with its gradient, in bounded memory: what `risk` and `dual` are functions of.

As in `dragoman.training.objective.loss` the L × V logits never exist at once; here they are computed again in the
backward pass, because the gradient depends on what the sentences' log P is used for.
"""

from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from dragoman.model.parts.attention import padding_mask
from dragoman.model.parts.device import compute_dtype
from dragoman.model.parts.network import EncoderDecoder, State
from dragoman.text.tokens.tokenizer import PAD
from dragoman.training.objective.loss import CHUNK


def sentence_log_probs(
    model: EncoderDecoder,
    state: State,
    tgt_in: Int[Tensor, "R T"],
    tgt_out: Int[Tensor, "R T"],
    never: Sequence[int] = (),
) -> Float[Tensor, "R"]:
    """Σ log P of the tokens of each row that are not padding; the tokens `never` have probability 0."""
    features, _ = model.decode_features(tgt_in, state)
    is_token = tgt_out != PAD
    projected = features[is_token], model.projection, model.projection_bias, tgt_out[is_token]
    log_probs = token_log_probs(*projected, never)
    return (
        torch.zeros(tgt_out.shape, device=tgt_out.device, dtype=log_probs.dtype)
        .masked_scatter(is_token, log_probs)
        .sum(1)
    )


def start_of(model: EncoderDecoder, src: Int[Tensor, "B S"]) -> State:
    """The state before the first target token of each sentence."""
    return model.encode(src, padding_mask(src, PAD))


def token_log_probs(
    features: Float[Tensor, "L D"],
    projection: Float[Tensor, "V D"],
    bias: Float[Tensor, "V"] | None,
    gold: Int[Tensor, "L"],
    never: Sequence[int] = (),
) -> Float[Tensor, "L"]:
    """log softmax(features @ projection.T + bias) at the `gold` tokens."""
    compute = compute_dtype(features.device, projection.dtype)
    with torch.autocast(features.device.type, enabled=False):
        log_probs: Tensor = _TokenLogProbs.apply(features, projection, bias, gold, tuple(never), compute)
    return log_probs


class _TokenLogProbs(torch.autograd.Function):
    """∂ log p(gold) / ∂ logits is 1 at the gold token minus p."""

    @staticmethod
    def forward(
        ctx: Any,
        features: Tensor,
        projection: Tensor,
        bias: Tensor | None,
        gold: Tensor,
        never: tuple[int, ...],
        compute: torch.dtype,
    ) -> Tensor:
        ctx.save_for_backward(features, projection, bias, gold)
        ctx.never, ctx.compute = never, compute
        log_probs = projection.new_empty(gold.shape)
        for part in _parts(features):
            logits = _logits(features[part], projection, bias, never, compute)
            at_gold = logits.gather(1, gold[part, None]).squeeze(1)
            log_probs[part] = (at_gold - logits.logsumexp(1)).to(log_probs.dtype)
        return log_probs

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        features, projection, bias, gold = ctx.saved_tensors
        d_features = torch.empty_like(features)
        d_projection = torch.zeros_like(projection) if ctx.needs_input_grad[1] else None
        d_bias = None if bias is None else torch.zeros_like(bias)
        table = projection.to(ctx.compute)
        for part in _parts(features):
            g = grads[0][part, None]
            d_logits = _logits(features[part], projection, bias, ctx.never, ctx.compute).softmax(1).mul_(-g)
            d_logits.scatter_add_(1, gold[part, None], g.to(d_logits.dtype))
            rounded = d_logits.to(ctx.compute)
            d_features[part] = (rounded @ table).to(features.dtype)
            if d_projection is not None:
                d_projection += rounded.T @ features[part].to(ctx.compute)
            if d_bias is not None:
                d_bias += d_logits.sum(0)
        return d_features, d_projection, d_bias, None, None, None


def _logits(x: Tensor, projection: Tensor, bias: Tensor | None, never: Sequence[int], compute: torch.dtype) -> Tensor:
    added = None if bias is None else bias.to(compute)
    logits = F.linear(x.to(compute), projection.to(compute), added).to(projection.dtype)
    if never:
        logits[:, list(never)] = -torch.inf
    return logits


def _parts(features: Tensor) -> list[slice]:
    size = CHUNK.get(features.device.type, CHUNK["cuda"])
    return [slice(start, start + size) for start in range(0, features.size(0), size)]
