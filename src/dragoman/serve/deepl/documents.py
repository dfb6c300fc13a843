"""Documents in the dialect of DeepL: upload, status and translation, which is sent once. A key opens it."""

from pathlib import Path
from typing import Any

from fastapi import APIRouter
from starlette.responses import JSONResponse, Response

from dragoman.documents.formats import kind_of
from dragoman.serve.deepl.deepl import refuse_unsupported
from dragoman.serve.deepl.glossaries import glossary_ids
from dragoman.serve.deepl.schema import DeepLDocumentBody, DeepLDocumentForm
from dragoman.serve.documents.document import DocumentRequest, StoredDocument
from dragoman.serve.documents.documents import document_of, documents_of, sent, upload
from dragoman.serve.http.access import Call
from dragoman.serve.http.body import FORMS, takes, takes_file
from dragoman.serve.http.call import ServiceCall
from dragoman.serve.http.problems import Problem, malformed

router = APIRouter(prefix="/v2/document", tags=["DeepL"])

STATES = {"queued": "queued", "translating": "translating", "done": "done", "failed": "error"}
# The seconds that remain, before there is an estimate.
UNKNOWN_SECONDS = 5


@router.post("", openapi_extra=takes_file(DeepLDocumentForm))
async def create(call: Call) -> dict[str, str]:
    """Upload `file`, to be translated into `target_lang`."""
    document, key, _ = await upload(call, _request)
    return {"document_id": document.facts.id, "document_key": key}


@router.post("/{name}", openapi_extra=takes(DeepLDocumentBody, *FORMS))
async def status(call: Call, name: str) -> JSONResponse:
    """How far a document is."""
    document = await _opened(call, name)
    facts = document.facts
    answer: dict[str, Any] = {"document_id": facts.id, "status": STATES[facts.state]}
    if facts.state == "translating":
        left = document.seconds_left
        answer["seconds_remaining"] = UNKNOWN_SECONDS if left is None else int(left) + 1
    elif facts.state == "done":
        answer["billed_characters"] = facts.characters
    elif facts.state == "failed":
        answer["error_message"] = facts.error
    return JSONResponse(answer)


@router.post("/{name}/result", response_class=Response, openapi_extra=takes(DeepLDocumentBody, *FORMS))
async def result(call: Call, name: str) -> Response:
    """The translation; it is removed once it has been sent."""
    document = await _opened(call, name)
    if document.facts.state == "failed":
        raise Problem(400, "failed", "The document was not translated", document.facts.error)
    if document.facts.state != "done":
        raise Problem(503, "not-ready", "Not ready", "Document translation is not done yet", 2)
    store = documents_of(call.request).store
    return sent(document.result, document.facts.result, lambda: store.remove(document))


async def _opened(call: ServiceCall, name: str) -> StoredDocument:
    """The document of this id, if the sender has its key. Raises Problem."""
    key, document = (await call.fields()).get("document_key"), document_of(call, name)
    if not isinstance(key, str) or not document.opens_with(key):
        raise Problem(404, "no-document", "Not found", "Document not found: its id or its document_key is wrong")
    return document


def _request(form: dict[str, str], name: str) -> DocumentRequest:
    """Raises Problem."""
    refuse_unsupported(form, "style_id", "translation_memory_id")
    suffixes = kind_of(Path(name)).becomes[:1] or (Path(name).suffix.lower(),)
    if (output := form.get("output_format", "").lower()) and f".{output}" not in suffixes:
        detail = f"a document keeps its format, and a PDF becomes docx; this one becomes {suffixes[0].lstrip('.')}."
        raise malformed(f"Value for 'output_format' not supported: {detail}")
    if not form.get("target_lang"):
        raise malformed("Value for 'target_lang' not supported: it is missing.")
    glossaries = ",".join(glossary_ids(form)) or None
    return DocumentRequest(source=form.get("source_lang") or None, target=form["target_lang"], glossary_id=glossaries)
