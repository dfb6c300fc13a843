"""The keys of [project]: name and languages."""

from typing import Annotated

from pydantic import Field

from dragoman.config.base import Section


class ProjectConfig(Section):
    """What the system is called and which languages it joins."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
    """Name of the run and of its model; letters, digits, dots, dashes."""
    source: Annotated[str, Field(min_length=1)]
    """Language translated from, as a BCP-47 tag (`ko`, `en`, `pt-BR`)."""
    target: Annotated[str, Field(min_length=1)]
    """Language translated into, as a BCP-47 tag."""
    license: str = "private"
    """Licence of the trained model, for its card."""
