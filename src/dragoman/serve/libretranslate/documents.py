"""Documents in the dialect of LibreTranslate: `/translate_file` answers with the address of the translation.

The address has a key of its own: anyone who has it may read the translation until it expires, as with LibreTranslate.
"""

import asyncio

from fastapi import APIRouter, Request
from starlette.responses import Response

from dragoman.serve.documents.document import DocumentRequest, StoredDocument
from dragoman.serve.documents.documents import documents_of, no_document, sent, upload
from dragoman.serve.http.access import Call
from dragoman.serve.http.body import takes_file
from dragoman.serve.http.call import ServiceCall
from dragoman.serve.http.problems import Problem, malformed
from dragoman.serve.libretranslate.schema import LibreTranslateFileForm
from dragoman.serve.requests.ticket import Cancelled

router, downloads = APIRouter(tags=["LibreTranslate"]), APIRouter(tags=["LibreTranslate"])

# Seconds between two looks at a document that somebody waits for.
LOOK = 0.05


@router.post("/translate_file", openapi_extra=takes_file(LibreTranslateFileForm))
async def translate_file(call: Call) -> dict[str, str]:
    """Translate `file` from `source` or `auto` into `target`."""
    document, key, call = await upload(call, _request)
    await _finished(call, document)
    facts = document.facts
    if facts.state != "done":
        await asyncio.to_thread(documents_of(call.request).store.remove, document)
        raise Problem(400, "failed", "The document was not translated", facts.error or "the document is gone")
    url = call.request.url_for("download_file", name=facts.id, key=key, file=facts.result)
    return {"translatedFileUrl": str(url)}


@downloads.get("/download_file/{name}/{key}/{file}", response_class=Response)
async def download_file(request: Request, name: str, key: str, file: str) -> Response:
    """A translation, by the address that `/translate_file` answered."""
    request.state.record.path = f"/download_file/{name}"  # for the log: without the key
    document = documents_of(request).store.named(name)
    if document is None or not document.opens_with(key) or document.facts.state != "done":
        raise no_document()
    return sent(document.result, document.facts.result)


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


def _request(form: dict[str, str]) -> DocumentRequest:
    """Raises Problem."""
    for name in ("source", "target"):
        if not form.get(name):
            raise malformed(f"Invalid request: missing {name} parameter")
    return DocumentRequest(source=None if form["source"] == "auto" else form["source"], target=form["target"])
