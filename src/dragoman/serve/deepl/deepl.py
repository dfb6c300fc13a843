"""The dialect of DeepL, version 2, for its clients: texts and usage.

After the published description of its interface (github.com/DeepLcom/openapi). Languages are in capitals; a target may
have a region that the model does not distinguish. Languages are in `serve.deepl.languages`, glossaries in
`serve.deepl.glossaries`; what is not here is 404.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

from fastapi import APIRouter

from dragoman.documents.markup.markup import Tags
from dragoman.serve.deepl.glossaries import glossary_ids
from dragoman.serve.deepl.schema import DeepLBody
from dragoman.serve.http.access import Call, charged
from dragoman.serve.http.body import FORMS, takes
from dragoman.serve.http.problems import Problem, malformed
from dragoman.serve.work.text import Format, TextAnswer, TextRequest

# Without an account nothing is limited: what its clients show as the limit of a month.
NO_LIMIT = 1_000_000_000_000
# A client may prefer one or demand it; there is one model of a pair of languages, which is both.
MODEL_TYPES = ("quality_optimized", "latency_optimized")
TAG_LISTS = ("splitting_tags", "non_splitting_tags", "ignore_tags")
# A line break within a paragraph: a blank line ends one.
_BREAK = re.compile(r"(?<=\S)[^\S\r\n]*(?:\r\n|[\n\r])[^\S\r\n]*(?=\S)")

router = APIRouter(prefix="/v2", tags=["DeepL"])


@router.post("/translate", openapi_extra=takes(DeepLBody, *FORMS))
async def translate(call: Call) -> dict[str, Any]:
    """Translate `text`, up to 50 or more, from `source_lang` or a detected language into `target_lang`."""
    fields = await call.fields()
    request, ids, model_type = _request(fields), glossary_ids(fields), _model_type(fields)
    request = replace(request, dictionaries=await call.dictionaries(ids) if ids else None)
    async with charged(call, request) as counted:
        answers = await call.translate(counted)
    call.service.count_characters(sum(map(len, request.texts)))
    more = {"tag_handling_version": fields.get("tag_handling_version") or "v2"} if fields.get("tag_handling") else {}
    more |= {"model_type_used": model_type} if model_type else {}
    return {
        "translations": [_written(text, answer) | more for text, answer in zip(request.texts, answers, strict=True)]
    }


@router.get("/usage")
async def usage(call: Call) -> dict[str, int]:
    """Characters of the key, today if it has a limit per day; without keys those since the service was started."""
    key, keys = call.key, call.service.keys
    if key is None:
        return {"character_count": call.service.translated_characters, "character_limit": NO_LIMIT}
    limit = key.characters_per_day
    count = await call.run(keys.used if limit is None else keys.used_today, key.id)
    return {"character_count": count, "character_limit": NO_LIMIT if limit is None else limit}


@router.api_route("/{rest:path}", methods=["GET", "POST", "PUT", "PATCH", "DELETE"], include_in_schema=False)
async def nothing(rest: str) -> None:
    """404 for a path that this service has not, as an error that the clients of DeepL read."""
    paths = "translate, document, glossaries, glossary-language-pairs, usage and languages"
    raise Problem(404, "http", "Not Found", f"/v2/{rest[:60]}: this service has {paths}")


def _request(fields: dict[str, Any]) -> TextRequest:
    texts = [fields["text"]] if isinstance(fields.get("text"), str) else fields.get("text")
    if not isinstance(texts, list) or not texts or not all(isinstance(text, str) for text in texts):
        raise malformed("Parameter 'text' not specified, or not a list of strings.")
    target, source = fields.get("target_lang"), fields.get("source_lang") or None
    if not isinstance(target, str) or not target:
        raise malformed("Value for 'target_lang' not supported: it is missing.")
    if not isinstance(source, str | None):
        raise malformed("Value for 'source_lang' not supported: it is not a string.")
    refuse_unsupported(fields, "style_id", "custom_instructions", "translation_memory_id")
    form = fields.get("tag_handling") or "text"
    if form not in ("text", "html", "xml"):
        raise malformed("Parameter 'tag_handling': this service has xml and html; leave it out for text.")
    tags = _tags(fields, form)
    if form == "text" and fields.get("split_sentences") == "nonewlines":
        texts = [_BREAK.sub(" ", text) for text in texts]
    return TextRequest(texts, source, target, format=cast("Format", form), tags=tags)


def _model_type(fields: Mapping[str, Any]) -> str:
    """The type of model that a request wants; "" where it says nothing. Raises Problem."""
    kind = str(fields.get("model_type") or "").removeprefix("prefer_")
    if kind and kind not in MODEL_TYPES:
        raise malformed(f"Parameter 'model_type': {' and '.join(MODEL_TYPES)} are known, also with prefer_ before.")
    return kind


def refuse_unsupported(fields: Mapping[str, Any], *names: str) -> None:
    """Raises Problem for what would change a translation and this service cannot do, so that it is not ignored."""
    for name in names:
        if fields.get(name):
            raise malformed(f"Parameter '{name}' is not supported by this service; leave it out.")
    if fields.get("formality") in ("more", "less"):
        raise malformed("Parameter 'formality': no model here has it; use prefer_more, prefer_less or default.")


def _tags(fields: dict[str, Any], form: str) -> Tags:
    """What the tags mean. In XML a line break is white space, unless it is asked to divide sentences."""
    if fields.get("tag_handling_version") not in (None, "", "v1", "v2"):
        raise malformed("Parameter 'tag_handling_version': v1 and v2 are known; both are the same here.")
    lines = fields.get("split_sentences")
    if str(lines) not in ("None", "0", "1", "nonewlines"):
        raise malformed("Parameter 'split_sentences': give 0, 1 or nonewlines.")
    splitting, non_splitting, ignored = (_names(fields, name, form) for name in TAG_LISTS)
    outline = str(fields.get("outline_detection", "1")).lower()
    if outline not in ("1", "0", "true", "false", "none", ""):
        raise malformed("Parameter 'outline_detection': give true or false.")
    return Tags(splitting, non_splitting, ignored, outline not in ("0", "false"), str(lines) == "1")


def _names(fields: dict[str, Any], name: str, form: str) -> frozenset[str]:
    """The names of elements in a list or, with commas between, in a string."""
    listed = fields.get(name) or []
    listed = [listed] if isinstance(listed, str) else listed
    if not isinstance(listed, list) or not all(isinstance(names, str) for names in listed):
        raise malformed(f"Parameter '{name}': give a list of names of tags.")
    elements = frozenset(part.strip() for names in listed for part in names.split(",") if part.strip())
    if elements and form != "xml":
        raise malformed(f"Parameter '{name}' is for tag_handling xml; leave it out.")
    return elements


def _written(text: str, answer: TextAnswer) -> dict[str, Any]:
    source = answer.source.split("-")[0].upper()
    return {"detected_source_language": source, "text": answer.text, "billed_characters": len(text)}
