"""Documents in the dialect of DeepL: upload, status and translation, which is sent once. A key opens it."""

from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import JSONResponse, Response

from dragoman.serve.deepl.glossaries import glossary_ids
from dragoman.serve.dialect_schema import DeepLDocumentBody, DeepLDocumentForm, takes_file, takes_forms
from dragoman.serve.documents.document import DocumentRequest, StoredDocument
from dragoman.serve.documents.documents import documents_of, own, sent, upload
from dragoman.serve.http.body import fields
from dragoman.serve.http.http import service_of
from dragoman.serve.http.problems import Problem, malformed

router = APIRouter(prefix="/v2/document", tags=["DeepL"])

# What changes a translation and this service cannot do, so that it is not ignored.
UNKNOWN = ("style_id", "translation_memory_id")
STATES = {"queued": "queued", "translating": "translating", "done": "done", "failed": "error"}
# The seconds that remain, before there is an estimate.
UNKNOWN_SECONDS = 5


@router.post("", openapi_extra=takes_file(DeepLDocumentForm))
async def create(request: Request) -> dict[str, str]:
    """Upload `file`, to be translated into `target_lang`."""
    document, key = await upload(request, _asked)
    return {"document_id": document.facts.id, "document_key": key}


@router.post("/{name}", openapi_extra=takes_forms(DeepLDocumentBody))
async def status(request: Request, name: str) -> JSONResponse:
    """How far a document is."""
    document = await _opened(request, name)
    facts = document.facts
    found: dict[str, Any] = {"document_id": facts.id, "status": STATES[facts.state]}
    if facts.state == "translating":
        left = document.seconds_left
        found["seconds_remaining"] = UNKNOWN_SECONDS if left is None else int(left) + 1
    elif facts.state == "done":
        found["billed_characters"] = facts.characters
    elif facts.state == "failed":
        found["error_message"] = facts.error
    return JSONResponse(found)


@router.post("/{name}/result", response_class=Response, openapi_extra=takes_forms(DeepLDocumentBody))
async def result(request: Request, name: str) -> Response:
    """The translation; it is removed once it has been sent."""
    document = await _opened(request, name)
    if document.facts.state == "failed":
        raise Problem(400, "failed", "The document was not translated", document.facts.error)
    if document.facts.state != "done":
        raise Problem(503, "not-ready", "Not ready", "Document translation is not done yet", 2)
    store = documents_of(request).store
    return sent(document.result, document.facts.result, lambda: store.remove(document))


async def _opened(request: Request, name: str) -> StoredDocument:
    """The document of this id, if the sender has its key. Raises Problem."""
    given = await fields(request, service_of(request).limits.body_bytes)
    key, document = given.get("document_key"), own(request, name)
    if not isinstance(key, str) or not document.opens_with(key):
        raise Problem(404, "no-document", "Not found", "Document not found: its id or its document_key is wrong")
    return document


def _asked(given: dict[str, str]) -> DocumentRequest:
    """Raises Problem."""
    for name in UNKNOWN:
        if given.get(name):
            raise malformed(f"Parameter '{name}' is not supported by this service; leave it out.")
    if given.get("formality") in ("more", "less"):
        raise malformed("Parameter 'formality': no model here has it; use prefer_more, prefer_less or default.")
    if given.get("output_format"):
        raise malformed("Parameter 'output_format' is not supported: a document keeps its format.")
    if not given.get("target_lang"):
        raise malformed("Value for 'target_lang' not supported: it is missing.")
    glossaries = ",".join(glossary_ids(given)) or None
    return DocumentRequest(source=given.get("source_lang") or None, target=given["target_lang"], glossary_id=glossaries)
