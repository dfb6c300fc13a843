"""[model] architecture = "rnn": recurrent encoder and decoder, with or without attention."""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Self

from pydantic import model_validator

from dragoman.config.sections.architectures.base import OtherModel
from dragoman.config.sections.base import Positive

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
        if self.start == "copy" and not self._copies():
            raise ValueError(
                'start: "copy" needs as many encoder as decoder layers, encoder_hidden = hidden, and directions other '
                'than "first"; change them, or use "bridge"'
            )
        return self

    def _copies(self) -> bool:
        fits = self.encoder_layers == self.decoder_layers and self.encoder_hidden == self.hidden
        return fits and self.directions != "first"
