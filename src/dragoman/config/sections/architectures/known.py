"""Every architecture of [model], and which of them a section describes."""

from typing import Annotated, Any

from pydantic import Discriminator, Tag

from dragoman.config.sections.architectures.language_model import LANGUAGE_MODEL, LanguageModelConfig
from dragoman.config.sections.architectures.others import ByteNetConfig, ConvS2SConfig, MoeConfig, RnnConfig
from dragoman.config.sections.model import ModelConfig

AnyModel = ModelConfig | RnnConfig | ConvS2SConfig | ByteNetConfig | MoeConfig | LanguageModelConfig

ARCHITECTURES: dict[str, type[AnyModel]] = {
    "transformer": ModelConfig,
    "rnn": RnnConfig,
    "convs2s": ConvS2SConfig,
    "bytenet": ByteNetConfig,
    "moe": MoeConfig,
    LANGUAGE_MODEL: LanguageModelConfig,
}
NAMES = {
    "transformer": "Transformer",
    "rnn": "RNN",
    "convs2s": "ConvS2S",
    "bytenet": "ByteNet",
    "moe": "MoE",
    LANGUAGE_MODEL: "language model",
}
# The type of pydantic's error for an architecture that is none of these.
UNKNOWN = "architecture"


def architecture_of(section: Any) -> Any:
    """The architecture of a section [model], which is a dictionary or validated already."""
    if isinstance(section, dict):
        return str(section.get("architecture", "transformer"))
    return getattr(section, "architecture", "transformer")


ModelSection = Annotated[
    Annotated[ModelConfig, Tag("transformer")]
    | Annotated[RnnConfig, Tag("rnn")]
    | Annotated[ConvS2SConfig, Tag("convs2s")]
    | Annotated[ByteNetConfig, Tag("bytenet")]
    | Annotated[MoeConfig, Tag("moe")]
    | Annotated[LanguageModelConfig, Tag(LANGUAGE_MODEL)],
    Discriminator(
        architecture_of,
        custom_error_type=UNKNOWN,
        custom_error_message=f"input should be {', '.join(map(repr, ARCHITECTURES))}",
    ),
]


def owners_of(key: str) -> list[str]:
    """The architectures that have this key."""
    return [name for name, section in ARCHITECTURES.items() if key in section.model_fields]


def summary(model: AnyModel) -> dict[str, str]:
    """The shape in two lines, as `dragoman model show` prints it."""
    layers = f"{model.encoder_layers} encoder, {model.decoder_layers} decoder"
    widths = f"d_model {model.d_model}"
    if isinstance(model, ModelConfig):
        layers += f", {model.norm_order}-LN"
        widths += f", d_ff {model.d_ff}, {model.heads} heads of {model.d_k}"
    if isinstance(model, MoeConfig):
        widths += f", {model.active} of {model.experts} experts"
    if isinstance(model, ConvS2SConfig | ByteNetConfig):
        layers += f", kernel {model.kernel}"
    if isinstance(model, RnnConfig):
        layers += f", {model.cell.upper()}, {'no' if model.attention == 'none' else model.attention} attention"
    if isinstance(model, RnnConfig | ConvS2SConfig):
        widths += f", hidden {model.hidden}"
    return {
        "layers": f"{model.layers}, {model.layer}" if isinstance(model, LanguageModelConfig) else layers,
        "widths": widths,
    }


def title(model: AnyModel) -> str:
    """What a card calls the network."""
    if isinstance(model, MoeConfig):
        return f"A Transformer with {model.experts} experts (mixture of experts, Shazeer et al. 2017)"
    if isinstance(model, ModelConfig):
        return 'A Transformer ("Attention Is All You Need")'
    if isinstance(model, ConvS2SConfig):
        return "A convolutional network (ConvS2S, Gehring et al. 2017)"
    if isinstance(model, ByteNetConfig):
        return "A convolutional network (ByteNet, Kalchbrenner et al. 2016)"
    if isinstance(model, LanguageModelConfig):
        return f"A language model ({model.layer})"
    return f"A recurrent network ({model.cell.upper()}, attention: {model.attention})"
