"""The keys of [project]: name and languages."""

import unicodedata
from typing import Annotated, Self

from pydantic import AfterValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from dragoman.config.base import Section

# Bytes of a name: a folder has it, and file systems allow 255 with what we add.
LONGEST_NAME = 200
NAME_RULE = "use letters and digits of any script, dots, dashes and underscores, and begin with a letter or a digit"


def is_name(text: str) -> bool:
    """Whether `text` can name a project and its folder."""
    if not 0 < len(text.encode("utf-8", "surrogatepass")) <= LONGEST_NAME:
        return False
    kinds = [unicodedata.category(character)[0] for character in text]
    return kinds[0] in "LN" and all(kind in "LMN" or char in "._-" for kind, char in zip(kinds, text, strict=True))


def _named(text: str) -> str:
    if not is_name(text):
        raise PydanticCustomError("name", "not a name: " + NAME_RULE)
    return text


class ProjectConfig(Section):
    """Name, languages and licence of the system."""

    name: Annotated[str, AfterValidator(_named)]
    """Name of the run and of its model: letters and digits of any script, dots, dashes and underscores."""
    source: Annotated[str, Field(min_length=1)]
    """Source language, a BCP-47 tag (`ko`, `en`, `pt-BR`)."""
    target: Annotated[str, Field(min_length=1)]
    """Target language, a BCP-47 tag."""
    license: str = "private"
    """Licence of the trained model, for its model card."""

    @model_validator(mode="after")
    def _two_languages(self) -> Self:
        if self.source.casefold() == self.target.casefold():
            raise ValueError(f"target: the same language as the source, {self.source!r}; give two languages")
        return self
