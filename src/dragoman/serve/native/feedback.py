"""Corrections, `/v1/feedback`: kept for `dragoman improve`; a sender sees and deletes its own."""

from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel

from dragoman.serve.http.access import Call
from dragoman.serve.http.body import takes
from dragoman.serve.http.call import ServiceCall
from dragoman.serve.http.problems import Problem, malformed
from dragoman.serve.native.schema import Body
from dragoman.serve.store.corrections import CorrectionLimit, NewCorrection, StoredCorrection
from dragoman.serve.work.service import check_size
from dragoman.serve.work.text import TextRequest
from dragoman.text.words.normalise import is_text

Id = Annotated[str, Path(min_length=32, max_length=32, pattern="^[0-9a-f]*$", description="Id of a correction")]


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


router = APIRouter(prefix="/v1/feedback", tags=["native"])


@router.post("", openapi_extra=takes(FeedbackBody))
async def add(call: Call) -> FeedbackAnswer:
    """Keep a correction. It is on the disk when the answer comes; the same one again changes only its time."""
    return await keep(call, await call.body(FeedbackBody))


@router.get("")
async def owned(
    call: Call,
    first: Annotated[int, Query(ge=0, le=1_000_000, description="How many are left out, of the newest")] = 0,
    count: Annotated[int, Query(ge=1, le=1000, description="How many are wanted, at most")] = 100,
) -> FeedbackList:
    """The corrections of this sender, the newest first."""
    total, corrections = await call.run(call.service.corrections.owned, call.sender, first, count)
    return FeedbackList(total=total, corrections=list(map(_shown, corrections)))


@router.delete("/{correction}", status_code=204)
async def delete(call: Call, correction: Id) -> None:
    """Delete a correction of this sender."""
    if not await call.run(call.service.corrections.delete, call.sender, correction):
        detail = f"no correction {correction} of this sender; GET /v1/feedback lists them"
        raise Problem(404, "unknown-correction", "There is no such correction", detail)


async def keep(call: ServiceCall, body: FeedbackBody) -> FeedbackAnswer:
    """Check a correction and keep it. Raises Problem, UnknownLanguage, UnknownModel, TooLarge."""
    service, texts = call.service, [body.text, body.translation, body.correction]
    check_size(TextRequest(texts), service.limits)
    if not all(is_text(text) and "\0" not in text for text in texts):
        raise malformed("a text contains an unpaired surrogate or a null character; fix the encoding")
    if not body.text.strip() or not body.correction.strip():
        raise malformed("a blank text or correction; give both")
    model, pair = service.models.choose(body.source or "?", body.target or "?", [body.model] if body.model else ())
    new = NewCorrection(body.text, body.translation, body.correction, pair.source, pair.target, model.name)
    try:
        number, is_new = await call.run(service.corrections.add, call.sender, new)
    except CorrectionLimit as error:
        raise Problem(413, "correction-limit", "No more corrections can be kept", str(error)) from None
    return FeedbackAnswer(id=number, new=is_new)


def _shown(stored: StoredCorrection) -> FeedbackOf:
    updated = datetime.fromtimestamp(stored.updated / 1e6, UTC).isoformat(timespec="milliseconds")
    return FeedbackOf(
        id=stored.id,
        text=stored.source,
        translation=stored.translation,
        correction=stored.correction,
        source=stored.source_language,
        target=stored.target_language,
        model=stored.model,
        updated=updated,
    )
