"""The configuration of a run: all sections."""

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
    """The configuration of a run, from text files to a model."""

    version: Literal[1] = 1
    """Version of the configuration format."""
    project: ProjectConfig
    """Name, languages and licence."""
    data: DataConfig
    """Corpora for training, validation and test."""
    tokenizer: TokenizerConfig = TokenizerConfig()
    """The SentencePiece tokenizer."""
    model: ModelConfig = Field(default_factory=lambda: ModelConfig.model_validate({}))
    """The shape of the Transformer."""
    train: TrainConfig = TrainConfig()
    """Training."""
    decode: DecodeConfig = DecodeConfig()
    """Search for translations."""

    @model_validator(mode="after")
    def _tied_vocabularies(self) -> Self:
        if self.train.start_from:  # the base model has both
            return self
        if self.model.tie == "all" and not self.tokenizer.joint:
            raise ValueError('model.tie: "all" needs one vocabulary; set tokenizer.joint = true or tie = "target"')
        return self
