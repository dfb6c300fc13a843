"""[model] architecture = "convs2s": convolutional encoder and decoder with attention in every decoder layer."""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Self

from pydantic import model_validator

from dragoman.config.sections.architectures.base import OtherModel
from dragoman.config.sections.base import Positive


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
        """The hidden width from `d_model`."""
        return {"hidden": keys.get("d_model")}

    @model_validator(mode="after")
    def _odd(self) -> Self:
        if self.kernel % 2 == 0:
            raise ValueError(f"kernel: {self.kernel} has no middle; make it odd")
        return self
