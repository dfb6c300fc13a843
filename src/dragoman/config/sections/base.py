"""The base class of the sections of a configuration, and the types that sections share."""

from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError

# More than any run needs; every library that we call can represent it.
INT32_MAX = 2**31 - 1
Positive = Annotated[int, Field(gt=0, le=INT32_MAX)]
NonNegative = Annotated[int, Field(ge=0, le=INT32_MAX)]
# Hypotheses of one sentence: each of them takes memory.
HypothesisCount = Annotated[int, Field(gt=0, le=4096)]
# Metadata of a key that has a default only for imported models, which have no text.
REQUIRED = "required"
Fraction = Annotated[float, Field(ge=0, lt=1)]
Share = Annotated[float, Field(ge=0, le=1)]


class Section(BaseModel):
    """A section of the configuration: frozen, without unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True, allow_inf_nan=False)


def _not_empty(path: Any) -> Any:
    if path == "":  # Path would read it as the current folder
        raise PydanticCustomError("path_type", "Input should be a path")
    if "\0" in str(path):
        raise PydanticCustomError("null_character", "input should be a path without a null character")
    return path


Where = Annotated[Path, BeforeValidator(_not_empty)]
