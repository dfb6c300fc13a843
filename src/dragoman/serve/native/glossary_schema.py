"""Requests and answers about glossaries that are kept on the service, in the native dialect."""

from typing import Annotated, Literal

from pydantic import BaseModel, Field

from dragoman.serve.native.schema import Body

Name = Annotated[str, Field(min_length=1, max_length=200)]


class DictionaryBody(Body):
    """The terms of a pair of languages: `entries`, or `text` in a `format`."""

    source: str
    """Source language, BCP-47; a glossary holds for all its regions."""
    target: str
    """Target language, BCP-47."""
    entries: dict[str, str | list[str]] | None = None
    """Terms and their required translations; the first of several is preferred."""
    text: str | None = None
    """The content of a file."""
    format: Literal["tsv", "csv", "tbx"] = "tsv"
    """What `text` is: a term and its translations by line, or a term base."""


class GlossaryBody(DictionaryBody):
    """A glossary, with its first dictionary."""

    name: Name


class GlossaryName(Body):
    """Another name of a glossary."""

    name: Name


class DictionaryOf(BaseModel):
    """The dictionary of a pair of languages: how many terms it has."""

    source: str
    target: str
    entries: int


class GlossaryOf(BaseModel):
    """A glossary without its terms."""

    id: str
    name: str
    created: str
    """ISO 8601, UTC."""
    dictionaries: list[DictionaryOf]


class GlossariesAnswer(BaseModel):
    """All glossaries of the sender, the oldest first."""

    glossaries: list[GlossaryOf]


class EntriesAnswer(BaseModel):
    """The terms of a dictionary, each with its translations."""

    source: str
    target: str
    entries: dict[str, list[str]]
