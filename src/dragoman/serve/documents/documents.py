"""Documents in a service: the store and its workers from start to end, and what all dialects do with a request for one.

Nothing here is of one dialect. A document belongs to its sender; for anyone else there is none.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from functools import partial
from pathlib import Path
from typing import IO, Any
from urllib.parse import quote

from pydantic import ValidationError
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from dragoman.control.search.request import merge_glossaries
from dragoman.documents.formats import kind_of, load, refuse_other_content
from dragoman.errors import ConfigError, DataError, DragomanError, ResourceError
from dragoman.serve.documents.document import FILES, DocumentRequest, StoredDocument
from dragoman.serve.documents.store import DocumentLimits, DocumentStore
from dragoman.serve.documents.work import DocumentWorkers, chosen
from dragoman.serve.http.access import allowed_model, require_key
from dragoman.serve.http.http import kept_dictionaries, key_of, sender_of, service_of
from dragoman.serve.http.problems import Problem, malformed
from dragoman.serve.http.upload import receive
from dragoman.serve.work.service import Service
from dragoman.serve.work.text import TextRequest
from dragoman.system.parsing import plain_cause

# Where documents are uploaded: a body may be larger there.
UPLOADS = ("/v1/documents", "/v2/document", "/translate_file")
_BLOCK = 1 << 18


class Documents:
    """The documents of a service, in its state folder."""

    def __init__(self, service: Service, limits: DocumentLimits | None = None) -> None:
        self.store = DocumentStore(service.state.folder, limits)
        self._workers = DocumentWorkers(self.store, service)

    def start(self) -> None:
        """Begin, with what an earlier service has left. Raises DragomanError."""
        self.store.open()
        self._workers.start()

    async def close(self) -> None:
        """Interrupt what is translated; from the thread of `start`, which holds the locks."""
        self.store.close()
        await asyncio.to_thread(self._workers.join)
        self.store.release()


def documents_of(request: Request) -> Documents:
    """Those of the application."""
    found: Documents = request.app.state.documents
    return found


async def upload(
    request: Request, asked_of: Callable[[dict[str, str]], DocumentRequest | dict[str, Any]], unknown_format: int = 400
) -> tuple[StoredDocument, str]:
    """The document of an upload in the queue, and its key; `asked_of` reads the fields.

    Raises Problem, of the status `unknown_format` where the name is of none that is known.
    """
    store, service, sender = documents_of(request).store, service_of(request), sender_of(request)
    if service.draining:
        raise Problem(503, "stopping", "The service is busy", "the service is about to stop; try again later", 5)
    length = request.headers.get("content-length", "0")
    with store.incoming(sender, int(length[:18]) if length.isdecimal() else 1) as one:
        accept = partial(_accept, unknown_format)
        came = await receive(request, one.folder / FILES, accept, lambda size: store.count(one, size))
        if came.file is None:
            raise malformed("file: missing; send the document as a file in this field")
        await require_key(request, came.fields.pop("api_key", ""))
        one.sender = sender_of(request)
        asked = checked(asked_of(came.fields))
        model = await allowed_model(request, TextRequest([], asked.source, asked.target, asked.model))
        asked = asked.model_copy(update={"model": model})
        try:
            if asked.source or asked.target:
                chosen(asked, service.models, [])
            if asked.glossary_id:
                asked = await _with_kept_terms(request, asked)
            await asyncio.to_thread(refuse_other_content, came.file, kind_of(Path(came.file.name)))
            return await asyncio.to_thread(store.add, one, came.file, asked, key_of(request))
        except (ConfigError, DataError) as error:
            raise type(error)(str(error).replace(f"{came.file.parent}{os.sep}", "")) from None
        except DragomanError as error:
            detail = str(error).replace(f"{one.folder}{os.sep}", "")
            raise Problem(507, "storage", "The document cannot be stored", detail) from None


async def _with_kept_terms(request: Request, asked: DocumentRequest) -> DocumentRequest:
    """What is asked, with the terms that its glossaries have now. Raises Problem, ConfigError."""
    if not asked.source:
        raise malformed("source: missing; a glossary that is kept needs it")
    found = await kept_dictionaries(request, (asked.glossary_id or "").split(","))
    _, pair = service_of(request).models.choose(asked.source, asked.target, asked.model)
    terms = merge_glossaries(TextRequest([], glossary=asked.glossary, dictionaries=found).glossary_for(pair), None)
    entries = terms.entries if terms else ()
    return asked.model_copy(update={"glossary": {one.term: list(one.translations) for one in entries}})


def _accept(status: int, name: str) -> None:
    """Raises Problem for a file of which the format is not known."""
    try:
        load(kind_of(Path(name)))
    except (DataError, ResourceError) as error:
        raise Problem(status, "unknown-format", "The format of the document is not known", str(error)) from None


def checked(given: DocumentRequest | dict[str, Any]) -> DocumentRequest:
    """The asked with these fields. Raises Problem that names the one at fault."""
    if isinstance(given, DocumentRequest):
        return given
    try:
        asked = DocumentRequest.model_validate(given)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        cause = plain_cause(first["msg"])
        if first["type"] == "extra_forbidden":
            cause = f"unknown field; known are file, {', '.join(DocumentRequest.model_fields)}"
        raise malformed(f"{str(first['loc'][0])[:60]}: {cause}") from None
    if asked.max_chars is not None and asked.max_chars < 1:
        raise malformed("max_chars: give a number of at least 1")
    source = None if asked.source in ("", "auto") else asked.source
    return asked.model_copy(
        update={
            "source": source,
            "target": asked.target or None,
            "model": asked.model or None,
            "glossary_id": asked.glossary_id or None,
        }
    )


def own(request: Request, name: str) -> StoredDocument:
    """The document of this id, if it is the sender's. Raises Problem."""
    found = documents_of(request).store.named(name)
    if found is None or found.facts.sender != sender_of(request):
        raise no_document()
    return found


def no_document() -> Problem:
    """There is none, or it is another's."""
    detail = "there is no such document; it was deleted or has expired, or it is not yours"
    return Problem(404, "no-document", "There is no such document", detail)


async def remove(request: Request, document: StoredDocument) -> None:
    """Remove a document."""
    await asyncio.to_thread(documents_of(request).store.remove, document)


def sent(path: Path, name: str, after: Callable[[], None] = lambda: None) -> Response:
    """A file as an attachment; `after` is called once all of it has been sent. Raises Problem if it is gone."""
    try:
        file = path.open("rb")
    except OSError:
        raise no_document() from None
    headers = {
        "Content-Disposition": f"attachment; filename*=utf-8''{quote(name, safe='')}",
        "Content-Length": str(os.fstat(file.fileno()).st_size),
    }
    return StreamingResponse(_blocks(file, after), media_type="application/octet-stream", headers=headers)


async def _blocks(file: IO[bytes], after: Callable[[], None]) -> AsyncIterator[bytes]:
    with file:
        while block := await asyncio.to_thread(file.read, _BLOCK):
            yield block
    await asyncio.to_thread(after)
