"""The dialect of DeepL for glossaries: `/v2/glossaries`, of one pair of languages, and `/v3/glossaries`, of several.

They are those of `/v1/glossaries`. A glossary with more than one dictionary is only in version 3.
"""

import re
from collections.abc import Mapping
from typing import Any, Literal, cast

from fastapi import APIRouter
from starlette.responses import Response

from dragoman.serve.deepl.schema import (
    DeepLDictionaryBody,
    DeepLGlossariesBody,
    DeepLGlossaryBody,
    DeepLGlossaryChange,
)
from dragoman.serve.http.access import Call
from dragoman.serve.http.body import FORMS, takes
from dragoman.serve.http.call import ServiceCall
from dragoman.serve.http.problems import malformed
from dragoman.serve.models.models import Models
from dragoman.serve.native.glossaries import MEDIA, checked_name, iso
from dragoman.serve.store.glossaries import Languages, StoredGlossary, UnknownGlossary
from dragoman.serve.store.terms import plain_tsv, read_plain_terms
from dragoman.text.terms.glossary import Glossary
from dragoman.text.words.language import primary_language
from dragoman.text.words.normalise import is_text

# A field of a dictionary in a form, as the official client for Node writes it.
_NUMBERED = re.compile(r"dictionaries\[(\d{1,4})\](?:\.(\w+)|\[(\w+)\])", re.ASCII)

router = APIRouter(tags=["DeepL"])


@router.get("/v2/glossary-language-pairs")
async def language_pairs(call: Call) -> dict[str, Any]:
    """The pairs of languages that a glossary may have: those that are served."""
    pairs = dict.fromkeys(_tags(pair.source, pair.target) for pair in call.service.models.pairs)
    return {"supported_languages": [{"source_lang": source, "target_lang": target} for source, target in pairs]}


@router.post("/v2/glossaries", status_code=201, openapi_extra=takes(DeepLGlossaryBody, *FORMS))
async def create(call: Call) -> dict[str, Any]:
    """Keep a glossary: `name`, `source_lang`, `target_lang`, `entries`, and `entries_format`, tsv or csv."""
    fields = await call.fields()
    return _single(await _create(call, fields, await _dictionary(call, fields)))


@router.get("/v2/glossaries")
async def owned(call: Call) -> dict[str, Any]:
    """The glossaries of one pair of languages."""
    glossaries = await call.run(call.service.glossaries.owned, call.sender)
    return {"glossaries": [_single(glossary) for glossary in glossaries if len(glossary.counts) == 1]}


@router.get("/v2/glossaries/{glossary}")
async def get(call: Call, glossary: str) -> dict[str, Any]:
    """One glossary."""
    return _single(_one_pair(await _get(call, glossary)))


@router.get("/v2/glossaries/{glossary}/entries", response_class=Response)
async def entries(call: Call, glossary: str) -> Response:
    """The entries of a glossary as TSV."""
    [languages] = _one_pair(await _get(call, glossary)).counts
    return Response(plain_tsv(await _entries(call, glossary, languages)), media_type=MEDIA["tsv"])


@router.delete("/v2/glossaries/{glossary}", status_code=204)
@router.delete("/v3/glossaries/{glossary}", status_code=204)
async def delete(call: Call, glossary: str) -> None:
    """Delete a glossary."""
    await call.run(call.service.glossaries.delete, call.sender, glossary)


@router.post("/v3/glossaries", status_code=201, openapi_extra=takes(DeepLGlossariesBody, *FORMS))
async def create_multilingual(call: Call) -> dict[str, Any]:
    """Keep a glossary of several `dictionaries`, each with languages and entries."""
    fields = await call.fields()
    return _multilingual(await _create(call, fields, await _dictionaries(call, fields)))


@router.get("/v3/glossaries")
async def owned_multilingual(call: Call) -> dict[str, Any]:
    """All glossaries."""
    return {"glossaries": list(map(_multilingual, await call.run(call.service.glossaries.owned, call.sender)))}


@router.get("/v3/glossaries/{glossary}")
async def get_multilingual(call: Call, glossary: str) -> dict[str, Any]:
    """One glossary."""
    return _multilingual(await _get(call, glossary))


@router.patch("/v3/glossaries/{glossary}", openapi_extra=takes(DeepLGlossaryChange, *FORMS))
async def change(call: Call, glossary: str) -> dict[str, Any]:
    """Give a glossary another `name`, or add the entries of `dictionaries` to those that there are."""
    fields, glossaries = await call.fields(), call.service.glossaries
    name = checked_name(_string(fields, "name")) if fields.get("name") is not None else None
    added = await _dictionaries(call, fields) if _sent_dictionaries(fields) else {}
    if name is None and not added:
        raise malformed("Give a 'name' or 'dictionaries'.")
    if added:
        changed = await call.run(glossaries.put, call.sender, glossary, added, merge=True)
    if name is not None:
        changed = await call.run(glossaries.rename, call.sender, glossary, name)
    return _multilingual(changed)


@router.get("/v3/glossaries/{glossary}/entries")
async def entries_multilingual(call: Call, glossary: str) -> dict[str, Any]:
    """The entries of `source_lang` and `target_lang` as TSV, within JSON."""
    languages = _languages(await call.fields())
    tsv = plain_tsv(await _entries(call, glossary, languages))
    written = dict(zip(("source_lang", "target_lang"), _tags(*languages), strict=True))
    return {"dictionaries": [{**written, "entries": tsv, "entries_format": "tsv"}]}


@router.put("/v3/glossaries/{glossary}/dictionaries", openapi_extra=takes(DeepLDictionaryBody, *FORMS))
async def put_dictionary(call: Call, glossary: str) -> dict[str, Any]:
    """Write the dictionary of a pair of languages in place of the one that there is."""
    written = await _dictionary(call, await call.fields())
    changed = await call.run(call.service.glossaries.put, call.sender, glossary, written)
    [languages] = written
    dictionaries = _multilingual(changed)["dictionaries"]
    return next(counted for counted in dictionaries if tuple(counted.values())[:2] == _tags(*languages))


@router.delete("/v3/glossaries/{glossary}/dictionaries", status_code=204)
async def delete_dictionary(call: Call, glossary: str) -> None:
    """Delete the dictionary of `source_lang` and `target_lang`."""
    languages = _languages(await call.fields())
    await call.run(call.service.glossaries.delete_dictionary, call.sender, glossary, languages)


def glossary_ids(fields: Mapping[str, Any]) -> list[str]:
    """The ids of the glossaries that a request names. Raises Problem."""
    ids = fields.get("glossary_ids") or ([fields["glossary_id"]] if fields.get("glossary_id") else [])
    ids = ids.split(",") if isinstance(ids, str) else ids
    if not isinstance(ids, list) or len(ids) > 5 or not all(isinstance(glossary_id, str) for glossary_id in ids):
        raise malformed("Parameter 'glossary_ids': give up to 5 ids.")
    if ids and not fields.get("source_lang"):
        raise malformed("Parameter 'source_lang' is missing: a glossary needs it.")
    return ids


async def _create(
    call: ServiceCall, fields: Mapping[str, Any], dictionaries: dict[Languages, Glossary]
) -> StoredGlossary:
    name = checked_name(_string(fields, "name"))
    return await call.run(call.service.glossaries.create, call.sender, name, dictionaries)


async def _get(call: ServiceCall, glossary: str) -> StoredGlossary:
    return await call.run(call.service.glossaries.get, call.sender, glossary)


async def _entries(call: ServiceCall, glossary: str, languages: Languages) -> Glossary:
    return await call.run(call.service.glossaries.entries, call.sender, glossary, languages)


async def _dictionary(call: ServiceCall, fields: Mapping[str, Any]) -> dict[Languages, Glossary]:
    """The languages and terms of a dictionary as it is sent. Raises UnknownLanguage, DataError and Problem."""
    return await call.run(_read, fields, call.service.models)


async def _dictionaries(call: ServiceCall, fields: Mapping[str, Any]) -> dict[Languages, Glossary]:
    listed, dictionaries = _sent_dictionaries(fields), dict[Languages, Glossary]()
    if not isinstance(listed, list) or not listed or not all(isinstance(item, dict) for item in listed):
        raise malformed("Parameter 'dictionaries' not specified, or not a list of objects.")
    for item in listed:
        dictionary = await _dictionary(call, item)
        if dictionary.keys() & dictionaries.keys():
            raise malformed("Parameter 'dictionaries': two of the same languages; give one.")
        dictionaries |= dictionary
    return dictionaries


def _sent_dictionaries(fields: Mapping[str, Any]) -> Any:
    """The dictionaries of JSON, or of a form: `dictionaries[0].entries`, or `dictionaries[0][entries]`."""
    numbered = dict[int, dict[str, Any]]()
    for name, value in fields.items():
        if match := _NUMBERED.fullmatch(name):
            numbered.setdefault(int(match[1]), {})[match[2] or match[3]] = value
    return [numbered[number] for number in sorted(numbered)] or fields.get("dictionaries")


def _read(fields: Mapping[str, Any], models: Models) -> dict[Languages, Glossary]:
    _, pair = models.choose(*_languages(fields))
    form, content = fields.get("entries_format") or "tsv", _string(fields, "entries")
    if form not in ("tsv", "csv"):
        raise malformed("Parameter 'entries_format': tsv and csv are known.")
    if not is_text(content):
        raise malformed("Parameter 'entries': an unpaired surrogate (invalid Unicode); fix the encoding.")
    languages = _tags(pair.source, pair.target)
    return {languages: read_plain_terms(content, cast("Literal['tsv', 'csv']", form), languages)}


def _languages(fields: Mapping[str, Any]) -> Languages:
    return _string(fields, "source_lang"), _string(fields, "target_lang")


def _string(fields: Mapping[str, Any], name: str) -> str:
    value = fields.get(name)
    if not isinstance(value, str) or not value:
        raise malformed(f"Parameter '{name}' not specified, or not a string.")
    return value


def _tags(source: str, target: str) -> Languages:
    return primary_language(source), primary_language(target)


def _one_pair(glossary: StoredGlossary) -> StoredGlossary:
    if len(glossary.counts) != 1:
        raise UnknownGlossary(f"the glossary {glossary.id} has {len(glossary.counts)} dictionaries; ask /v3/glossaries")
    return glossary


def _single(glossary: StoredGlossary) -> dict[str, Any]:
    [((source, target), count)] = glossary.counts.items()
    about = {"glossary_id": glossary.id, "name": glossary.name, "ready": True, "creation_time": iso(glossary.created)}
    return {**about, "source_lang": source, "target_lang": target, "entry_count": count}


def _multilingual(glossary: StoredGlossary) -> dict[str, Any]:
    counts = [
        {"source_lang": source, "target_lang": target, "entry_count": count}
        for (source, target), count in glossary.counts.items()
    ]
    time = iso(glossary.created)
    return {"glossary_id": glossary.id, "name": glossary.name, "dictionaries": counts, "creation_time": time}
