"""Requests and answers about corrections."""

from pydantic import BaseModel

from dragoman.serve.native.schema import Body


class FeedbackBody(Body):
    """A translation that a person has corrected, or confirmed."""

    text: str
    """What was translated."""
    correction: str
    """What is right."""
    translation: str = ""
    """What the model translated, if it is known."""
    source: str
    """Source language, BCP-47."""
    target: str
    """Target language, BCP-47."""
    model: str | None = None
    """The model that translated; none: the first one that has the languages."""


class FeedbackAnswer(BaseModel):
    """The answer to a correction, which is on the disk."""

    id: str
    new: bool
    """False: it was there already."""


class FeedbackOf(BaseModel):
    """A correction that is kept."""

    id: str
    text: str
    translation: str
    correction: str
    source: str
    target: str
    model: str
    updated: str
    """ISO 8601, UTC."""


class FeedbackList(BaseModel):
    """Corrections of this sender, the newest first."""

    total: int
    corrections: list[FeedbackOf]
