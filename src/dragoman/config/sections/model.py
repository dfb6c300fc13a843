"""The keys of [model]: the shape of the Transformer, in the names of section 3 and table 3 of the paper."""

from collections.abc import Container
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from dragoman.config.sections.base import Fraction, LayerCount, Positive, Section, with_depths

# The paper: table 3, rows "base" and "big".
PAPER_BASE = {"layers": 6, "d_model": 512, "d_ff": 2048, "heads": 8, "dropout": 0.1, "norm_order": "post", "tie": "all"}
PAPER_BIG = PAPER_BASE | {"d_model": 1024, "d_ff": 4096, "heads": 16, "dropout": 0.3}
# Today: Pre-LN trains without a fragile warm-up (Xiong et al. 2020); a deep encoder and a shallow decoder
# translate as well and decode faster (Kasai et al. 2021); RMSNorm, rotary positions and SwiGLU, whose d_ff is two
# thirds of four times the width for the same number of weights, are common to the large models of today.
TODAY = {
    "dropout": 0.1,
    "norm_order": "pre",
    "norm": "rms",
    "positions": "rotary",
    "feed_forward": "swiglu",
    "bias": False,
    "tie": "all",
}


def _today(encoder: int, decoder: int, d_model: int, d_ff: int, heads: int) -> dict[str, Any]:
    depths = {"encoder_layers": encoder, "decoder_layers": decoder}
    return TODAY | depths | {"d_model": d_model, "d_ff": d_ff, "heads": heads}


MODEL_PRESETS: dict[str, dict[str, Any]] = {
    "paper-base": PAPER_BASE,
    "paper-big": PAPER_BIG,
    "tiny": _today(4, 2, 192, 512, 4),
    "small": _today(6, 3, 256, 704, 4),
    "base": _today(8, 4, 512, 1408, 8),
    "big": _today(12, 4, 1024, 2752, 16),
}


# Without a preset all of these must be set (both depths by `layers`); without any of them the preset is `small`.
SHAPE = {"layers", "encoder_layers", "decoder_layers", "d_model", "d_ff", "heads"}


class ModelConfig(Section):
    """The shape of the Transformer, section 3. `preset` gives the values of keys that are not set."""

    architecture: Literal["transformer"] = "transformer"
    """The kind of network: `transformer`, Vaswani et al. 2017, or one of those it is compared with: `rnn`, recurrent,
    Bahdanau et al. 2015 and others; `convs2s`, Gehring et al. 2017; `bytenet`, Kalchbrenner et al. 2016; `moe`, a
    Transformer with mixtures of experts, Shazeer et al. 2017. Each has keys of its own."""
    preset: Literal["paper-base", "paper-big", "tiny", "small", "base", "big", "auto"] | None = None
    """`paper-base` and `paper-big` are exactly the models of the paper (2017); the others are our recommendations.
    `auto` chooses among these by the amount of text and whether there is a GPU, and a higher `dropout` for little
    text."""
    layers: LayerCount | None = None
    """N, the number of layers of the encoder and of the decoder."""
    encoder_layers: LayerCount
    """Number of encoder layers; `layers` unless set."""
    decoder_layers: LayerCount
    """Number of decoder layers; `layers` unless set."""
    d_model: Positive
    """Width of the embeddings and of the output of every sub-layer."""
    d_ff: Positive
    """Inner width of the position-wise feed-forward networks."""
    heads: Positive
    """h, the number of parallel attention heads."""
    d_k: Positive
    """Width of the queries and keys of a head; d_model / h unless set."""
    d_v: Positive
    """Width of the values of a head; d_model / h unless set."""
    dropout: Fraction = 0.1
    """P_drop of section 5.4: on each sub-layer's output and on embedding + position."""
    norm_order: Literal["post", "pre"] = "pre"
    """`post`: LayerNorm(x + Sublayer(x)), the paper. `pre`: x + Sublayer(LayerNorm(x)), Xiong et al. 2020."""
    norm: Literal["layer", "rms"] = "layer"
    """`layer`: LayerNorm, the paper. `rms`: RMSNorm, Zhang and Sennrich 2019."""
    positions: Literal["sinusoidal", "rotary", "learned"] = "sinusoidal"
    """`sinusoidal`: added to the embeddings, section 3.5. `rotary`: RoPE in self-attention, Su et al. 2021.
    `learned`: a vector for each position, row (E) of table 3."""
    position_base: Annotated[float, Field(gt=1, allow_inf_nan=False)] = 10000.0
    """Base of the wavelengths of sinusoidal positions, section 3.5; Marian and M2M-100 have
    10000^((d/2) / (d/2 − 1)) with d = d_model."""
    first_position: Annotated[int, Field(ge=0, le=1000)] = 0
    """Number of a sentence's first sinusoidal position; M2M-100 counts from 2."""
    max_positions: Positive = 1024
    """How many positions have a learned vector of their own; those after them share the last one."""
    feed_forward: Literal["relu", "silu", "swiglu"] = "relu"
    """`relu`: Eq. (2). `silu`: Eq. (2) with SiLU (Swish) instead of max(0, x), Elfwing et al. 2018. `swiglu`: a gated
    network of three matrices, Shazeer 2020."""
    bias: bool = True
    """Whether the linear layers add a bias, as in Eq. (2)."""
    output_bias: bool = False
    """Whether the projection onto the vocabulary adds a bias to the logits, as Marian's does."""
    tie: Literal["all", "target", "none"] = "all"
    """`all`: source embedding, target embedding and output projection share one matrix (section 3.4). `target`: target
    embedding and output projection share one. `none`: three matrices."""

    @model_validator(mode="before")
    @classmethod
    def _fill(cls, keys: Any) -> Any:
        """The keys that were set, and those that follow: of the preset, the depths, the width of a head."""
        if not isinstance(keys, dict):
            return keys
        for key in SHAPE & keys.keys():
            if keys[key] is not None and not isinstance(keys[key], int):
                raise ValueError(f"{key}: input should be a whole number, not {keys[key]!r}")
        preset = keys.get("preset", None if SHAPE & keys.keys() else "small")
        shape = "small" if preset == "auto" else str(preset)  # until the run knows its text (`dragoman.config.sizes`)
        filled = with_depths(MODEL_PRESETS.get(shape, {}), keys) | {"preset": preset}
        return _head_widths(filled.get("d_model"), filled.get("heads"), filled) | filled

    @model_validator(mode="after")
    def _keys_of_positions(self) -> Self:
        for key in ("position_base", "first_position"):
            if self.positions != "sinusoidal" and getattr(self, key) != type(self).model_fields[key].default:
                raise ValueError(
                    f'{key}: only sinusoidal positions have it; remove it, or set positions = "sinusoidal"'
                )
        if self.positions == "rotary" and self.d_k % 2:
            raise ValueError(
                f"d_k: rotary positions turn pairs of numbers, and {self.d_k} is odd; change d_model, heads or d_k"
            )
        if self.positions != "learned" and self.max_positions != type(self).model_fields["max_positions"].default:
            raise ValueError('max_positions: only learned positions have it; remove it, or set positions = "learned"')
        return self


def _head_widths(d_model: Any, heads: Any, keys: Container[str]) -> dict[str, int]:
    """d_k = d_v = d_model / h, section 3.2.2. Raises ValueError if they are needed and h does not divide d_model."""
    if not (isinstance(d_model, int) and isinstance(heads, int) and d_model > 0 and heads > 0):
        return {}
    if d_model % heads and not ("d_k" in keys and "d_v" in keys):
        raise ValueError(
            f"heads: {heads} does not divide d_model = {d_model}; "
            f"make d_model {d_model // heads * heads or heads} or {(d_model // heads + 1) * heads}"
        )
    return {"d_k": d_model // heads, "d_v": d_model // heads}
