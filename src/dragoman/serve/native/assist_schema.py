"""Requests and answers of what helps a person who translates: alternatives of a word, scores of a translation."""

from typing import Annotated

from pydantic import BaseModel, Field

from dragoman.serve.native.schema import Body, Warned


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


class ScoreBody(Body):
    """Sources and their given translations."""

    text: str | list[str]
    """A line, or several."""
    translation: str | list[str]
    """The translation of the line, or of each line."""
    source: str | None = None
    """Source language, BCP-47; `auto` or none: detected."""
    target: str | None = None
    """Target language, BCP-47; may be left out where there is only one."""
    model: str | None = None
    """Name of a model of `/v1/models`."""


class TokenScore(BaseModel):
    """log P of one token in nats, given the source and the tokens before it."""

    piece: str
    log_prob: float


class ScoreOf(BaseModel):
    """The scores of one translation."""

    log_prob: float
    """The sum over its tokens and EOS."""
    per_token: float
    """The mean."""
    tokens: list[TokenScore]
    """The last one is EOS, the end of the sentence."""
    confidence: float | None = None
    """The probability that a person would accept it, if the model has learned that."""
    warnings: list[Warned] = []
    source: str
    target: str
    model: str
    detected: float | None = None


class ScoreAnswer(BaseModel):
    """The scores, one for each line, in order."""

    scores: list[ScoreOf]
