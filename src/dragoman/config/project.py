"""The keys of [project]: name and languages."""

from typing import Annotated

from pydantic import Field

from dragoman.config.base import Section


class ProjectConfig(Section):
    """Name, languages and licence of the system."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
    """Name of the run and of its model: letters, digits, dots, dashes and underscores."""
    source: Annotated[str, Field(min_length=1)]
    """Source language, a BCP-47 tag (`ko`, `en`, `pt-BR`)."""
    target: Annotated[str, Field(min_length=1)]
    """Target language, a BCP-47 tag."""
    license: str = "private"
    """Licence of the trained model, for its model card."""
