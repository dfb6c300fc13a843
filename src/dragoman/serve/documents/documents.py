"""Documents in a service: the store and its workers from start to end, and what all dialects do with a request for one.

Nothing here is of one dialect. A document belongs to its sender; for anyone else there is none.
"""

import asyncio
import os
import re
from collections.abc import AsyncIterator, Callable
from functools import partial
from pathlib import Path
from typing import IO, NamedTuple
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from dragoman.control.search.request import merge_glossaries
from dragoman.documents.formats import kind_of, load, refuse_other_content
from dragoman.errors import ConfigError, DataError, DragomanError, ResourceError
from dragoman.serve.documents.document import FILES, DocumentRequest, StoredDocument
from dragoman.serve.documents.store import DocumentLimits, DocumentStore
from dragoman.serve.documents.work import DocumentWorkers, chosen
from dragoman.serve.http.access import allowed_models, needs_key, with_key
from dragoman.serve.http.call import ServiceCall
from dragoman.serve.http.problems import Problem, malformed
from dragoman.serve.http.upload import receive
from dragoman.serve.work.service import Service
from dragoman.serve.work.text import TextRequest

# Where documents are uploaded: a body may be larger there.
UPLOADS = ("/v1/documents", "/v2/document", "/translate_file")
_BLOCK = 1 << 18
_NOT_PLAIN = re.compile(r'[^ -~]|["%\\]')


class Documents:
    """The documents of a service, in its state folder."""

    def __init__(self, service: Service, limits: DocumentLimits | None = None) -> None:
        self.store = DocumentStore(service.state.folder, limits)
        self._workers = DocumentWorkers(self.store, service)
        service.metrics.watch(self.store.tally)

    def start(self) -> None:
        """Begin, with what an earlier service has left. Raises DragomanError."""
        self.store.open()
        self._workers.start()

    async def close(self) -> None:
        """Interrupt what is translated; from the thread of `start`, which holds the locks."""
        self.store.close()
        await asyncio.to_thread(self._workers.join)
        self.store.release()


class Uploaded(NamedTuple):
    """A document that was uploaded, its own key, and the call with the sender's key, which may be in the form."""

    document: StoredDocument
    key: str
    call: ServiceCall


def documents_of(request: Request) -> Documents:
    """The documents of the application."""
    documents: Documents = request.app.state.documents
    return documents


async def upload(
    call: ServiceCall,
    request_of: Callable[[dict[str, str], str], DocumentRequest],
    unknown_format: int = 400,
) -> Uploaded:
    """The document of an upload in the queue; `request_of` reads the fields and the file's name.

    Raises Problem, of the status `unknown_format` where the name is of none that is known.
    """
    store, service = documents_of(call.request).store, call.service
    if service.draining:
        raise Problem(503, "stopping", "The service is busy", "the service is about to stop; try again later", 5)
    length = call.request.headers.get("content-length", "0")
    # Until a key is known the upload is its address's: a cookie is whatever a program invents.
    client, keyless = call.request.client, call.key is None and await needs_key(service)
    sender = client.host if client and keyless else call.sender
    with store.incoming(sender, int(length[:18]) if length.isdecimal() else 1) as incoming:
        accept = partial(_accept, unknown_format)
        came = await receive(call.request, incoming.folder / FILES, accept, lambda size: store.count(incoming, size))
        if came.file is None:
            raise malformed("file: missing; send the document as a file in this field")
        sent_keys = [came.fields.pop(name, "") for name in ("api_key", "auth_key")]
        call = await with_key(call, next(filter(None, sent_keys), ""))
        store.assign(incoming, call.sender)
        request = request_of(came.fields, came.file.name)
        allowed = await allowed_models(call, TextRequest([], request.source, request.target, request.model))
        try:
            if request.source or request.target:
                chosen(request, service.models, [], allowed)
            if request.glossary_id:
                request = await _with_stored_terms(call, request, allowed)
            await asyncio.to_thread(refuse_other_content, came.file, kind_of(Path(came.file.name)))
            document, key = await asyncio.to_thread(store.add, incoming, came.file, request, call.key)
            return Uploaded(document, key, call)
        except (ConfigError, DataError) as error:
            raise type(error)(str(error).replace(f"{came.file.parent}{os.sep}", "")) from None
        except DragomanError as error:
            detail = str(error).replace(f"{incoming.folder}{os.sep}", "")
            raise Problem(507, "storage", "The document cannot be stored", detail) from None


async def _with_stored_terms(call: ServiceCall, request: DocumentRequest, allowed: tuple[str, ...]) -> DocumentRequest:
    """The request with the terms that its glossaries have now. Raises Problem, ConfigError."""
    if not request.source:
        raise malformed("source: missing; a glossary that is kept needs it")
    dictionaries = await call.dictionaries((request.glossary_id or "").split(","))
    _, pair = chosen(request, call.service.models, [], allowed)
    glossary = TextRequest([], glossary=request.glossary, dictionaries=dictionaries).glossary_for(pair)
    terms = merge_glossaries(glossary, None)
    entries = terms.entries if terms else ()
    return request.model_copy(update={"glossary": {entry.term: list(entry.translations) for entry in entries}})


def _accept(status: int, name: str) -> None:
    """Raises Problem for a file of which the format is not known."""
    try:
        load(kind_of(Path(name)))
    except (DataError, ResourceError) as error:
        raise Problem(status, "unknown-format", "The format of the document is not known", str(error)) from None


def document_of(call: ServiceCall, name: str) -> StoredDocument:
    """The document of this id, if it is the sender's. Raises Problem."""
    document = documents_of(call.request).store.named(name)
    if document is None or document.facts.sender != call.sender:
        raise no_document()
    return document


def no_document() -> Problem:
    """The problem of a document that does not exist, or is another sender's."""
    detail = "there is no such document; it was deleted or has expired, or it is not yours"
    return Problem(404, "no-document", "There is no such document", detail)


def sent(path: Path, name: str, after: Callable[[], None] = lambda: None) -> Response:
    """A file as an attachment; `after` is called once all of it has been sent. Raises Problem if it is gone."""
    try:
        file = path.open("rb")
    except OSError:
        raise no_document() from None
    headers = {
        "Content-Disposition": _attachment(name),
        "Content-Length": str(os.fstat(file.fileno()).st_size),
    }
    return StreamingResponse(_blocks(file, after), media_type="application/octet-stream", headers=headers)


def _attachment(name: str) -> str:
    """The header for a name: in ASCII too, as `curl -OJ` and others read no other (RFC 6266, section 4.3)."""
    return f"attachment; filename=\"{_NOT_PLAIN.sub('_', name)}\"; filename*=utf-8''{quote(name, safe='')}"


async def _blocks(file: IO[bytes], after: Callable[[], None]) -> AsyncIterator[bytes]:
    with file:
        while block := await asyncio.to_thread(file.read, _BLOCK):
            yield block
    await asyncio.to_thread(after)
