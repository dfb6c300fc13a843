"""The keys of [model]: the shape of the Transformer, in the names of section 3 and table 3 of the paper."""

from typing import Any, Literal, Self

from pydantic import ModelWrapValidatorHandler, model_validator

from dragoman.config.base import Fraction, Positive, Section
from dragoman.config.presets import MODEL_PRESETS, SHAPE, both_depths


class ModelConfig(Section):
    """The shape of the Transformer, section 3. `preset` fills what is not given.

    `model_fields_set` is what was given, with `layers` by this name; not what was filled.
    """

    preset: Literal["paper-base", "paper-big", "tiny", "small", "base", "big"] | None = None
    """`paper-base` and `paper-big` are exactly 2017; the others are what we recommend today."""
    encoder_layers: Positive
    """N of the encoder; `layers` sets both depths at once."""
    decoder_layers: Positive
    """N of the decoder."""
    d_model: Positive
    """Width of embeddings and of every sub-layer's output."""
    d_ff: Positive
    """Inner width of the position-wise feed-forward networks."""
    heads: Positive
    """h, the number of parallel attention heads."""
    d_k: Positive
    """Width of a head's queries and keys; d_model / h unless given."""
    d_v: Positive
    """Width of a head's values; d_model / h unless given."""
    dropout: Fraction = 0.1
    """P_drop of section 5.4: on each sub-layer's output and on embedding + position."""
    norm_order: Literal["post", "pre"] = "pre"
    """`post`: LayerNorm(x + Sublayer(x)), the paper. `pre`: x + Sublayer(LayerNorm(x)), Xiong et al. 2020."""
    norm: Literal["layer", "rms"] = "layer"
    """`layer`: LayerNorm, the paper. `rms`: RMSNorm, Zhang and Sennrich 2019."""
    positions: Literal["sinusoidal", "rotary"] = "sinusoidal"
    """`sinusoidal`: added to the embeddings, section 3.5. `rotary`: RoPE in self-attention, Su et al. 2021."""
    feed_forward: Literal["relu", "swiglu"] = "relu"
    """`relu`: Eq. (2). `swiglu`: a gated network of three matrices, Shazeer 2020."""
    bias: bool = True
    """Whether the linear layers add a bias, as in Eq. (2)."""
    tie: Literal["all", "target", "none"] = "all"
    """`all`: source, target embeddings and the output projection are one matrix (section 3.4);
    `target`: the latter two only; `none`: three matrices."""

    @model_validator(mode="wrap")
    @classmethod
    def _from_what_was_given(cls, given: Any, build: ModelWrapValidatorHandler[Self]) -> Self:
        if not isinstance(given, dict):
            return build(given)
        config = build(cls._filled(given))
        object.__setattr__(config, "__pydantic_fields_set__", set(given))
        return config

    @staticmethod
    def _filled(given: dict[str, Any]) -> dict[str, Any]:
        preset = given.get("preset", None if SHAPE & given.keys() else "small")
        filled = both_depths(MODEL_PRESETS.get(str(preset), {})) | both_depths(given)
        if preset:
            filled["preset"] = preset
        for key in SHAPE & given.keys():
            if not isinstance(given[key], int):
                raise ValueError(f"{key}: input should be a whole number, not {given[key]!r}")
        d_model, heads = filled.get("d_model"), filled.get("heads")
        if isinstance(d_model, int) and isinstance(heads, int) and heads > 0:
            if d_model % heads and not {"d_k", "d_v"} <= set(filled):
                raise ValueError(
                    f"heads: {heads} does not divide d_model = {d_model}; "
                    f"make d_model {d_model // heads * heads or heads} or {(d_model // heads + 1) * heads}"
                )
            filled = {"d_k": d_model // heads, "d_v": d_model // heads} | filled
        return filled
