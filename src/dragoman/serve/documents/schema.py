"""Answers about documents of the native dialect, as OpenAPI shows them."""

from datetime import datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict

from dragoman.serve.documents.document import StoredDocument


class DocumentProgress(BaseModel):
    """Texts of the document that are done, of all; 0 of 0 before they were counted."""

    done: int
    total: int


class DocumentAnswer(BaseModel):
    """A document, and how far its translation is."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    id: str
    name: str
    state: Literal["queued", "translating", "done", "failed"]
    source: str
    """Languages and model; empty before they are known."""
    target: str
    model: str
    progress: DocumentProgress
    seconds_left: float | None
    """An estimate; null before the first texts and afterwards."""
    result: str
    """File name of the translation; empty before it is done."""
    units: int
    """Pieces of text."""
    characters: int
    flagged: int
    """Pieces of text that a person should look at: `/v1/documents/{id}/review`."""
    warnings: list[str]
    error: str
    """Why it failed."""
    created: datetime
    expires: datetime | None
    """When it is removed; null before it is finished."""


class DocumentsAnswer(BaseModel):
    """The documents of the sender, in the order in which they came."""

    documents: list[DocumentAnswer]


class ReviewRow(BaseModel):
    """A piece of text that a person should look at, and why."""

    file: str
    location: str
    source: str
    translation: str
    why: str


class ReviewAnswer(BaseModel):
    """The pieces of text that a person should look at."""

    rows: list[ReviewRow]


def answer_of(document: StoredDocument) -> DocumentAnswer:
    """The answer for a document."""
    facts, left = document.facts, document.seconds_left
    return DocumentAnswer(
        id=facts.id,
        name=facts.name,
        state=facts.state,
        source=facts.source,
        target=facts.target,
        model=facts.model,
        progress=DocumentProgress(done=document.done, total=document.total),
        seconds_left=None if left is None else round(left, 1),
        result=facts.result,
        units=facts.units,
        characters=facts.characters,
        flagged=facts.flagged,
        warnings=facts.warnings,
        error=facts.error,
        created=datetime.fromtimestamp(facts.created).astimezone(),
        expires=None if facts.expires is None else datetime.fromtimestamp(facts.expires).astimezone(),
    )
