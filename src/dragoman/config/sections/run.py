"""The configuration of a run: all sections."""

from typing import Literal, Self

from pydantic import Field, model_validator

from dragoman.config.sections.architectures.known import ModelSection
from dragoman.config.sections.architectures.others import MoeConfig
from dragoman.config.sections.base import Section
from dragoman.config.sections.data import CorpusConfig, DataConfig
from dragoman.config.sections.decode import DecodeConfig
from dragoman.config.sections.model import ModelConfig
from dragoman.config.sections.project import PairConfig, ProjectConfig, pair_name
from dragoman.config.sections.tokenizer import TokenizerConfig
from dragoman.config.sections.train import TrainConfig


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
    model: ModelSection = Field(default_factory=lambda: ModelConfig.model_validate({}))
    """The shape of the network: of a Transformer, or of another architecture."""
    train: TrainConfig = TrainConfig()
    """Training."""
    decode: DecodeConfig = DecodeConfig()
    """Search for translations."""

    @model_validator(mode="after")
    def _tied_vocabularies(self) -> Self:
        single = self.tokenizer.joint or self.tokenizer.shared or self.train.start_from  # the base model has both
        if self.model.tie == "all" and not single:
            raise ValueError('model.tie: "all" needs one vocabulary; set tokenizer.joint = true or tie = "target"')
        return self

    @model_validator(mode="after")
    def _of_this_architecture(self) -> Self:
        kind = self.model.architecture
        for key in ("compile", "recompute"):
            if getattr(self.train, key) and kind != "transformer":
                raise ValueError(f"train.{key}: works with Transformers alone, not with {kind}; leave it out")
        if isinstance(self.model, MoeConfig) and self.train.objective != "likelihood":
            raise ValueError(f'train.objective: "{self.train.objective}" does not balance experts; use "likelihood"')
        return self

    @model_validator(mode="after")
    def _known_pairs(self) -> Self:
        for where, corpus in self.data.named_corpora.items():
            if not self.pairs_of(corpus):
                names = ", ".join(pair.name for pair in self.project.all_pairs)
                key = "both_directions" if self.project.pair(corpus.languages) else "languages"
                raise ValueError(f"data.{where}.{key}: not in project.pairs, which are {names}; add the pair there")
        return self

    @model_validator(mode="after")
    def _both_directions(self) -> Self:
        if self.train.objective == "dual" and not self.train.start_from:  # the pairs may come with the base model
            self.require_dual()
        return self

    def require_dual(self) -> None:
        """Raise ValueError unless the run has what dual learning needs: two directions, and all text in both."""
        pairs = self.project.pairs
        if len(pairs) != 2 or (pairs[0].source, pairs[0].target) != (pairs[1].target, pairs[1].source):
            here, there = (self.project.name_of_pair, pair_name(self.project.target, self.project.source))
            raise ValueError(
                f'train.objective: "dual" needs a model of two directions; set project.pairs = ["{here}", "{there}"]'
            )
        for where, corpus in self.data.named_corpora.items():
            if where.startswith(("train", "replay")) and not corpus.both_directions:
                raise ValueError(f'data.{where}.both_directions: train.objective = "dual" reads both; set it to true')

    def pairs_of(self, corpus: CorpusConfig) -> tuple[PairConfig, ...]:
        """The pair of a corpus and, with `both_directions`, the reverse of it; empty if `project` lacks one."""
        pair = self.project.pair(corpus.languages)
        if pair is None or not corpus.both_directions:
            return (pair,) if pair else ()
        reverse = self.project.pair(pair_name(pair.target, pair.source))
        return (pair, reverse) if reverse else ()

    @model_validator(mode="after")
    def _fine_tuning(self) -> Self:
        needs_base = {
            "train.freeze": self.train.freeze,
            "train.pull": self.train.pull,
            "train.lora_rank": self.train.lora_rank,
            "tokenizer.extend": self.tokenizer.extend,
            "data.replay": self.data.replay,
            "data.general_test": self.data.general_test,
        }
        first = next((key for key, value in needs_base.items() if value), None)
        if first and not self.train.start_from:
            raise ValueError(f"{first}: needs a base model; set train.start_from, or leave it out")
        if self.train.lora_rank and self.tokenizer.extend:
            raise ValueError(
                "tokenizer.extend: new pieces need embeddings, which lora_rank does not train; set it to 0"
            )
        return self
