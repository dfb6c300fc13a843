"""The base class of the sections of a configuration, and the types that sections share."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError

# More than any run needs; every library that we call can represent it.
INT32_MAX = 2**31 - 1
Positive = Annotated[int, Field(gt=0, le=INT32_MAX)]
NonNegative = Annotated[int, Field(ge=0, le=INT32_MAX)]
# The deepest published Transformer has 1,000 layers on each side (Wang et al. 2022, DeepNet).
LayerCount = Annotated[int, Field(gt=0, le=1000)]
# Hypotheses of one sentence: each of them takes memory.
HypothesisCount = Annotated[int, Field(gt=0, le=4096)]
# Metadata of a key that has a default only for imported models, which have no text.
REQUIRED = "required"
Fraction = Annotated[float, Field(ge=0, lt=1)]
Share = Annotated[float, Field(ge=0, le=1)]


class Section(BaseModel):
    """A section of the configuration: frozen, without unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True, allow_inf_nan=False)


def section_in(annotation: Any) -> type[Section] | None:
    """The section class inside an annotation such as `tuple[CorpusConfig, ...]`."""
    if isinstance(annotation, type) and issubclass(annotation, Section):
        return annotation
    return next(filter(None, map(section_in, get_args(annotation))), None)


def with_depths(preset: Mapping[str, Any], keys: Mapping[str, Any]) -> dict[str, Any]:
    """The keys of a preset and those set: `layers` is both depths, but one that is set itself comes before it."""
    filled: dict[str, Any] = {}
    for section in (preset, keys):
        layers = section.get("layers")
        filled |= section if layers is None else {"encoder_layers": layers, "decoder_layers": layers, **section}
    filled.pop("layers", None)
    if filled.get("encoder_layers") == filled.get("decoder_layers"):
        filled["layers"] = filled.get("encoder_layers")
    return filled


def _not_empty(path: Any) -> Any:
    if path == "":  # Path would read it as the current folder
        raise PydanticCustomError("path_type", "Input should be a path")
    if "\0" in str(path):
        raise PydanticCustomError("null_character", "input should be a path without a null character")
    return path


Where = Annotated[Path, BeforeValidator(_not_empty)]
