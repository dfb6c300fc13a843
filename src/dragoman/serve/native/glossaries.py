"""Glossaries that are kept on the service, `/v1/glossaries`: a sender sees its own, and translates with them by id."""

from datetime import UTC, datetime
from functools import partial
from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query, Request
from starlette.responses import JSONResponse, Response

from dragoman.serve.http.body import json_object, validated
from dragoman.serve.http.described import PROBLEMS, takes
from dragoman.serve.http.http import sender_of, service_of
from dragoman.serve.http.problems import malformed
from dragoman.serve.models.models import Models
from dragoman.serve.native.glossary_schema import (
    DictionaryBody,
    DictionaryOf,
    EntriesAnswer,
    GlossariesAnswer,
    GlossaryBody,
    GlossaryName,
    GlossaryOf,
)
from dragoman.serve.store.glossaries import Languages, StoredGlossary
from dragoman.serve.store.terms import read_terms, written
from dragoman.text.terms.glossary import Glossary
from dragoman.text.words.normalise import is_text

MEDIA = {"tsv": "text/tab-separated-values", "csv": "text/csv"}

Id = Annotated[str, Path(description="The `id` of the glossary")]
Source = Annotated[str, Query(description="Source language, BCP-47")]
Target = Annotated[str, Query(description="Target language, BCP-47")]

router = APIRouter(prefix="/v1/glossaries", tags=["native"], responses=PROBLEMS)


@router.post("", status_code=201, openapi_extra=takes(GlossaryBody))
async def create(request: Request) -> GlossaryOf:
    """Keep a glossary; its `id` is for the field `glossary_id` of a translation."""
    given = validated(GlossaryBody, await json_object(request))
    name, service = checked_name(given.name), service_of(request)
    languages, glossary = await service.run(partial(_dictionary, given, service.models))
    work = partial(service.glossaries.create, sender_of(request), name, {languages: glossary})
    return _shown(await service.run(work))


@router.get("")
async def owned(request: Request) -> GlossariesAnswer:
    """All glossaries of the sender."""
    service = service_of(request)
    found = await service.run(partial(service.glossaries.owned, sender_of(request)))
    return GlossariesAnswer(glossaries=list(map(_shown, found)))


@router.get("/{glossary}")
async def get(request: Request, glossary: Id) -> GlossaryOf:
    """One glossary, without its terms."""
    service = service_of(request)
    return _shown(await service.run(partial(service.glossaries.get, sender_of(request), glossary)))


@router.patch("/{glossary}", openapi_extra=takes(GlossaryName))
async def rename(request: Request, glossary: Id) -> GlossaryOf:
    """Give it another name."""
    name = checked_name(validated(GlossaryName, await json_object(request)).name)
    service = service_of(request)
    return _shown(await service.run(partial(service.glossaries.rename, sender_of(request), glossary, name)))


@router.delete("/{glossary}", status_code=204)
async def delete(request: Request, glossary: Id) -> None:
    """Delete it, with all its dictionaries."""
    service = service_of(request)
    await service.run(partial(service.glossaries.delete, sender_of(request), glossary))


@router.get(
    "/{glossary}/entries",
    response_model=EntriesAnswer,
    responses={200: {"content": {media: {"schema": {"type": "string"}} for media in MEDIA.values()}}},
)
async def entries(
    request: Request,
    glossary: Id,
    source: Source,
    target: Target,
    form: Annotated[Literal["json", "tsv", "csv"], Query(alias="format", description="What the answer is")] = "json",
) -> Response:
    """The terms of a pair of languages, as JSON or as a file."""
    service = service_of(request)
    languages = (source, target)
    found = await service.run(partial(service.glossaries.entries, sender_of(request), glossary, languages))
    if form != "json":
        return Response(written(found.entries, form), media_type=MEDIA[form])
    terms = {one.term: list(one.translations) for one in found.entries}
    return JSONResponse(EntriesAnswer(source=source, target=target, entries=terms).model_dump())


@router.put("/{glossary}/entries", openapi_extra=takes(DictionaryBody))
async def put_entries(request: Request, glossary: Id) -> GlossaryOf:
    """Write the terms of a pair of languages, in place of those that there are."""
    given = validated(DictionaryBody, await json_object(request))
    service = service_of(request)
    languages, terms = await service.run(partial(_dictionary, given, service.models))
    work = partial(service.glossaries.put, sender_of(request), glossary, {languages: terms})
    return _shown(await service.run(work))


@router.delete("/{glossary}/entries", status_code=204)
async def delete_entries(request: Request, glossary: Id, source: Source, target: Target) -> None:
    """Delete the terms of a pair of languages."""
    service = service_of(request)
    work = partial(service.glossaries.delete_dictionary, sender_of(request), glossary, (source, target))
    await service.run(work)


def checked_name(name: str) -> str:
    """A name without spaces around it. Raises Problem for none, and for what is no text."""
    found = " ".join(name.split())
    if not found or not is_text(found) or "\0" in found:
        raise malformed("name: blank, or no valid text; give the glossary a name")
    return found


def iso(microseconds: int) -> str:
    """A time in ISO 8601 with all its microseconds, as clients of DeepL expect it."""
    return datetime.fromtimestamp(microseconds / 1e6, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def _dictionary(given: DictionaryBody, models: Models) -> tuple[Languages, Glossary]:
    """The languages and terms of a request. Raises UnknownLanguage, DataError, and Problem."""
    _, pair = models.choose(given.source or "?", given.target or "?")
    if (given.entries is None) == (given.text is None):
        raise malformed('entries, text: give one of them, such as "entries": {"server": "서버"}')
    if given.text is not None:
        return (pair.source, pair.target), read_terms(given.text, given.format, pair.source, pair.target)
    if not given.entries:
        raise malformed("entries: no terms; give at least one")
    return (pair.source, pair.target), Glossary.of(given.entries, "entries")


def _shown(found: StoredGlossary) -> GlossaryOf:
    counts = [DictionaryOf(source=source, target=target, entries=n) for (source, target), n in found.counts.items()]
    return GlossaryOf(id=found.id, name=found.name, created=iso(found.created), dictionaries=counts)
