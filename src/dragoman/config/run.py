"""A whole run: every section together."""

from typing import Literal, Self

from pydantic import Field, model_validator

from dragoman.config.base import Section
from dragoman.config.data import DataConfig
from dragoman.config.decode import DecodeConfig
from dragoman.config.model import ModelConfig
from dragoman.config.project import ProjectConfig
from dragoman.config.tokenizer import TokenizerConfig
from dragoman.config.train import TrainConfig


class RunConfig(Section):
    """One run, whole: from text files to a model."""

    version: Literal[1] = 1
    """Version of this format."""
    project: ProjectConfig
    """Name and languages."""
    data: DataConfig
    """Text."""
    tokenizer: TokenizerConfig = TokenizerConfig()
    """Pieces."""
    model: ModelConfig = Field(default_factory=lambda: ModelConfig.model_validate({}))
    """Architecture."""
    train: TrainConfig = TrainConfig()
    """Optimisation."""
    decode: DecodeConfig = DecodeConfig()
    """Search."""

    @model_validator(mode="after")
    def _tied_vocabularies(self) -> Self:
        if self.train.start_from:  # both come with that model
            return self
        if self.model.tie == "all" and not self.tokenizer.joint:
            raise ValueError('model.tie: "all" needs one vocabulary; set tokenizer.joint = true or tie = "target"')
        return self
