"""Look inside a model that is served, `/v1/inspect`: what it computed for a sentence, as JSON or as a page."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel
from starlette.responses import HTMLResponse

from dragoman.serve.http.access import charged
from dragoman.serve.http.body import json_object, validated
from dragoman.serve.http.described import PROBLEMS, problem_of_status, takes
from dragoman.serve.http.http import service_of
from dragoman.serve.http.problems import malformed
from dragoman.serve.models.models import ServedModel, ServedPair
from dragoman.serve.native.schema import Body
from dragoman.serve.work.service import check_size
from dragoman.serve.work.text import TextRequest, choose
from dragoman.text.words.normalise import is_text

# The page is one file, with its scripts and styles inside; it may load nothing and ask nothing.
POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'self'; sandbox allow-scripts"
)

router = APIRouter(prefix="/v1/inspect", tags=["native"], responses={**PROBLEMS, **problem_of_status(501)})


class InspectBody(Body):
    """A sentence, and the translation that is to be looked at; none: the model's own."""

    text: str
    """One line of up to 100 tokens."""
    translation: str | None = None
    source: str | None = None
    """Source language, BCP-47; `auto` or none: detected."""
    target: str | None = None
    """Target language, BCP-47; may be left out where there is only one."""
    model: str | None = None
    """Name of a model of `/v1/models`."""


class InspectedStep(BaseModel):
    """A piece of the translation, its probability, and the likeliest other pieces at its position."""

    piece: str
    probability: float
    instead: list[tuple[str, float]]


class InspectedHypothesis(BaseModel):
    """A hypothesis of the search."""

    text: str
    score: float
    log_prob: float


class InspectAnswer(BaseModel):
    """What `dragoman look --json` prints, and the cross-attention."""

    source: str
    translation: str
    log_prob: float
    pieces: dict[str, list[str]]
    """`source`: of the encoder's input; `input` and `output`: of the decoder's."""
    steps: list[InspectedStep]
    hypotheses: list[InspectedHypothesis]
    cross_attention: list[list[list[float]]]
    """By layers of the decoder: from each piece of `output` to each of `source`, the mean of the heads."""
    model: str


@router.post("", openapi_extra=takes(InspectBody))
async def inspect(request: Request) -> InspectAnswer:
    """What the model computed for a sentence, for a model with weights and where PyTorch is installed (501 else)."""
    given, service = validated(InspectBody, await json_object(request)), service_of(request)
    async with _counted(request, given) as (model, pair):
        work = partial(service.looking.summary, model, pair, given.text, given.translation or None)
        found: dict[str, Any] = await service.run(work)
    return InspectAnswer.model_validate({**found, "model": model.name})


@router.get("/page", response_class=HTMLResponse)
async def page(
    request: Request,
    text: Annotated[str, Query(description="One line of up to 100 tokens")],
    translation: Annotated[str | None, Query(description="A translation; none: the model's own")] = None,
    source: Annotated[str | None, Query(description="Source language, BCP-47")] = None,
    target: Annotated[str | None, Query(description="Target language, BCP-47")] = None,
    model: Annotated[str | None, Query(description="Name of a model")] = None,
) -> HTMLResponse:
    """The same as one page with every quantity, that of `dragoman look --html`."""
    service = service_of(request)
    given = InspectBody(text=text, translation=translation, source=source, target=target, model=model)
    async with _counted(request, given) as (chosen, pair):
        work = partial(service.looking.page, chosen, pair, text, translation or None)
        return HTMLResponse(await service.run(work), headers={"Content-Security-Policy": POLICY})


@asynccontextmanager
async def _counted(request: Request, given: InspectBody) -> AsyncIterator[tuple[ServedModel, ServedPair]]:
    """The model and the pair, in a block as `charged`. Raises what `choose` raises, and Problem for what is no line."""
    service, texts = service_of(request), [given.text, given.translation or ""]
    check_size(TextRequest(texts), service.limits)
    if not all(map(is_text, texts)):
        raise malformed("text, translation: contains an unpaired surrogate (invalid Unicode); fix the encoding")
    if not given.text.strip() or any(len(text.strip().splitlines()) > 1 for text in texts):
        raise malformed("text, translation: give one line, best one sentence")
    source = None if given.source in (None, "", "auto") else given.source
    async with charged(request, TextRequest([given.text], source, given.target, given.model)) as asked:
        (found,) = await service.run(partial(choose, asked, service.models))
        if found is None:
            raise malformed(f"text: seems to be in {given.target} already; name its language as source")
        yield found.model, found.pair
