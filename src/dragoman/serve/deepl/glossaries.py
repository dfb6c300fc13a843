"""The dialect of DeepL for glossaries: `/v2/glossaries`, of one pair of languages, and `/v3/glossaries`, of several.

They are those of `/v1/glossaries`. A glossary with more than one dictionary is only in version 3.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any, Literal, cast

from fastapi import APIRouter, Request
from starlette.responses import Response

from dragoman.serve.dialect_schema import (
    DeepLDictionaryBody,
    DeepLGlossariesBody,
    DeepLGlossaryBody,
    DeepLGlossaryChange,
    takes_forms,
)
from dragoman.serve.http.body import fields
from dragoman.serve.http.described import takes
from dragoman.serve.http.http import kept_dictionaries, sender_of, service_of
from dragoman.serve.http.problems import malformed
from dragoman.serve.models.models import Models
from dragoman.serve.native.glossaries import MEDIA, checked_name, iso
from dragoman.serve.store.glossaries import Languages, StoredGlossary, UnknownGlossary
from dragoman.serve.store.terms import plain_tsv, read_plain_terms
from dragoman.text.terms.glossary import Glossary
from dragoman.text.words.language import primary_language
from dragoman.text.words.normalise import is_text

router = APIRouter(tags=["DeepL"])


@router.get("/v2/glossary-language-pairs")
async def language_pairs(request: Request) -> dict[str, Any]:
    """The pairs of languages that a glossary may have: those that are served."""
    pairs = dict.fromkeys(_tags(pair.source, pair.target) for pair in service_of(request).models.pairs)
    return {"supported_languages": [{"source_lang": source, "target_lang": target} for source, target in pairs]}


@router.post("/v2/glossaries", status_code=201, openapi_extra=takes_forms(DeepLGlossaryBody))
async def create(request: Request) -> dict[str, Any]:
    """Keep a glossary: `name`, `source_lang`, `target_lang`, `entries`, and `entries_format`, tsv or csv."""
    given = await _fields(request)
    return _single(await _create(request, given, {**await _dictionary(request, given)}))


@router.get("/v2/glossaries")
async def owned(request: Request) -> dict[str, Any]:
    """The glossaries of one pair of languages."""
    return {"glossaries": [_single(one) for one in await _owned(request) if len(one.counts) == 1]}


@router.get("/v2/glossaries/{glossary}")
async def get(request: Request, glossary: str) -> dict[str, Any]:
    """One glossary."""
    return _single(_one_pair(await _get(request, glossary)))


@router.get("/v2/glossaries/{glossary}/entries", response_class=Response)
async def entries(request: Request, glossary: str) -> Response:
    """Its entries as TSV."""
    [languages] = _one_pair(await _get(request, glossary)).counts
    return Response(plain_tsv(await _entries(request, glossary, languages)), media_type=MEDIA["tsv"])


@router.delete("/v2/glossaries/{glossary}", status_code=204)
@router.delete("/v3/glossaries/{glossary}", status_code=204)
async def delete(request: Request, glossary: str) -> None:
    """Delete it."""
    service = service_of(request)
    await service.run(partial(service.glossaries.delete, sender_of(request), glossary))


@router.post("/v3/glossaries", status_code=201, openapi_extra=takes(DeepLGlossariesBody))
async def create_multilingual(request: Request) -> dict[str, Any]:
    """Keep a glossary of several `dictionaries`, each with languages and entries."""
    given = await _fields(request)
    return _multilingual(await _create(request, given, await _dictionaries(request, given)))


@router.get("/v3/glossaries")
async def owned_multilingual(request: Request) -> dict[str, Any]:
    """All glossaries."""
    return {"glossaries": list(map(_multilingual, await _owned(request)))}


@router.get("/v3/glossaries/{glossary}")
async def get_multilingual(request: Request, glossary: str) -> dict[str, Any]:
    """One glossary."""
    return _multilingual(await _get(request, glossary))


@router.patch("/v3/glossaries/{glossary}", openapi_extra=takes(DeepLGlossaryChange))
async def change(request: Request, glossary: str) -> dict[str, Any]:
    """Give it another `name`, or add the entries of `dictionaries` to those that there are."""
    given, service, sender = await _fields(request), service_of(request), sender_of(request)
    name = checked_name(_string(given, "name")) if given.get("name") is not None else None
    added = await _dictionaries(request, given) if given.get("dictionaries") else {}
    if name is None and not added:
        raise malformed("Give a 'name' or 'dictionaries'.")
    if added:
        found = await service.run(partial(service.glossaries.put, sender, glossary, added, merge=True))
    if name is not None:
        found = await service.run(partial(service.glossaries.rename, sender, glossary, name))
    return _multilingual(found)


@router.get("/v3/glossaries/{glossary}/entries")
async def entries_multilingual(request: Request, glossary: str) -> dict[str, Any]:
    """The entries of `source_lang` and `target_lang` as TSV, within JSON."""
    languages = _languages(await _fields(request))
    tsv = plain_tsv(await _entries(request, glossary, languages))
    written = dict(zip(("source_lang", "target_lang"), _tags(*languages), strict=True))
    return {"dictionaries": [{**written, "entries": tsv, "entries_format": "tsv"}]}


@router.put("/v3/glossaries/{glossary}/dictionaries", openapi_extra=takes_forms(DeepLDictionaryBody))
async def put_dictionary(request: Request, glossary: str) -> dict[str, Any]:
    """Write the dictionary of a pair of languages in place of the one that there is."""
    given, service = await _fields(request), service_of(request)
    written = await _dictionary(request, given)
    found = await service.run(partial(service.glossaries.put, sender_of(request), glossary, written))
    [languages] = written
    return next(one for one in _multilingual(found)["dictionaries"] if tuple(one.values())[:2] == _tags(*languages))


@router.delete("/v3/glossaries/{glossary}/dictionaries", status_code=204)
async def delete_dictionary(request: Request, glossary: str) -> None:
    """Delete the dictionary of `source_lang` and `target_lang`."""
    languages, service = _languages(await _fields(request)), service_of(request)
    await service.run(partial(service.glossaries.delete_dictionary, sender_of(request), glossary, languages))


async def stored_dictionaries(request: Request, given: Mapping[str, Any]) -> dict[Languages, Glossary] | None:
    """What `glossary_id`, or `glossary_ids`, of a translation name; None: neither is given. Raises UnknownGlossary."""
    several = glossary_ids(given)
    return await kept_dictionaries(request, several) if several else None


def glossary_ids(given: Mapping[str, Any]) -> list[str]:
    """The ids of the glossaries that a request names. Raises Problem."""
    several = given.get("glossary_ids") or ([given["glossary_id"]] if given.get("glossary_id") else [])
    several = several.split(",") if isinstance(several, str) else several
    if not isinstance(several, list) or len(several) > 5 or not all(isinstance(one, str) for one in several):
        raise malformed("Parameter 'glossary_ids': give up to 5 ids.")
    if several and not given.get("source_lang"):
        raise malformed("Parameter 'source_lang' is missing: a glossary needs it.")
    return several


async def _fields(request: Request) -> dict[str, Any]:
    return await fields(request, service_of(request).limits.body_bytes)


async def _create(
    request: Request, given: Mapping[str, Any], dictionaries: dict[Languages, Glossary]
) -> StoredGlossary:
    service, name = service_of(request), checked_name(_string(given, "name"))
    return await service.run(partial(service.glossaries.create, sender_of(request), name, dictionaries))


async def _owned(request: Request) -> list[StoredGlossary]:
    service = service_of(request)
    return await service.run(partial(service.glossaries.owned, sender_of(request)))


async def _get(request: Request, glossary: str) -> StoredGlossary:
    service = service_of(request)
    return await service.run(partial(service.glossaries.get, sender_of(request), glossary))


async def _entries(request: Request, glossary: str, languages: Languages) -> Glossary:
    service = service_of(request)
    return await service.run(partial(service.glossaries.entries, sender_of(request), glossary, languages))


async def _dictionary(request: Request, given: Mapping[str, Any]) -> dict[Languages, Glossary]:
    """The languages and terms of a dictionary as it is sent. Raises UnknownLanguage, DataError and Problem."""
    service = service_of(request)
    return await service.run(partial(_read, given, service.models))


async def _dictionaries(request: Request, given: Mapping[str, Any]) -> dict[Languages, Glossary]:
    listed, found = given.get("dictionaries"), dict[Languages, Glossary]()
    if not isinstance(listed, list) or not listed or not all(isinstance(one, dict) for one in listed):
        raise malformed("Parameter 'dictionaries' not specified, or not a list of objects.")
    for one in listed:
        new = await _dictionary(request, one)
        if new.keys() & found.keys():
            raise malformed("Parameter 'dictionaries': two of the same languages; give one.")
        found |= new
    return found


def _read(given: Mapping[str, Any], models: Models) -> dict[Languages, Glossary]:
    _, pair = models.choose(*_languages(given))
    form, content = given.get("entries_format") or "tsv", _string(given, "entries")
    if form not in ("tsv", "csv"):
        raise malformed("Parameter 'entries_format': tsv and csv are known.")
    if not is_text(content):
        raise malformed("Parameter 'entries': an unpaired surrogate (invalid Unicode); fix the encoding.")
    languages = _tags(pair.source, pair.target)
    return {languages: read_plain_terms(content, cast("Literal['tsv', 'csv']", form), languages)}


def _languages(given: Mapping[str, Any]) -> Languages:
    return _string(given, "source_lang"), _string(given, "target_lang")


def _string(given: Mapping[str, Any], name: str) -> str:
    value = given.get(name)
    if not isinstance(value, str) or not value:
        raise malformed(f"Parameter '{name}' not specified, or not a string.")
    return value


def _tags(source: str, target: str) -> Languages:
    return primary_language(source), primary_language(target)


def _one_pair(found: StoredGlossary) -> StoredGlossary:
    if len(found.counts) != 1:
        raise UnknownGlossary(f"the glossary {found.id} has {len(found.counts)} dictionaries; ask /v3/glossaries")
    return found


def _single(found: StoredGlossary) -> dict[str, Any]:
    [((source, target), count)] = found.counts.items()
    languages = {"source_lang": source, "target_lang": target, "entry_count": count}
    return {
        "glossary_id": found.id, "name": found.name, "ready": True, "creation_time": iso(found.created), **languages
    }  # fmt: skip


def _multilingual(found: StoredGlossary) -> dict[str, Any]:
    counts = [
        {"source_lang": source, "target_lang": target, "entry_count": count}
        for (source, target), count in found.counts.items()
    ]
    time = iso(found.created)
    return {"glossary_id": found.id, "name": found.name, "dictionaries": counts, "creation_time": time}
