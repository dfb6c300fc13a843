"""Glossaries that are kept on the service, `/v1/glossaries`: a sender sees its own, and translates with them by id."""

from datetime import UTC, datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, Field
from starlette.responses import JSONResponse, Response

from dragoman.serve.http.access import Call
from dragoman.serve.http.body import takes
from dragoman.serve.http.problems import malformed
from dragoman.serve.models.models import Models
from dragoman.serve.native.schema import Body
from dragoman.serve.store.glossaries import Languages, StoredGlossary
from dragoman.serve.store.terms import read_terms, written
from dragoman.text.terms.glossary import Glossary
from dragoman.text.words.normalise import is_text

MEDIA = {"tsv": "text/tab-separated-values", "csv": "text/csv"}

Id = Annotated[str, Path(description="The `id` of the glossary")]
Source = Annotated[str, Query(description="Source language, BCP-47")]
Target = Annotated[str, Query(description="Target language, BCP-47")]
NAME_LENGTH = 200
Name = Annotated[str, Field(min_length=1, max_length=NAME_LENGTH)]


class DictionaryBody(Body):
    """The terms of a pair of languages: `entries`, or `text` in a `format`."""

    source: str
    """Source language, BCP-47; a glossary holds for all its regions."""
    target: str
    """Target language, BCP-47."""
    entries: dict[str, str | list[str]] | None = None
    """Terms and their required translations; the first of several is preferred."""
    text: str | None = None
    """The content of a file."""
    format: Literal["tsv", "csv", "tbx"] = "tsv"
    """What `text` is: a term and its translations by line, or a term base."""


class GlossaryBody(DictionaryBody):
    """A glossary, with its first dictionary."""

    name: Name


class GlossaryName(Body):
    """Another name of a glossary."""

    name: Name


class DictionaryOf(BaseModel):
    """The dictionary of a pair of languages: how many terms it has."""

    source: str
    target: str
    entries: int


class GlossaryOf(BaseModel):
    """A glossary without its terms."""

    id: str
    name: str
    created: str
    """ISO 8601, UTC."""
    dictionaries: list[DictionaryOf]


class GlossariesAnswer(BaseModel):
    """All glossaries of the sender, the oldest first."""

    glossaries: list[GlossaryOf]


class EntriesAnswer(BaseModel):
    """The terms of a dictionary, each with its translations."""

    source: str
    target: str
    entries: dict[str, list[str]]


router = APIRouter(prefix="/v1/glossaries", tags=["native"])


@router.post("", status_code=201, openapi_extra=takes(GlossaryBody))
async def create(call: Call) -> GlossaryOf:
    """Keep a glossary; its `id` is for the field `glossary_id` of a translation."""
    body = await call.body(GlossaryBody)
    name = checked_name(body.name)
    languages, glossary = await call.run(_dictionary, body, call.service.models)
    return _shown(await call.run(call.service.glossaries.create, call.sender, name, {languages: glossary}))


@router.get("")
async def owned(call: Call) -> GlossariesAnswer:
    """All glossaries of the sender."""
    glossaries = await call.run(call.service.glossaries.owned, call.sender)
    return GlossariesAnswer(glossaries=list(map(_shown, glossaries)))


@router.get("/{glossary}")
async def get(call: Call, glossary: Id) -> GlossaryOf:
    """One glossary, without its terms."""
    return _shown(await call.run(call.service.glossaries.get, call.sender, glossary))


@router.patch("/{glossary}", openapi_extra=takes(GlossaryName))
async def rename(call: Call, glossary: Id) -> GlossaryOf:
    """Give a glossary another name."""
    name = checked_name((await call.body(GlossaryName)).name)
    return _shown(await call.run(call.service.glossaries.rename, call.sender, glossary, name))


@router.delete("/{glossary}", status_code=204)
async def delete(call: Call, glossary: Id) -> None:
    """Delete a glossary with all its dictionaries."""
    await call.run(call.service.glossaries.delete, call.sender, glossary)


@router.get(
    "/{glossary}/entries",
    response_model=EntriesAnswer,
    responses={200: {"content": {media: {"schema": {"type": "string"}} for media in MEDIA.values()}}},
)
async def entries(
    call: Call,
    glossary: Id,
    source: Source,
    target: Target,
    form: Annotated[Literal["json", "tsv", "csv"], Query(alias="format", description="What the answer is")] = "json",
) -> Response:
    """The terms of a pair of languages, as JSON or as a file."""
    dictionary = await call.run(call.service.glossaries.entries, call.sender, glossary, (source, target))
    if form != "json":
        return Response(written(dictionary.entries, form), media_type=MEDIA[form])
    terms = {entry.term: list(entry.translations) for entry in dictionary.entries}
    return JSONResponse(EntriesAnswer(source=source, target=target, entries=terms).model_dump())


@router.put("/{glossary}/entries", openapi_extra=takes(DictionaryBody))
async def put_entries(call: Call, glossary: Id) -> GlossaryOf:
    """Write the terms of a pair of languages, in place of those that there are."""
    body = await call.body(DictionaryBody)
    languages, terms = await call.run(_dictionary, body, call.service.models)
    return _shown(await call.run(call.service.glossaries.put, call.sender, glossary, {languages: terms}))


@router.delete("/{glossary}/entries", status_code=204)
async def delete_entries(call: Call, glossary: Id, source: Source, target: Target) -> None:
    """Delete the terms of a pair of languages."""
    await call.run(call.service.glossaries.delete_dictionary, call.sender, glossary, (source, target))


def checked_name(name: str) -> str:
    """A name without spaces around it. Raises Problem for none, for what is no text, and for a longer one."""
    spaced = " ".join(name.split())
    if not spaced or not is_text(spaced) or "\0" in spaced:
        raise malformed("name: blank, or no valid text; give the glossary a name")
    if len(spaced) > NAME_LENGTH:
        raise malformed(f"name: {len(spaced):,} characters; give the glossary a name of at most {NAME_LENGTH}")
    return spaced


def iso(microseconds: int) -> str:
    """A time in ISO 8601 with all its microseconds, as clients of DeepL expect it."""
    return datetime.fromtimestamp(microseconds / 1e6, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def _dictionary(body: DictionaryBody, models: Models) -> tuple[Languages, Glossary]:
    """The languages and terms of a request. Raises UnknownLanguage, DataError, and Problem."""
    _, pair = models.choose(body.source or "?", body.target or "?")
    if (body.entries is None) == (body.text is None):
        raise malformed('entries, text: give one of them, such as "entries": {"server": "서버"}')
    if body.text is not None:
        return (pair.source, pair.target), read_terms(body.text, body.format, pair.source, pair.target)
    if not body.entries:
        raise malformed("entries: no terms; give at least one")
    return (pair.source, pair.target), Glossary.of(body.entries, "entries")


def _shown(glossary: StoredGlossary) -> GlossaryOf:
    counts = [DictionaryOf(source=source, target=target, entries=n) for (source, target), n in glossary.counts.items()]
    return GlossaryOf(id=glossary.id, name=glossary.name, created=iso(glossary.created), dictionaries=counts)
