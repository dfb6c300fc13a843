"""The dialect of LibreTranslate: the same paths, fields and errors, for programs that speak it already.

After its public interface (github.com/LibreTranslate/LibreTranslate). A suggestion is a correction of `/v1/feedback`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from fastapi import APIRouter, Request

from dragoman.documents.formats import SUFFIXES
from dragoman.serve.dialect_schema import (
    LibreTranslateBody,
    LibreTranslateDetectBody,
    LibreTranslateSuggestBody,
    takes_forms,
)
from dragoman.serve.http.access import charged
from dragoman.serve.http.body import fields
from dragoman.serve.http.http import departure_of, sender_of, service_of
from dragoman.serve.http.problems import malformed
from dragoman.serve.models.detect import detect
from dragoman.serve.models.languages import language_name
from dragoman.serve.models.models import Models
from dragoman.serve.native.feedback import keep
from dragoman.serve.native.feedback_schema import FeedbackBody
from dragoman.serve.work.service import check_size
from dragoman.serve.work.text import Format, TextAnswer, TextRequest

PATHS = ("/translate", "/detect", "/languages", "/suggest", "/health", "/frontend", "/translate_file", "/download_file")
# Alternatives that one text may have.
MOST_ALTERNATIVES = 16

router = APIRouter(tags=["LibreTranslate"])


@dataclass(frozen=True, slots=True)
class _TranslateForm:
    request: TextRequest
    listed: bool
    """Whether `q` is a list."""
    alternatives: bool
    """Whether there is a field for them, which is empty for HTML."""


@router.post("/translate", openapi_extra=takes_forms(LibreTranslateBody))
async def translate(request: Request) -> dict[str, Any]:
    """Translate `q`, a string or a list, from `source` or `auto` into `target`."""
    service = service_of(request)
    asked = _asked(await fields(request, service.limits.body_bytes), service.models)
    async with charged(request, asked.request) as counted:
        answers = await service.translate(counted, sender_of(request), departure_of(request))
    columns: dict[str, Sequence[Any]] = {"translatedText": [one.text for one in answers]}
    if asked.request.source is None:
        columns["detectedLanguage"] = [_detected(one) for one in answers]
    if asked.alternatives:
        columns["alternatives"] = [list(one.alternatives) for one in answers]
    return {name: column if asked.listed else column[0] for name, column in columns.items()}


@router.post("/detect", openapi_extra=takes_forms(LibreTranslateDetectBody))
async def detect_language(request: Request) -> list[dict[str, Any]]:
    """The languages that `q` may be in, with a confidence of up to 100."""
    service = service_of(request)
    text = _text(await fields(request, service.limits.body_bytes), "q")
    check_size(TextRequest([text]), service.limits)
    first, served = service.models.first_pair.source, service.models.sources
    found = await service.run(lambda: detect(text, served)) or [(first, 0.0)]
    return [{"confidence": round(100 * sure, 1), "language": tag} for tag, sure in found]


@router.get("/languages")
async def languages(request: Request) -> list[dict[str, Any]]:
    """The source languages, with those that each is translated into."""
    models = service_of(request).models
    return [{"code": tag, "name": language_name(tag), "targets": models.targets_of(tag)} for tag in models.sources]


@router.post("/suggest", openapi_extra=takes_forms(LibreTranslateSuggestBody))
async def suggest(request: Request) -> dict[str, bool]:
    """Keep `s` as the right translation of `q` from `source` into `target`."""
    given = await fields(request, service_of(request).limits.body_bytes)
    names = {"text": "q", "correction": "s", "source": "source", "target": "target"}
    await keep(request, FeedbackBody(**{ours: _text(given, theirs) for ours, theirs in names.items()}))
    return {"success": True}


@router.get("/health")
async def health() -> dict[str, str]:
    """That the service runs."""
    return {"status": "ok"}


@router.get("/frontend/settings")
async def settings(request: Request) -> dict[str, Any]:
    """What its page asks for when it starts."""
    service = service_of(request)
    first = service.models.first_pair
    required = not service.open_to_all and await service.run(service.keys.are_required)
    return {
        "charLimit": service.limits.characters,
        "frontendTimeout": 500,
        "apiKeys": required,
        "keyRequired": required,
        "suggestions": True,
        "filesTranslation": True,
        "supportedFilesFormat": list(SUFFIXES),
        "language": {
            "source": {"code": first.source, "name": language_name(first.source)},
            "target": {"code": first.target, "name": language_name(first.target)},
        },
    }


def _asked(given: dict[str, Any], models: Models) -> _TranslateForm:
    listed = isinstance(given.get("q"), list)
    texts = given["q"] if listed else [_text(given, "q")]
    if not texts or not all(isinstance(text, str) for text in texts):
        raise malformed("Invalid request: q is a string or a list of strings")
    source, target = _text(given, "source"), _text(given, "target")
    form = given.get("format") or "text"
    if form not in ("text", "html"):
        raise malformed(f"{form!r:.40} format is not supported")
    count = _alternatives(given.get("alternatives", 0))
    request = TextRequest(
        texts,
        None if source == "auto" else source,
        target,
        format=cast("Format", form),
        alternatives=0 if form == "html" else count,
    )
    return _TranslateForm(request, listed, count > 0)


def _text(given: dict[str, Any], name: str) -> str:
    value = given.get(name)
    if not isinstance(value, str) or not value:
        raise malformed(f"Invalid request: missing {name} parameter")
    return value


def _alternatives(given: Any) -> int:
    try:
        count = int(given or 0)
    except (TypeError, ValueError):
        count = -1
    if not 0 <= count <= MOST_ALTERNATIVES:
        raise malformed(f"Invalid request: alternatives is a number from 0 to {MOST_ALTERNATIVES}")
    return count


def _detected(answer: TextAnswer) -> dict[str, Any]:
    return {"confidence": round(100 * (answer.detected or 0.0), 1), "language": answer.source}
