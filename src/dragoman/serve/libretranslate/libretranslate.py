"""The dialect of LibreTranslate: the same paths, fields and errors, for programs that speak it already.

After its public interface (github.com/LibreTranslate/LibreTranslate). A suggestion is a correction of `/v1/feedback`.
`/translate_file` answers with the address of the translation, which has a key of its own: anyone who has the address
may read the translation until it expires, as with LibreTranslate. There is no deletion: once a translation was read, it
gives way to new documents of its sender.
"""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Literal, cast
from urllib.parse import quote

from fastapi import APIRouter, Request
from pydantic import Field
from starlette.responses import Response

from dragoman.documents.formats import SUFFIXES
from dragoman.serve.documents.document import DocumentRequest, StoredDocument
from dragoman.serve.documents.documents import documents_of, no_document, sent, upload
from dragoman.serve.http.access import Call, charged
from dragoman.serve.http.body import FORMS, LenientBody, takes, takes_file
from dragoman.serve.http.call import ServiceCall, public_of
from dragoman.serve.http.problems import Problem, malformed
from dragoman.serve.models.detect import detect
from dragoman.serve.models.models import Models
from dragoman.serve.native.feedback import FeedbackBody, keep
from dragoman.serve.requests.ticket import Cancelled
from dragoman.serve.work.service import check_size
from dragoman.serve.work.text import Format, TextAnswer, TextRequest
from dragoman.text.words.language import language_name, same_language

PATHS = ("/translate", "/detect", "/languages", "/suggest", "/health", "/frontend", "/translate_file", "/download_file")
# Alternatives that one text may have.
MOST_ALTERNATIVES = 16
# Seconds between two looks at a document that somebody waits for.
LOOK = 0.05

router, downloads = APIRouter(tags=["LibreTranslate"]), APIRouter(tags=["LibreTranslate"])


class LibreTranslateBody(LenientBody):
    """What `/translate` of LibreTranslate takes."""

    q: str | list[str]
    """A text, or several."""
    source: str
    """A language, or `auto`."""
    target: str
    """A language."""
    format: Literal["text", "html"] = "text"
    """What the text is."""
    alternatives: int = Field(0, ge=0, le=16)
    """Up to this many other translations."""
    api_key: str = ""
    """The key."""


class LibreTranslateDetectBody(LenientBody):
    """What `/detect` of LibreTranslate takes."""

    q: str
    """A text."""
    api_key: str = ""
    """The key."""


class LibreTranslateSuggestBody(LenientBody):
    """What `/suggest` of LibreTranslate takes."""

    q: str
    """A text."""
    s: str
    """Its right translation."""
    source: str
    """A language."""
    target: str
    """A language."""
    api_key: str = ""
    """The key."""


class LibreTranslateFileForm(LenientBody):
    """What `/translate_file` of LibreTranslate takes besides the file."""

    source: str
    """A language, or `auto`."""
    target: str
    """A language."""
    api_key: str = ""
    """The key."""


@router.post("/translate", openapi_extra=takes(LibreTranslateBody, *FORMS))
async def translate(call: Call) -> dict[str, Any]:
    """Translate `q`, a string or a list, from `source` or `auto` into `target`."""
    request, is_list, has_alternatives = _form(await call.fields())
    if is_copy(request, call.service.models):
        check_size(request, call.service.limits)
        answers = [TextAnswer(text, str(request.source), str(request.target), "") for text in request.texts]
    else:
        async with charged(call, request) as counted:
            answers = await call.translate(counted)
    columns: dict[str, Sequence[Any]] = {"translatedText": [answer.text for answer in answers]}
    if request.source is None:
        columns["detectedLanguage"] = list(map(_detected, answers))
    if has_alternatives:
        columns["alternatives"] = [list(answer.alternatives) for answer in answers]
    return {name: column if is_list else column[0] for name, column in columns.items()}


@router.post("/detect", openapi_extra=takes(LibreTranslateDetectBody, *FORMS))
async def detect_language(call: Call) -> list[dict[str, Any]]:
    """The languages that `q` may be in, with a confidence of up to 100."""
    text = _text(await call.fields(), "q")
    check_size(TextRequest([text]), call.service.limits)
    first, served = call.service.models.first_pair.source, call.service.models.sources
    languages = await call.run(detect, text, served) or [(first, 0.0)]
    return [{"confidence": round(100 * sure, 1), "language": tag} for tag, sure in languages]


@router.post("/languages", include_in_schema=False)  # as old clients ask
@router.get("/languages")
async def languages(call: Call) -> list[dict[str, Any]]:
    """The languages, with those that each is translated into and itself, into which a text is copied."""
    models = call.service.models
    tags = dict.fromkeys((*models.sources, *(pair.target for pair in models.pairs)))
    targets = {tag: list(dict.fromkeys((*models.targets_of(tag), tag))) for tag in tags}
    return [{"code": tag, "name": language_name(tag), "targets": targets[tag]} for tag in tags]


@router.post("/suggest", openapi_extra=takes(LibreTranslateSuggestBody, *FORMS))
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


@router.post("/translate_file", openapi_extra=takes_file(LibreTranslateFileForm))
async def translate_file(call: Call) -> dict[str, str]:
    """Translate `file` from `source` or `auto` into `target`."""
    document, key, call = await upload(call, _document_request)
    await _finished(call, document)
    facts = document.facts
    if facts.state != "done":
        await asyncio.to_thread(documents_of(call.request).store.remove, document)
        raise Problem(400, "failed", "The document was not translated", facts.error or "the document is gone")
    url = call.request.url_for("download_file", name=facts.id, key=key, file=quote(facts.result, safe=""))
    return {"translatedFileUrl": str(url.replace(path=public_of(call.request).path(url.path)))}


@downloads.get("/download_file/{name}/{key}/{file}", response_class=Response)
async def download_file(request: Request, name: str, key: str, file: str) -> Response:
    """A translation, by the address that `/translate_file` answered."""
    document = documents_of(request).store.named(name)
    if document is None or not document.opens_with(key) or document.facts.state != "done":
        raise no_document()

    def give_way() -> None:
        with suppress(OSError):  # it was removed meanwhile, or the disk is full: then it stays until it expires
            document.give_way()

    return sent(document.result, document.facts.result, give_way)


def is_copy(request: TextRequest, models: Models) -> bool:
    """Whether a text is wanted in the language that it is in, of those that are served: it stays as it is."""
    source, target = request.source or "", request.target or ""
    served = {*models.sources, *(pair.target for pair in models.pairs)}
    return same_language(source, target) and any(same_language(source, tag) for tag in served)


def _form(fields: dict[str, Any]) -> tuple[TextRequest, bool, bool]:
    """The request, whether `q` is a list, and whether its answer has alternatives, which are none for HTML."""
    is_list = isinstance(fields.get("q"), list)
    texts = fields["q"] if is_list else [_text(fields, "q")]
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
    return request, is_list, count > 0


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


async def _finished(call: ServiceCall, document: StoredDocument) -> None:
    """Wait; a document that nobody waits for any more is removed. Raises Cancelled."""
    store, leaving = documents_of(call.request).store, call.departure()
    try:
        while not document.is_finished and not store.closing:
            await asyncio.wait([leaving], timeout=LOOK)
            if leaving.done():
                raise Cancelled("the client is gone")
        if store.closing and not document.is_finished:
            raise Problem(503, "stopping", "The service is busy", "the service is about to stop; try again later", 5)
    except BaseException:
        await asyncio.to_thread(store.remove, document)
        raise
    finally:
        leaving.cancel()


def _document_request(form: dict[str, str], name: str) -> DocumentRequest:
    """Raises Problem."""
    for field in ("source", "target"):
        if not form.get(field):
            raise malformed(f"Invalid request: missing {field} parameter")
    return DocumentRequest(source=None if form["source"] == "auto" else form["source"], target=form["target"])
