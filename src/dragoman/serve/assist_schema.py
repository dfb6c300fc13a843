"""Requests and answers of what helps a person who translates: alternatives of a word."""

from typing import Annotated

from pydantic import BaseModel, Field

from dragoman.serve.schema import Body


class AlternativesBody(Body):
    """A sentence, and the beginning of its translation that stays."""

    text: str
    """One line; a sentence is best, because the prefix belongs to the first sentence of the line."""
    prefix: str = ""
    """What the translation begins with. With a space at its end, its last word is whole."""
    source: str | None = None
    """Source language, BCP-47; `auto` or none: detected."""
    target: str | None = None
    """Target language, BCP-47; may be left out where there is only one."""
    model: str | None = None
    """Name of a model of `/v1/models`."""
    count: Annotated[int, Field(ge=1, le=32)] = 8
    """Words that are wanted, at most; there may be fewer."""


class Alternative(BaseModel):
    """A word that may come after the prefix, and the best translation that continues with it."""

    word: str
    """Up to the next space; "" where the translation ends with the prefix."""
    text: str
    """The whole translation; it begins with the prefix, its white space normalised."""
    score: float
    log_prob: float


class AlternativesAnswer(BaseModel):
    """The alternatives, best first."""

    alternatives: list[Alternative]
    source: str
    target: str
    model: str
