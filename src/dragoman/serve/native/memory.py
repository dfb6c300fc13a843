"""The translation memory of the service, `/v1/memory`: what it holds, search, new units, and all of it as a file."""

from dataclasses import asdict
from typing import Annotated, Literal

from fastapi import APIRouter, Query
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, Field

from dragoman.errors import ResourceError
from dragoman.memory import MemoryUnit
from dragoman.serve.http.access import Call
from dragoman.serve.http.body import takes
from dragoman.serve.http.problems import Problem, malformed
from dragoman.serve.models.memories import Memories
from dragoman.serve.native.schema import Body
from dragoman.serve.work.service import Service, check_size
from dragoman.serve.work.text import TextRequest
from dragoman.text.words.normalise import is_text
from dragoman.workflows.documents.memory import memory_lines

MEDIA = {"tmx": "application/xml", "tsv": "text/tab-separated-values"}


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


router = APIRouter(prefix="/v1/memory", tags=["native"])


@router.get("")
async def stats(call: Call) -> MemoryStats:
    """What the memory holds, by pairs of languages."""
    memories = _memories(call.service)
    parts = [MemoryPart(**asdict(contents)) for contents in await call.run(memories.stats)]
    return MemoryStats(name=memories.path.name, grows=memories.grows, parts=parts)


@router.post("/search", openapi_extra=takes(MemorySearchBody))
async def search(call: Call) -> MemorySearchAnswer:
    """Units whose source equals a text, differs from it in its numbers alone, or is similar."""
    body = await call.body(MemorySearchBody)
    check_size(TextRequest([body.text]), call.service.limits)
    source, target = _checked(call.service, body.source, body.target, [body.text])
    search_memory = _memories(call.service).search
    try:
        matches = await call.run(search_memory, source, target, body.text, body.threshold, body.count)
    except ResourceError as error:
        raise Problem(501, "not-installed", "Something is not installed", str(error)) from None
    return MemorySearchAnswer(matches=[MatchOf(**asdict(match)) for match in matches])


@router.post("/units", openapi_extra=takes(MemoryAddBody))
async def add(call: Call) -> MemoryAddAnswer:
    """Add units that a person has confirmed, for all who use this service; all of them or, after an error, none."""
    body = await call.body(MemoryAddBody)
    texts = [text for unit in body.units for text in (unit.source, unit.target)]
    check_size(TextRequest([unit.source for unit in body.units]), call.service.limits)
    check_size(TextRequest([unit.target for unit in body.units]), call.service.limits)
    source, target = _checked(call.service, body.source, body.target, [*texts, body.origin])
    if any("\0" in text or len(text.strip().splitlines()) > 1 for text in (*texts, body.origin)):
        raise malformed("units: a line break or a null character; give one line in each, such as a sentence")
    if not all(text.strip() for text in texts):
        raise malformed("units: a blank source or target; give both")
    units = [MemoryUnit(unit.source, unit.target, body.origin) for unit in body.units]
    new = await call.run(_memories(call.service).add, source, target, units)
    return MemoryAddAnswer(units=len(units), new=new)


@router.get(
    "/export", response_class=StreamingResponse, responses={200: {"content": {media: {} for media in MEDIA.values()}}}
)
async def export(
    call: Call,
    source: Annotated[str, Query(description="Source language, BCP-47")],
    target: Annotated[str, Query(description="Target language, BCP-47")],
    form: Annotated[Literal["tmx", "tsv"], Query(alias="format", description="Format of the file")] = "tmx",
) -> StreamingResponse:
    """All units of a pair of languages as a file."""
    pair = _checked(call.service, source, target, [])
    memory = await call.run(_memories(call.service).of, *pair)
    if memory is None:
        raise Problem(404, "no-units", "The memory has nothing", f"the memory has nothing from {source} into {target}")
    name = f"memory-{pair[0]}-{pair[1]}.{form}"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return StreamingResponse(memory_lines(memory, f".{form}"), media_type=MEDIA[form], headers=headers)


def _memories(service: Service) -> Memories:
    if service.memories is None:
        detail = "this service has no translation memory; `dragoman serve --memory FILE` gives it one"
        raise Problem(404, "no-memory", "There is no memory", detail)
    return service.memories


def _checked(service: Service, source: str, target: str, texts: list[str]) -> tuple[str, str]:
    """The pair of languages as a model has it. Raises UnknownLanguage, and Problem for what is no text."""
    _, pair = service.models.choose(source or "?", target or "?")
    if not all(map(is_text, texts)):
        raise malformed("a text contains an unpaired surrogate (invalid Unicode); fix the encoding")
    return pair.source, pair.target
