"""Corrections, `/v1/feedback`: kept for `dragoman improve`; a sender sees and deletes its own."""

from datetime import UTC, datetime
from functools import partial
from typing import Annotated

from fastapi import APIRouter, Path, Query, Request

from dragoman.serve.http.body import json_object, validated
from dragoman.serve.http.described import PROBLEMS, takes
from dragoman.serve.http.http import sender_of, service_of
from dragoman.serve.http.problems import Problem, malformed
from dragoman.serve.native.feedback_schema import FeedbackAnswer, FeedbackBody, FeedbackList, FeedbackOf
from dragoman.serve.store.corrections import CorrectionLimit, NewCorrection, StoredCorrection
from dragoman.serve.work.service import check_size
from dragoman.serve.work.text import TextRequest
from dragoman.text.words.normalise import is_text

Id = Annotated[str, Path(min_length=32, max_length=32, pattern="^[0-9a-f]*$", description="Id of a correction")]

router = APIRouter(prefix="/v1/feedback", tags=["native"], responses=PROBLEMS)


@router.post("", openapi_extra=takes(FeedbackBody))
async def add(request: Request) -> FeedbackAnswer:
    """Keep a correction. It is on the disk when the answer comes; the same one again changes only its time."""
    return await keep(request, validated(FeedbackBody, await json_object(request)))


@router.get("")
async def owned(
    request: Request,
    first: Annotated[int, Query(ge=0, le=1_000_000, description="How many are left out, of the newest")] = 0,
    count: Annotated[int, Query(ge=1, le=1000, description="How many are wanted, at most")] = 100,
) -> FeedbackList:
    """The corrections of this sender, the newest first."""
    service = service_of(request)
    total, found = await service.run(partial(service.corrections.owned, sender_of(request), first, count))
    return FeedbackList(total=total, corrections=[_shown(one) for one in found])


@router.delete("/{correction}", status_code=204)
async def delete(request: Request, correction: Id) -> None:
    """Delete a correction of this sender."""
    service = service_of(request)
    if not await service.run(partial(service.corrections.delete, sender_of(request), correction)):
        detail = f"no correction {correction} of this sender; GET /v1/feedback lists them"
        raise Problem(404, "unknown-correction", "There is no such correction", detail)


async def keep(request: Request, given: FeedbackBody) -> FeedbackAnswer:
    """Check a correction and keep it. Raises Problem, UnknownLanguage, UnknownModel, TooLarge."""
    service, texts = service_of(request), [given.text, given.translation, given.correction]
    check_size(TextRequest(texts), service.limits)
    if not all(is_text(text) and "\0" not in text for text in texts):
        raise malformed("a text contains an unpaired surrogate or a null character; fix the encoding")
    if not given.text.strip() or not given.correction.strip():
        raise malformed("a blank text or correction; give both")
    model, pair = service.models.choose(given.source or "?", given.target or "?", given.model)
    new = NewCorrection(given.text, given.translation, given.correction, pair.source, pair.target, model.name)
    try:
        number, is_new = await service.run(partial(service.corrections.add, sender_of(request), new))
    except CorrectionLimit as error:
        raise Problem(413, "correction-limit", "No more corrections can be kept", str(error)) from None
    return FeedbackAnswer(id=number, new=is_new)


def _shown(one: StoredCorrection) -> FeedbackOf:
    updated = datetime.fromtimestamp(one.updated / 1e6, UTC).isoformat(timespec="milliseconds")
    return FeedbackOf(
        id=one.id,
        text=one.source,
        translation=one.translation,
        correction=one.correction,
        source=one.source_language,
        target=one.target_language,
        model=one.model,
        updated=updated,
    )
