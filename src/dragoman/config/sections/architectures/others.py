"""[model] with architecture = "rnn", "convs2s", "bytenet" or "moe": recurrent, convolutional, mixtures of experts."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from dragoman.config.sections.base import Fraction, LayerCount, Positive, Section, with_depths
from dragoman.config.sections.model import ModelConfig

PresetName = Literal["tiny", "small", "base", "big", "auto"]


class OtherModel(Section):
    """Keys of every architecture; what is not set is that of `preset`, which is `small` unless set."""

    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {}

    preset: PresetName = "small"
    """Values of the keys that are not set. `auto` chooses by the amount of text and whether there is a GPU."""
    layers: LayerCount | None = None
    """Number of layers of the encoder and of the decoder."""
    encoder_layers: LayerCount
    """Number of encoder layers; `layers` unless set."""
    decoder_layers: LayerCount
    """Number of decoder layers; `layers` unless set."""
    d_model: Positive
    """Width of the embeddings and of the decoder's output."""
    dropout: Fraction = 0.1
    """Probability with which a number is set to 0 in training."""
    output_bias: bool = True
    """Whether the projection onto the vocabulary adds a bias to the logits."""
    tie: Literal["all", "target", "none"] = "all"
    """`all`: source embedding, target embedding and output projection share one matrix. `target`: target embedding and
    output projection share one. `none`: three matrices."""

    @model_validator(mode="before")
    @classmethod
    def _fill(cls, keys: Any) -> Any:
        """The keys that were set, with the values of the preset and both depths."""
        if not isinstance(keys, dict):
            return keys
        preset = keys.get("preset", "small")
        filled = with_depths(cls.presets.get("small" if preset == "auto" else str(preset), {}), keys)
        return cls.derived(filled) | filled

    @classmethod
    def derived(cls, keys: Mapping[str, Any]) -> dict[str, Any]:
        """Further keys, whose values follow from `keys` unless they are set."""
        return {}


MULTIPLICATIVE = {"dot", "scaled", "general", "concat"}


class RnnConfig(OtherModel):
    """Recurrent models: Sutskever et al. 2014, Bahdanau et al. 2015, Luong et al. 2015, Wu et al. 2016."""

    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "tiny": {"layers": 1, "d_model": 192, "dropout": 0.2},
        "small": {"layers": 2, "d_model": 256, "dropout": 0.2},
        "base": {"layers": 4, "d_model": 512, "dropout": 0.2},
        "big": {"layers": 8, "d_model": 1024, "dropout": 0.2},
    }

    architecture: Literal["rnn"] = "rnn"
    """The kind of network."""
    hidden: Positive
    """Width of the state of a recurrent decoder layer, d of a convolutional one; d_model unless set."""
    encoder_hidden: Positive
    """Width of the encoder's output, of both directions together; `hidden` unless set."""
    cell: Literal["lstm", "gru"] = "lstm"
    """`lstm`: Hochreiter and Schmidhuber 1997 with a forget gate. `gru`: the gated unit of Bahdanau et al. 2015,
    appendix A.2."""
    directions: Literal["both", "first", "forward", "backward"] = "both"
    """How encoder layers read: `both`: each in both directions. `first`: the first in both directions, the others
    forwards, as GNMT. `forward` or `backward`: all in one direction; `backward` is Sutskever's reversed source."""
    attention: Literal["additive", "dot", "scaled", "general", "concat", "none"] = "general"
    """`additive`: Bahdanau et al. 2015, asked with the state before the step. `dot`, `general` and `concat`: Luong et
    al. 2015, asked with the state after it; `scaled`: `dot` divided by the square root of the width. `none`: the
    sentence is the encoder's last state alone, Sutskever et al. 2014."""
    attention_width: Positive
    """Inner width of `additive` and `concat`; `hidden` unless set."""
    input_feeding: bool
    """Whether a step's output is part of the next step's input (Luong et al. 2015, section 3.3); true unless set, for
    the attentions that have such an output: `dot`, `scaled`, `general` and `concat`."""
    start: Literal["bridge", "copy"]
    """How the decoder starts. `bridge`: each layer's state is tanh(W h + b) of the encoder's last state, of the
    backward direction where there is one (Bahdanau et al. 2015). `copy`: layer by layer it is the encoder's, both
    directions side by side. `copy` without attention, `bridge` with it, unless set."""
    residual: bool = True
    """Whether the input of a layer is added to its output from the third layer on, as GNMT (Wu et al. 2016)."""

    @classmethod
    def derived(cls, keys: Mapping[str, Any]) -> dict[str, Any]:
        """Widths from `d_model`; `input_feeding` and `start` by the attention."""
        hidden = keys.get("hidden", keys.get("d_model"))
        feeding = keys.get("attention", "general") in MULTIPLICATIVE
        widths = dict.fromkeys(("hidden", "encoder_hidden", "attention_width"), hidden)
        start = "copy" if keys.get("attention") == "none" else "bridge"
        return {**widths, "input_feeding": feeding, "start": start}

    @model_validator(mode="after")
    def _fitting(self) -> Self:
        if self.encoder_hidden % 2 and self.directions in ("both", "first"):
            raise ValueError(f"encoder_hidden: {self.encoder_hidden} is two directions of one width; make it even")
        if self.attention in ("dot", "scaled") and self.encoder_hidden != self.hidden:
            raise ValueError(
                f"attention: {self.attention!r} needs encoder_hidden = hidden = {self.hidden}, not "
                f"{self.encoder_hidden}; change one, or use 'general'"
            )
        if self.input_feeding and self.attention not in MULTIPLICATIVE:
            raise ValueError(
                f"input_feeding: attention = {self.attention!r} has no output to feed; remove it, or use 'general'"
            )
        fits = self.encoder_layers == self.decoder_layers and self.encoder_hidden == self.hidden
        if self.start == "copy" and not (fits and self.directions != "first"):
            raise ValueError(
                'start: "copy" needs as many encoder as decoder layers, encoder_hidden = hidden, and directions other '
                'than "first"; change them, or use "bridge"'
            )
        return self


class ConvS2SConfig(OtherModel):
    """Convolutional sequence-to-sequence learning, Gehring et al. 2017."""

    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "tiny": {"encoder_layers": 4, "decoder_layers": 3, "d_model": 192, "dropout": 0.2},
        "small": {"encoder_layers": 6, "decoder_layers": 4, "d_model": 256, "dropout": 0.2},
        "base": {"layers": 10, "d_model": 512, "dropout": 0.2},
        "big": {"layers": 15, "d_model": 768, "dropout": 0.2},
    }

    architecture: Literal["convs2s"] = "convs2s"
    """The kind of network."""
    hidden: Positive
    """d, the width of the convolutional layers; d_model, the width f of the embeddings, unless set."""
    kernel: Positive = 3
    """k, how many neighbouring positions a convolution joins."""
    max_positions: Positive = 1024
    """How many positions have a vector of their own; those after them share the last one."""

    @classmethod
    def derived(cls, keys: Mapping[str, Any]) -> dict[str, Any]:
        return {"hidden": keys.get("d_model")}

    @model_validator(mode="after")
    def _odd(self) -> Self:
        if self.kernel % 2 == 0:
            raise ValueError(f"kernel: {self.kernel} has no middle; make it odd")
        return self


class ByteNetConfig(OtherModel):
    """Neural machine translation in linear time, Kalchbrenner et al. 2016. `layers` are its residual blocks."""

    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "tiny": {"layers": 4, "d_model": 256, "dropout": 0.2},
        "small": {"layers": 8, "d_model": 384, "dropout": 0.2},
        "base": {"layers": 15, "d_model": 768, "dropout": 0.2},
        "big": {"layers": 30, "d_model": 1600, "dropout": 0.2},
    }

    architecture: Literal["bytenet"] = "bytenet"
    """The kind of network."""
    kernel: Positive = 3
    """k, how many positions a dilated convolution joins."""
    max_dilation: Annotated[int, Field(gt=0, le=4096)] = 16
    """The dilations of successive blocks are 1, 2, 4, … up to this, and again from 1."""
    stretch: Annotated[float, Field(ge=1, le=10)] = 1.2
    """a: a source of n tokens is extended to ceil(a · n) + b positions, over which the target unfolds."""
    extra: Annotated[int, Field(ge=0, le=1000)] = 2
    """b, the positions that every source is extended by."""

    @model_validator(mode="after")
    def _fitting(self) -> Self:
        if self.d_model % 2:
            raise ValueError(f"d_model: {self.d_model} is 2d, twice the inner width of a block; make it even")
        if self.kernel % 2 == 0:
            raise ValueError(f"kernel: {self.kernel} has no middle; make it odd")
        return self


Weight = Annotated[float, Field(ge=0, le=1000, allow_inf_nan=False)]


class MoeConfig(ModelConfig):
    """Sparsely gated mixtures of experts, Shazeer et al. 2017, in the place of Eq. (2) of the Transformer."""

    architecture: Literal["moe"] = "moe"  # type: ignore[assignment]  # its own name, the Transformer's keys
    """The kind of network."""
    experts: Annotated[int, Field(ge=3, le=4096)] = 8
    """n, the number of experts of a layer; each is a feed-forward network of the inner width d_ff."""
    active: Annotated[int, Field(ge=2, le=4096)] = 2
    """k, how many experts compute each token. With one the gate would learn nothing from the loss."""
    every: Positive = 1
    """Every how many layers one has experts, the last of them; 2 as in GShard, Lepikhin et al. 2021."""
    noise: bool = True
    """Whether the choice of experts is noisy in training, Eq. (4); without noise there is no load loss."""
    w_importance: Weight = 0.01
    """Weight of the importance loss, section 4."""
    w_load: Weight = 0.01
    """Weight of the load loss, appendix A."""

    @model_validator(mode="after")
    def _fewer_than_all(self) -> Self:
        if self.active >= self.experts:
            raise ValueError(f"active: {self.active} of {self.experts} experts is no choice; set it lower")
        if self.every > (layers := min(self.encoder_layers, self.decoder_layers)):
            raise ValueError(f"every: {self.every} leaves no experts in a stack of {layers} layers; set it lower")
        return self
