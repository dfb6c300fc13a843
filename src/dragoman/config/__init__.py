"""The configuration of a run: frozen, validated values. Only `file` reads or writes files.

Input: plain dictionaries (see `dragoman.config.file`). Output: a `RunConfig`. The docstring below a key documents it;
an unknown key is an error and never ignored. The names of [model] are those of "Attention Is All You Need" (Vaswani et
al. 2017), section 3 and table 3.
"""

from dragoman.config.sections.architectures.known import AnyModel
from dragoman.config.sections.architectures.language_model import LanguageModelConfig
from dragoman.config.sections.architectures.others import ByteNetConfig, ConvS2SConfig, MoeConfig, RnnConfig
from dragoman.config.sections.base import Section
from dragoman.config.sections.data import AugmentConfig, CleanConfig, CorpusConfig, DataConfig, MixConfig, MixedCorpus
from dragoman.config.sections.decode import DecodeConfig
from dragoman.config.sections.model import ModelConfig
from dragoman.config.sections.project import PairConfig, ProjectConfig
from dragoman.config.sections.run import RunConfig
from dragoman.config.sections.tokenizer import TokenizerConfig
from dragoman.config.sections.train import DualConfig, RiskConfig, TrainConfig
