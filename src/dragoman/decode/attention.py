"""Which source token each target token comes from, by the model's encoder-decoder attention (section 3.2.3).

Input: a model, padded sources and targets. Output: the mean of the heads of one layer, for targets that are given
(forced decoding). The last layer but one aligns best (Garg et al. 2019, "Jointly Learning to Align and Translate with
Transformer Models"); of two layers it is the last: the first one aligns the decoder's input token, not its output.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from jaxtyping import Float, Int
from torch import Tensor

from dragoman.errors import ConfigError
from dragoman.model.hooks import AttentionCall, watch_attention
from dragoman.model.parts.attention import padding_mask
from dragoman.model.parts.network import Attending, EncoderDecoder
from dragoman.text.tokens.tokenizer import PAD


def aligning_layer(layers: int) -> int:
    """The number, from 0 on, of the decoder layer whose attention aligns; a decoder has `layers` of them."""
    return min(max(1, layers - 2), layers - 1)


def require_attention(model: EncoderDecoder, what: str) -> Sequence[Attending]:
    """The model's encoder-decoder attentions. Raises ConfigError, which starts with `what`, if it has none."""
    if not (cross_attentions := model.cross_attentions()):
        raise ConfigError(
            f"{what}: needs encoder-decoder attention, and this model, of architecture "
            f'"{model.config.architecture}", has none; leave it out'
        )
    return cross_attentions


@torch.inference_mode()
def forced_attention(
    model: EncoderDecoder, src: Int[Tensor, "B S"], tgt_in: Int[Tensor, "B T"]
) -> Float[Tensor, "B T S"]:
    """How much the prediction after each token of `tgt_in` attends to each source position."""
    layer = aligning_layer(len(require_attention(model, "alignment")))
    with cross_attention(model, {layer}) as weights:
        model.decode_features(tgt_in, model.encode(src, padding_mask(src, PAD)))
        return weights[layer]


@contextmanager
def cross_attention(model: EncoderDecoder, layers: set[int]) -> Iterator[dict[int, Tensor]]:
    """Within the context, the latest encoder-decoder attention of these layers, (B, T, S), the mean of its heads."""
    latest: dict[int, Tensor] = {}

    def keep(layer: int, call: AttentionCall) -> None:
        latest[layer] = call.weights.mean(1)

    every = model.cross_attentions()
    attentions = {layer: every[layer] for layer in layers}
    with watch_attention(attentions, keep):
        yield latest
