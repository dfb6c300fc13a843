"""Requests and answers about the translation memory of the service."""

from typing import Annotated

from pydantic import BaseModel, Field

from dragoman.serve.native.schema import Body


class MemorySearchBody(Body):
    """A text, for which equal and similar sources are asked for."""

    text: str
    source: str
    """Source language, BCP-47."""
    target: str
    """Target language, BCP-47."""
    threshold: Annotated[int, Field(ge=50, le=100)] = 75
    """Percent of similarity that a source needs; 100: only equal ones, and those with other numbers."""
    count: Annotated[int, Field(ge=1, le=50)] = 5
    """Units that are wanted, at most."""


class MatchOf(BaseModel):
    """A unit that was found."""

    score: int
    """100: an equal source; 99: its numbers were adapted; otherwise the similarity in percent."""
    source: str
    target: str
    origin: str


class MemorySearchAnswer(BaseModel):
    """The units, best first."""

    matches: list[MatchOf]


class UnitOf(Body):
    """A source and its translation."""

    source: str
    target: str


class MemoryAddBody(Body):
    """Units that a person has confirmed."""

    source: str
    """Source language, BCP-47."""
    target: str
    """Target language, BCP-47."""
    units: list[UnitOf]
    origin: Annotated[str, Field(max_length=200)] = ""
    """Where they are from, for people."""


class MemoryAddAnswer(BaseModel):
    """How many units were given, and how many of them are new; the others have become the newest."""

    units: int
    new: int


class MemoryPart(BaseModel):
    """The units of one pair of languages."""

    source: str
    target: str
    units: int
    first: str
    """When the oldest one was added (ISO 8601, UTC); "" for a file that is only read."""
    last: str


class MemoryStats(BaseModel):
    """What the memory holds."""

    name: str
    grows: bool
    """Whether units can be added."""
    parts: list[MemoryPart]
