"""[model] architecture = "bytenet": dilated convolutions, the target network over the source network."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from dragoman.config.sections.architectures.base import OtherModel
from dragoman.config.sections.base import Positive


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
