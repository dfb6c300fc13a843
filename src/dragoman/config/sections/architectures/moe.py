"""[model] architecture = "moe": a Transformer whose feed-forward networks are mixtures of experts."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from dragoman.config.sections.base import Positive
from dragoman.config.sections.model import ModelConfig

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
