"""Look inside a model that is served, `/v1/inspect`: what it computed for a sentence, as JSON or as a page."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel
from starlette.responses import HTMLResponse, StreamingResponse

from dragoman.serve.http.access import Call, charged
from dragoman.serve.http.body import takes
from dragoman.serve.http.call import ServiceCall
from dragoman.serve.http.problems import malformed
from dragoman.serve.models.models import ServedModel, ServedPair
from dragoman.serve.native.schema import Body, language_of
from dragoman.serve.work.service import check_size
from dragoman.serve.work.text import TextRequest, choose
from dragoman.text.words.normalise import is_text

# The page is one file, with its scripts and styles inside, and runs its model in a worker; it may load nothing and ask
# nothing.
POLICY = (
    "default-src 'none'; script-src 'unsafe-inline' 'wasm-unsafe-eval'; style-src 'unsafe-inline'; img-src data:; "
    "worker-src blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'; sandbox allow-scripts"
)
# The weights of a page are sent in parts of this many bytes, so that readers who are slow share one copy of them.
PART = 1 << 18

router = APIRouter(prefix="/v1/inspect", tags=["native"])


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
    why_recorded: str | None
    """Why the page of this model has recorded values only; none: the page runs the model."""


@router.post("", openapi_extra=takes(InspectBody))
async def inspect(call: Call) -> InspectAnswer:
    """What the model computed for a sentence, for a model with weights and where PyTorch is installed (501 else)."""
    body = await call.body(InspectBody)
    async with _counted(call, body) as (model, pair):
        summary = await call.run(call.service.looking.summary, model, pair, body.text, body.translation or None)
    return InspectAnswer.model_validate({**summary, "model": model.name})


@router.get("/page", response_class=HTMLResponse, response_model=None)
async def page(
    call: Call,
    text: Annotated[str, Query(description="One line of up to 100 tokens")],
    translation: Annotated[str | None, Query(description="A translation; none: the model's own")] = None,
    source: Annotated[str | None, Query(description="Source language, BCP-47")] = None,
    target: Annotated[str | None, Query(description="Target language, BCP-47")] = None,
    model: Annotated[str | None, Query(description="Name of a model")] = None,
) -> StreamingResponse:
    """What the model computed for a sentence, as the page with every quantity that `dragoman look --html` writes.

    The page runs the model, so that a reader can type another sentence there, where a page can; it says where not. It
    has no film of the training.
    """
    body = InspectBody(text=text, translation=translation, source=source, target=target, model=model)
    async with _counted(call, body) as (chosen, pair):
        parts = await call.run(call.service.looking.page, chosen, pair, text, translation or None)
    headers = {"Content-Security-Policy": POLICY, "Content-Length": str(sum(map(len, parts)))}
    return StreamingResponse(_sliced(parts), media_type="text/html", headers=headers)


async def _sliced(parts: Sequence[bytes]) -> AsyncIterator[bytes]:
    for part in parts:
        for begin in range(0, len(part), PART):
            yield part[begin : begin + PART]


@asynccontextmanager
async def _counted(call: ServiceCall, body: InspectBody) -> AsyncIterator[tuple[ServedModel, ServedPair]]:
    """The model and the pair, in a block as `charged`. Raises what `choose` raises, and Problem for what is no line."""
    texts = [body.text, body.translation or ""]
    check_size(TextRequest(texts), call.service.limits)
    if not all(map(is_text, texts)):
        raise malformed("text, translation: contains an unpaired surrogate (invalid Unicode); fix the encoding")
    if not body.text.strip() or any(len(text.strip().splitlines()) > 1 for text in texts):
        raise malformed("text, translation: give one line, best one sentence")
    request = TextRequest([body.text], language_of(body.source), body.target, body.model)
    async with charged(call, request) as counted:
        (choice,) = await call.run(choose, counted, call.service.models)
        if choice is None:
            raise malformed(f"text: seems to be in {body.target} already; name its language as source")
        yield choice.model, choice.pair
