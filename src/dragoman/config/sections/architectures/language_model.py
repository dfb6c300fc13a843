"""[model] architecture = "language-model": P(y) of the sentences of one language, without a source."""

from typing import Any, Literal, Self

from pydantic import model_validator

from dragoman.config.sections.base import Fraction, LayerCount, Positive, Section

LANGUAGE_MODEL = "language-model"
PRESETS: dict[str, dict[str, Any]] = {
    "tiny": {"layers": 2, "d_model": 192, "heads": 3, "dropout": 0.2},
    "small": {"layers": 4, "d_model": 256, "heads": 4, "dropout": 0.1},
    "base": {"layers": 6, "d_model": 512, "heads": 8, "dropout": 0.1},
    "big": {"layers": 6, "d_model": 1024, "heads": 16, "dropout": 0.1},
}


class LanguageModelConfig(Section):
    """A decoder without encoder-decoder attention; `dragoman train --language-model` trains it."""

    architecture: Literal["language-model"] = "language-model"
    """The kind of network."""
    language: str = ""
    """The language whose sentences it reads, a BCP-47 tag of the project; its target language unless set."""
    layer: Literal["transformer", "lstm", "gru"] = "transformer"
    """The kind of its layers: masked self-attention and a feed-forward network, or a recurrence over the pieces."""
    preset: Literal["tiny", "small", "base", "big"] = "small"
    """Values of the keys that are not set."""
    layers: LayerCount
    """Number of layers."""
    d_model: Positive
    """Width of the embeddings and of the layers."""
    d_ff: Positive
    """Inner width of the position-wise feed-forward networks; four times d_model unless set."""
    heads: Positive
    """h, the number of parallel attention heads."""
    dropout: Fraction
    """Probability with which a number is set to 0 in training."""
    output_bias: bool = False
    """Whether the projection onto the vocabulary adds a bias to the logits."""
    tie: Literal["target", "none"] = "target"
    """Whether embedding and output projection share one matrix."""

    @model_validator(mode="before")
    @classmethod
    def _fill(cls, keys: Any) -> Any:
        """The keys that were set, with the values of the preset."""
        if not isinstance(keys, dict):
            return keys
        filled = {**PRESETS.get(str(keys.get("preset", "small")), {}), **keys}
        d_model = filled.get("d_model")
        return ({"d_ff": 4 * d_model} if isinstance(d_model, int) else {}) | filled

    @model_validator(mode="after")
    def _heads(self) -> Self:
        if self.layer == "transformer" and self.d_model % self.heads:
            raise ValueError(f"heads: {self.heads} does not divide d_model = {self.d_model}; change one of them")
        return self

    @property
    def encoder_layers(self) -> int:
        """0: it reads no source."""
        return 0

    @property
    def decoder_layers(self) -> int:
        return self.layers
