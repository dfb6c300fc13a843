"""The dialect of LibreTranslate: the same paths, fields and errors, for programs that speak it already.

After its public interface (github.com/LibreTranslate/LibreTranslate). A suggestion is a correction of `/v1/feedback`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from fastapi import APIRouter

from dragoman.documents.formats import SUFFIXES
from dragoman.serve.http.access import Call, charged
from dragoman.serve.http.body import takes_forms
from dragoman.serve.http.problems import malformed
from dragoman.serve.libretranslate.schema import (
    LibreTranslateBody,
    LibreTranslateDetectBody,
    LibreTranslateSuggestBody,
)
from dragoman.serve.models.detect import detect
from dragoman.serve.native.feedback import FeedbackBody, keep
from dragoman.serve.work.service import check_size
from dragoman.serve.work.text import Format, TextAnswer, TextRequest
from dragoman.text.words.language import language_name

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
async def translate(call: Call) -> dict[str, Any]:
    """Translate `q`, a string or a list, from `source` or `auto` into `target`."""
    form = _form(await call.fields())
    async with charged(call, form.request) as counted:
        answers = await call.translate(counted)
    columns: dict[str, Sequence[Any]] = {"translatedText": [answer.text for answer in answers]}
    if form.request.source is None:
        columns["detectedLanguage"] = list(map(_detected, answers))
    if form.alternatives:
        columns["alternatives"] = [list(answer.alternatives) for answer in answers]
    return {name: column if form.listed else column[0] for name, column in columns.items()}


@router.post("/detect", openapi_extra=takes_forms(LibreTranslateDetectBody))
async def detect_language(call: Call) -> list[dict[str, Any]]:
    """The languages that `q` may be in, with a confidence of up to 100."""
    text = _text(await call.fields(), "q")
    check_size(TextRequest([text]), call.service.limits)
    first, served = call.service.models.first_pair.source, call.service.models.sources
    languages = await call.run(detect, text, served) or [(first, 0.0)]
    return [{"confidence": round(100 * sure, 1), "language": tag} for tag, sure in languages]


@router.get("/languages")
async def languages(call: Call) -> list[dict[str, Any]]:
    """The source languages, with those that each is translated into."""
    models = call.service.models
    return [{"code": tag, "name": language_name(tag), "targets": models.targets_of(tag)} for tag in models.sources]


@router.post("/suggest", openapi_extra=takes_forms(LibreTranslateSuggestBody))
async def suggest(call: Call) -> dict[str, bool]:
    """Keep `s` as the right translation of `q` from `source` into `target`."""
    fields = await call.fields()
    names = {"text": "q", "correction": "s", "source": "source", "target": "target"}
    await keep(call, FeedbackBody(**{ours: _text(fields, theirs) for ours, theirs in names.items()}))
    return {"success": True}


@router.get("/health")
async def health() -> dict[str, str]:
    """Liveness: 200 while the process answers."""
    return {"status": "ok"}


@router.get("/frontend/settings")
async def settings(call: Call) -> dict[str, Any]:
    """What its page asks for when it starts."""
    first = call.service.models.first_pair
    required = not call.service.open_to_all and await call.run(call.service.keys.are_required)
    return {
        "charLimit": call.service.limits.characters,
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


def _form(fields: dict[str, Any]) -> _TranslateForm:
    listed = isinstance(fields.get("q"), list)
    texts = fields["q"] if listed else [_text(fields, "q")]
    if not texts or not all(isinstance(text, str) for text in texts):
        raise malformed("Invalid request: q is a string or a list of strings")
    source, target = _text(fields, "source"), _text(fields, "target")
    markup = fields.get("format") or "text"
    if markup not in ("text", "html"):
        raise malformed(f"{markup!r:.40} format is not supported")
    count = _alternatives(fields.get("alternatives", 0))
    request = TextRequest(
        texts,
        None if source == "auto" else source,
        target,
        format=cast("Format", markup),
        alternatives=0 if markup == "html" else count,
    )
    return _TranslateForm(request, listed, count > 0)


def _text(fields: dict[str, Any], name: str) -> str:
    value = fields.get(name)
    if not isinstance(value, str) or not value:
        raise malformed(f"Invalid request: missing {name} parameter")
    return value


def _alternatives(field: Any) -> int:
    try:
        count = int(field or 0)
    except (TypeError, ValueError):
        count = -1
    if not 0 <= count <= MOST_ALTERNATIVES:
        raise malformed(f"Invalid request: alternatives is a number from 0 to {MOST_ALTERNATIVES}")
    return count


def _detected(answer: TextAnswer) -> dict[str, Any]:
    return {"confidence": round(100 * (answer.detected or 0.0), 1), "language": answer.source}
