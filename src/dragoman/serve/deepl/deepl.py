"""The dialect of DeepL, version 2, for its clients: texts, usage and languages.

After the published description of its interface (github.com/DeepLcom/openapi). Languages are in capitals; a target may
have a region that the model does not distinguish. Glossaries are in `serve.deepl.glossaries`; what is not here is 404.
"""

from dataclasses import replace
from typing import Any, cast

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse

from dragoman.documents.markup.markup import Tags
from dragoman.serve.deepl.glossaries import stored_dictionaries
from dragoman.serve.dialect_schema import DeepLBody, takes_forms
from dragoman.serve.http.access import charged
from dragoman.serve.http.body import fields
from dragoman.serve.http.http import departure_of, key_of, sender_of, service_of
from dragoman.serve.http.problems import Problem, malformed
from dragoman.serve.models.models import Models
from dragoman.serve.work.text import Format, TextAnswer, TextRequest
from dragoman.text.words.language import language_name

# Without an account nothing is limited: what its clients show as the limit of a month.
NO_LIMIT = 1_000_000_000_000
# What changes a translation and this service cannot do, so that it is not ignored.
UNKNOWN = ("style_id", "custom_instructions", "translation_memory_id")

# Targets that its clients accept with a region only.
REGIONS = {"en": ("en-GB", "en-US"), "pt": ("pt-BR", "pt-PT")}

TAG_LISTS = ("splitting_tags", "non_splitting_tags", "ignore_tags")

router = APIRouter(prefix="/v2", tags=["DeepL"])


@router.post("/translate", openapi_extra=takes_forms(DeepLBody))
async def translate(request: Request) -> dict[str, Any]:
    """Translate `text`, up to 50 or more, from `source_lang` or a detected language into `target_lang`."""
    service = service_of(request)
    given = await fields(request, service.limits.body_bytes)
    asked = replace(_asked(given), dictionaries=await stored_dictionaries(request, given))
    async with charged(request, asked) as counted:
        answers = await service.translate(counted, sender_of(request), departure_of(request))
    service.count_characters(sum(map(len, asked.texts)))
    more = {"tag_handling_version": given.get("tag_handling_version") or "v2"} if given.get("tag_handling") else {}
    return {"translations": [_written(text, one) | more for text, one in zip(asked.texts, answers, strict=True)]}


@router.get("/usage")
async def usage(request: Request) -> dict[str, int]:
    """Characters of the key, today if it has a limit per day; without keys those since the service was started."""
    service, key = service_of(request), key_of(request)
    if key is None:
        return {"character_count": service.translated_characters, "character_limit": NO_LIMIT}
    limit = key.characters_per_day
    count = await service.run(lambda: service.keys.used(key.id) if limit is None else service.keys.used_today(key.id))
    return {"character_count": count, "character_limit": NO_LIMIT if limit is None else limit}


@router.get("/languages")
async def languages(request: Request) -> JSONResponse:
    """The source or target languages, by `type`, in the query or, as the official client sends it, in a form."""
    given = await fields(request, service_of(request).limits.body_bytes)
    kind = given.get("type") or "source"
    if kind not in ("source", "target"):
        raise malformed("type: give source or target")
    return JSONResponse(
        _sources(service_of(request).models) if kind == "source" else _targets(service_of(request).models)
    )


@router.api_route("/{rest:path}", methods=["GET", "POST", "PUT", "PATCH", "DELETE"], include_in_schema=False)
async def nothing(rest: str) -> None:
    """What this service has not, as an error that its clients read."""
    raise Problem(
        404, "http", "Not Found", f"/v2/{rest[:60]}: this service has translate, document, usage and languages"
    )


def _sources(models: Models) -> list[dict[str, Any]]:
    return [{"language": tag.upper(), "name": language_name(tag)} for tag in models.sources]


def _targets(models: Models) -> list[dict[str, Any]]:
    tags = dict.fromkeys(tag for pair in models.pairs for tag in REGIONS.get(pair.target, (pair.target,)))
    return [{"language": tag.upper(), "name": language_name(tag), "supports_formality": False} for tag in tags]


def _asked(given: dict[str, Any]) -> TextRequest:
    texts = [given["text"]] if isinstance(given.get("text"), str) else given.get("text")
    if not isinstance(texts, list) or not texts or not all(isinstance(text, str) for text in texts):
        raise malformed("Parameter 'text' not specified, or not a list of strings.")
    target, source = given.get("target_lang"), given.get("source_lang") or None
    if not isinstance(target, str) or not target:
        raise malformed("Value for 'target_lang' not supported: it is missing.")
    if not isinstance(source, str | None):
        raise malformed("Value for 'source_lang' not supported: it is not a string.")
    for name in UNKNOWN:
        if given.get(name):
            raise malformed(f"Parameter '{name}' is not supported by this service; leave it out.")
    if given.get("formality") in ("more", "less"):
        raise malformed("Parameter 'formality': no model here has it; use prefer_more, prefer_less or default.")
    form = given.get("tag_handling") or "text"
    if form not in ("text", "html", "xml"):
        raise malformed("Parameter 'tag_handling': this service has xml and html; leave it out for text.")
    return TextRequest(texts, source, target, format=cast("Format", form), tags=_tags(given, form))


def _tags(given: dict[str, Any], form: str) -> Tags:
    """What the tags mean. In XML a line break is white space, unless it is asked to divide sentences."""
    if given.get("tag_handling_version") not in (None, "", "v1", "v2"):
        raise malformed("Parameter 'tag_handling_version': v1 and v2 are known; both are the same here.")
    lines = given.get("split_sentences")
    if str(lines) not in ("None", "0", "1", "nonewlines"):
        raise malformed("Parameter 'split_sentences': give 0, 1 or nonewlines.")
    splitting, non_splitting, ignored = (_names(given, name, form) for name in TAG_LISTS)
    outline = str(given.get("outline_detection", "1")).lower()
    if outline not in ("1", "0", "true", "false", "none", ""):
        raise malformed("Parameter 'outline_detection': give true or false.")
    return Tags(splitting, non_splitting, ignored, outline not in ("0", "false"), str(lines) == "1")


def _names(given: dict[str, Any], name: str, form: str) -> frozenset[str]:
    """The names of elements in a list or, with commas between, in a string."""
    listed = given.get(name) or []
    listed = [listed] if isinstance(listed, str) else listed
    if not isinstance(listed, list) or not all(isinstance(one, str) for one in listed):
        raise malformed(f"Parameter '{name}': give a list of names of tags.")
    found = frozenset(part.strip() for one in listed for part in one.split(",") if part.strip())
    if found and form != "xml":
        raise malformed(f"Parameter '{name}' is for tag_handling xml; leave it out.")
    return found


def _written(text: str, answer: TextAnswer) -> dict[str, Any]:
    source = answer.source.split("-")[0].upper()
    return {"detected_source_language": source, "text": answer.text, "billed_characters": len(text)}
