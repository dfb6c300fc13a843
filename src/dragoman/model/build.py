"""A configuration → the network that it describes, with random weights."""

from dragoman.config import AnyModel, ConvS2SConfig, LanguageModelConfig, ModelConfig, RnnConfig
from dragoman.errors import ConfigError
from dragoman.model.others.bytenet import ByteNet
from dragoman.model.others.convs2s import ConvS2S
from dragoman.model.others.language_model import LanguageModel
from dragoman.model.others.recurrent import Recurrent
from dragoman.model.parts.network import EncoderDecoder
from dragoman.model.transformer import Transformer


def build_network(config: AnyModel, source_vocab: int, target_vocab: int) -> EncoderDecoder:
    """The network for vocabularies of these sizes; a language model is for the second."""
    if isinstance(config, LanguageModelConfig):
        return LanguageModel(config, target_vocab)
    if isinstance(config, ModelConfig):
        return Transformer(config, source_vocab, target_vocab)
    if isinstance(config, RnnConfig):
        return Recurrent(config, source_vocab, target_vocab)
    if isinstance(config, ConvS2SConfig):
        return ConvS2S(config, source_vocab, target_vocab)
    return ByteNet(config, source_vocab, target_vocab)


def require_transformer(network: EncoderDecoder, what: str) -> Transformer:
    """`network`, for `what` works with Transformers alone. Raises ConfigError for another architecture."""
    if not isinstance(network, Transformer) or network.config.architecture != "transformer":
        raise ConfigError(
            f'{what}: needs a Transformer, and this model is of architecture "{network.config.architecture}"'
        )
    return network
