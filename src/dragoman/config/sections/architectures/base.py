"""What the sections [model] of the architectures other than the Transformer share: depths, widths, presets."""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from pydantic import model_validator

from dragoman.config.sections.base import Fraction, LayerCount, Positive, Section, with_depths

PresetName = Literal["tiny", "small", "base", "big", "auto"]


class OtherModel(Section):
    """Keys of every architecture; what is not set is that of `preset`, which is `small` unless set."""

    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {}

    preset: PresetName = "small"
    """Values of the keys that are not set. `auto` chooses by the amount of text and whether there is a GPU."""
    layers: LayerCount | None = None
    """Number of layers of the encoder and of the decoder."""
    encoder_layers: LayerCount
    """Number of encoder layers; `layers` unless set."""
    decoder_layers: LayerCount
    """Number of decoder layers; `layers` unless set."""
    d_model: Positive
    """Width of the embeddings and of the decoder's output."""
    dropout: Fraction = 0.1
    """Probability with which a number is set to 0 in training."""
    output_bias: bool = True
    """Whether the projection onto the vocabulary adds a bias to the logits."""
    tie: Literal["all", "target", "none"] = "all"
    """`all`: source embedding, target embedding and output projection share one matrix. `target`: target embedding and
    output projection share one. `none`: three matrices."""

    @model_validator(mode="before")
    @classmethod
    def _fill(cls, keys: Any) -> Any:
        """The keys that were set, with the values of the preset and both depths."""
        if not isinstance(keys, dict):
            return keys
        preset = keys.get("preset", "small")
        shape = cls.presets.get("small" if preset == "auto" else str(preset), {})
        filled = with_depths(shape, keys)
        return cls.derived(filled) | filled

    @classmethod
    def derived(cls, keys: Mapping[str, Any]) -> dict[str, Any]:
        """Further keys, whose values follow from `keys` unless they are set."""
        return {}
