"""Conversion of a network to CTranslate2's format, by a `Converter` that assigns every matrix.

CTranslate2's own converters refuse an encoder-decoder with rotary positions; its runtime supports it. The format: the
projections of queries, keys and values of self-attention are one matrix, those of keys and values of encoder-decoder
attention another, and all heads have one width; sinusoidal and learned positions are a table; rotary positions pair
(x_i, x_{i + d_k/2}), as in our model; linear layers may omit the bias.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, cast

import numpy as np
from ctranslate2.converters import Converter
from ctranslate2.specs import TransformerSpec
from ctranslate2.specs.common_spec import Activation
from ctranslate2.specs.transformer_spec import TransformerDecoderSpec, TransformerEncoderSpec
from numpy.typing import NDArray
from torch import Tensor, nn

from dragoman.config import ModelConfig
from dragoman.decode.attention import aligning_layer
from dragoman.decode.hypothesis import FORBIDDEN_IDS, FORBIDDEN_LOGIT
from dragoman.model.layers import DecoderLayer, EncoderLayer
from dragoman.model.parts.attention import MultiHeadAttention
from dragoman.model.parts.embedding import LearnedPositions, positional_encoding
from dragoman.model.parts.norm import EPSILON
from dragoman.model.transformer import Transformer
from dragoman.text.tokens.tokenizer import Side, Tokenizer

Array = NDArray[np.float32]

# Size of the table of sinusoidal positions: longer text is split, and only a forced maximum can come near it.
POSITIONS = 8192
# What CTranslate2 reads as: the mean of all heads is the attention that it returns.
ALL_HEADS = 0


class TransformerConverter(Converter):  # type: ignore[misc]  # untyped
    """One network and its vocabulary, ready for `convert(folder, quantization=…)`."""

    def __init__(self, model: Transformer, tokenizer: Tokenizer) -> None:
        self.model, self.tokenizer = model, tokenizer

    def _load(self) -> TransformerSpec:
        model, config = self.model, self.model.config
        layer = aligning_layer(config.decoder_layers)
        spec = TransformerSpec(
            TransformerEncoderSpec(config.encoder_layers, config.heads, **_shape(config)),
            TransformerDecoderSpec(
                config.decoder_layers, config.heads, alignment_layer=layer, alignment_heads=ALL_HEADS, **_shape(config)
            ),
        )
        spec.encoder.embeddings[0].weight = _array(model.source_embedding.weight)
        spec.decoder.embeddings.weight = _array(model.target_embedding.weight)
        spec.decoder.projection.weight = _array(model.projection)
        bias = model.projection_bias
        spec.decoder.projection.bias = np.zeros(len(model.projection), np.float32) if bias is None else _array(bias)
        spec.decoder.projection.bias[list(FORBIDDEN_IDS)] = FORBIDDEN_LOGIT
        if config.positions == "sinusoidal":
            known = positional_encoding(config.first_position, POSITIONS, config.d_model, config.position_base)
            for stack in (spec.encoder, spec.decoder):
                stack.position_encodings.encodings = _array(known)
        for stack, embedding in ((spec.encoder, model.source_embedding), (spec.decoder, model.target_embedding)):
            if isinstance(embedding, LearnedPositions):
                stack.position_encodings.encodings = _array(embedding.vectors(0, POSITIONS))
        for layer, encoder_layer in zip(spec.encoder.layer, cast("Iterable[EncoderLayer]", model.encoder), strict=True):
            _self_attention(layer.self_attention, encoder_layer.self_attention, encoder_layer.self_attention_norm.norm)
            _feed_forward(layer.ffn, encoder_layer.feed_forward, encoder_layer.feed_forward_norm.norm)
        for layer, decoder_layer in zip(spec.decoder.layer, cast("Iterable[DecoderLayer]", model.decoder), strict=True):
            _self_attention(layer.self_attention, decoder_layer.self_attention, decoder_layer.self_attention_norm.norm)
            _cross_attention(layer.attention, decoder_layer.cross_attention, decoder_layer.cross_attention_norm.norm)
            _feed_forward(layer.ffn, decoder_layer.feed_forward, decoder_layer.feed_forward_norm.norm)
        if config.norm_order == "pre":
            _norm(spec.encoder.layer_norm, model.encoder_norm)
            _norm(spec.decoder.layer_norm, model.decoder_norm)
        spec.register_source_vocabulary(_pieces(self.tokenizer, "source"))
        spec.register_target_vocabulary(_pieces(self.tokenizer, "target"))
        spec.config.add_source_eos = True
        spec.config.layer_norm_epsilon = EPSILON[config.norm]
        return spec


def convert(model: Transformer, tokenizer: Tokenizer, folder: Path, quantization: str) -> None:
    """Write the network into a new `folder`, its matrices in the arithmetic `quantization`."""
    TransformerConverter(model, tokenizer).convert(str(folder), quantization=quantization)


def _shape(config: ModelConfig) -> dict[str, Any]:
    swiglu, width = config.feed_forward == "swiglu", max(config.d_k, config.d_v)
    return {
        "pre_norm": config.norm_order == "pre",
        "rms_norm": config.norm == "rms",
        "activation": Activation.RELU if config.feed_forward == "relu" else Activation.SWISH,
        "ffn_glu": swiglu,
        # 0: the whole head is rotated.
        "rotary_dim": (0 if config.d_k == width else config.d_k) if config.positions == "rotary" else None,
        "rotary_interleave": False,
        "head_dim": None if width * config.heads == config.d_model else width,
    }


def _array(tensor: Tensor) -> Array:
    """A copy, because quantisation changes the arrays in place."""
    return tensor.detach().float().cpu().numpy().copy()


def _pieces(tokenizer: Tokenizer, side: Side) -> list[str]:
    return tokenizer.pieces(range(len(getattr(tokenizer, side))), side)


def _norm(spec: Any, norm: nn.Module) -> None:
    spec.gamma = _array(cast("Tensor", norm.weight))
    if isinstance(norm, nn.LayerNorm):
        spec.beta = _array(norm.bias)


def _linear(spec: Any, *layers: tuple[Array, Array | None]) -> None:
    """Concatenate the matrices of layers with the same input."""
    spec.weight = np.concatenate([weight for weight, _ in layers])
    if layers[0][1] is not None:
        spec.bias = np.concatenate([bias for _, bias in layers])


def _arrays(linear: nn.Linear) -> tuple[Array, Array | None]:
    return _array(linear.weight), None if linear.bias is None else _array(linear.bias)


def _heads(attention: MultiHeadAttention) -> list[tuple[Array, Array | None]]:
    """W_Q, W_K, W_V and W_O with heads of one width, which CTranslate2 needs: the larger of d_k and d_v.

    What is added to a head is 0, so that no score and no value changes; but CTranslate2 divides the scores by the root
    of that width, so that W_Q is multiplied by √(width / d_k).
    """
    heads = attention.heads
    d_k, d_v = attention.w_k.out_features // heads, attention.w_v.out_features // heads
    width = max(d_k, d_v)
    (q, b_q), k, v, (o, b_o) = (
        _arrays(linear) for linear in (attention.w_q, attention.w_k, attention.w_v, attention.w_o)
    )
    scale = np.float32((width / d_k) ** 0.5)
    wide_o = _widened(o.T, heads, width).T
    return [
        (_widened(q * scale, heads, width), None if b_q is None else _widened(b_q * scale, heads, width)),
        *((_widened(w, heads, width), None if b is None else _widened(b, heads, width)) for w, b in (k, v)),
        (np.ascontiguousarray(wide_o), b_o),
    ]


def _widened(rows: Array, heads: int, width: int) -> Array:
    """The rows of each head, and zeros up to `width` of them."""
    by_head = rows.reshape(heads, -1, *rows.shape[1:])
    added = np.zeros((heads, width - by_head.shape[1], *rows.shape[1:]), np.float32)
    return np.concatenate([by_head, added], axis=1).reshape(-1, *rows.shape[1:])


def _self_attention(spec: Any, attention: MultiHeadAttention, norm: nn.Module) -> None:
    _norm(spec.layer_norm, norm)
    *inputs, output = _heads(attention)
    _linear(spec.linear[0], *inputs)
    _linear(spec.linear[1], output)


def _cross_attention(spec: Any, attention: MultiHeadAttention, norm: nn.Module) -> None:
    _norm(spec.layer_norm, norm)
    queries, keys, values, output = _heads(attention)
    _linear(spec.linear[0], queries)
    _linear(spec.linear[1], keys, values)
    _linear(spec.linear[2], output)


def _feed_forward(spec: Any, network: Any, norm: nn.Module) -> None:
    _norm(spec.layer_norm, norm)
    _linear(spec.linear_0, _arrays(network.w_1))
    _linear(spec.linear_1, _arrays(network.w_2))
    if hasattr(network, "w_3"):
        _linear(spec.linear_0_noact, _arrays(network.w_3))
