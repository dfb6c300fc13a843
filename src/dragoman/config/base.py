"""The base class of every section of a configuration, and the number types that sections share."""

from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError

# Beyond what any run needs, and within what every library below us can count to.
INT32_MAX = 2**31 - 1
Positive = Annotated[int, Field(gt=0, le=INT32_MAX)]
NonNegative = Annotated[int, Field(ge=0, le=INT32_MAX)]
# Hypotheses of one sentence: each takes memory of its own.
HypothesisCount = Annotated[int, Field(gt=0, le=4096)]
Fraction = Annotated[float, Field(ge=0, lt=1)]


class Section(BaseModel):
    """A part of the configuration: frozen, and closed to unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True, allow_inf_nan=False)


def _not_empty(given: Any) -> Any:
    if given == "":  # which Path would take for the folder where it stands
        raise PydanticCustomError("path_type", "Input should be a path")
    return given


Where = Annotated[Path, BeforeValidator(_not_empty)]
