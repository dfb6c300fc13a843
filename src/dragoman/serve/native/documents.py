"""Documents in the native dialect, `/v1/documents`: upload, progress, translation, what to review, delete."""

import asyncio
import re
from datetime import datetime
from typing import Any, Literal

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict
from starlette.responses import JSONResponse, Response

from dragoman.documents import DocumentOptions as Languages
from dragoman.serve.documents.document import DocumentRequest, StoredDocument
from dragoman.serve.documents.documents import document_of, documents_of, sent, upload
from dragoman.serve.http.access import Call
from dragoman.serve.http.body import takes_file, unicode_json, validated
from dragoman.serve.http.call import public_of
from dragoman.serve.http.problems import PROBLEM, Problem, malformed
from dragoman.serve.native.schema import language_of
from dragoman.system.parsing import Malformed
from dragoman.workflows.documents.review import HEADER, page_policy, render, review_files, review_rows


class DocumentProgress(BaseModel):
    """Texts of the document that are done, of all; 0 of 0 before they were counted."""

    done: int
    total: int


class DocumentAnswer(BaseModel):
    """A document, and how far its translation is."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    id: str
    name: str
    state: Literal["queued", "translating", "done", "failed"]
    source: str
    """Languages and model; empty before they are known."""
    target: str
    model: str
    progress: DocumentProgress
    seconds_left: float | None
    """An estimate; null before the first texts and afterwards."""
    result: str
    """File name of the translation; empty before it is done."""
    units: int
    """Pieces of text."""
    characters: int
    flagged: int
    """Pieces of text that a person should look at: `/v1/documents/{id}/review`."""
    warnings: list[str]
    error: str
    """Why it failed."""
    created: datetime
    expires: datetime | None
    """When it is removed; null before it is finished."""


class DocumentsAnswer(BaseModel):
    """The documents of the sender, in the order in which they came."""

    documents: list[DocumentAnswer]


class ReviewRow(BaseModel):
    """A piece of text that a person should look at, and why."""

    file: str
    location: str
    source: str
    translation: str
    why: str


class ReviewAnswer(BaseModel):
    """The pieces of text that a person should look at."""

    rows: list[ReviewRow]


def answer_of(document: StoredDocument) -> DocumentAnswer:
    """The answer for a document."""
    facts, left = document.facts, document.seconds_left
    done, total = document.done, document.total
    if facts.state == "done" and not total:  # it was translated before the service was started again
        done = total = facts.units
    more = {
        "progress": DocumentProgress(done=done, total=total),
        "seconds_left": None if left is None else round(left, 1),
        "created": datetime.fromtimestamp(facts.created).astimezone(),
        "expires": None if facts.expires is None else datetime.fromtimestamp(facts.expires).astimezone(),
    }
    return DocumentAnswer(**{**facts.model_dump(exclude={"request"}), **more})


router = APIRouter(prefix="/v1/documents", tags=["documents"], responses={429: PROBLEM})

TABLE = "text/tab-separated-values"


@router.post("", status_code=202, openapi_extra=takes_file(DocumentRequest), response_model=DocumentAnswer)
async def create(call: Call) -> Response:
    """Upload a document to be translated: the field `file`, and how in the other fields."""
    document = (await upload(call, _request, unknown_format=415)).document
    location = public_of(call.request).path(f"/v1/documents/{document.facts.id}")
    return JSONResponse(answer_of(document).model_dump(mode="json"), 202, {"Location": location})


@router.get("")
async def documents(call: Call) -> DocumentsAnswer:
    """All documents of the sender."""
    documents = documents_of(call.request).store.of(call.sender)
    return DocumentsAnswer(documents=list(map(answer_of, documents)))


@router.get("/{name}")
async def document(call: Call, name: str) -> DocumentAnswer:
    """How far a document is."""
    return answer_of(document_of(call, name))


@router.delete("/{name}", status_code=204)
async def delete(call: Call, name: str) -> Response:
    """Delete a document with its translation; if it is being translated, that ends."""
    await asyncio.to_thread(documents_of(call.request).store.remove, document_of(call, name))
    return Response(status_code=204)


@router.get("/{name}/result", response_class=Response)
async def result(call: Call, name: str) -> Response:
    """The translation. It stays until it expires or is deleted."""
    document = _done(document_of(call, name))
    return sent(document.result, document.facts.result)


@router.get(
    "/{name}/review",
    response_model=ReviewAnswer,
    responses={200: {"content": {media: {"schema": {"type": "string"}} for media in (TABLE, "text/html")}}},
)
async def review(call: Call, name: str, format: Literal["json", "tsv", "html"] = "json") -> Response:
    """What a person should look at, as JSON, as a table or as a page."""
    document = _done(document_of(call, name))
    facts, (table, page) = document.facts, review_files(document.result)  # there, if anything is flagged
    if format == "json":
        rows = await asyncio.to_thread(lambda: [ReviewRow.model_validate(row) for row in review_rows(table)])
        return JSONResponse(ReviewAnswer(rows=rows).model_dump())
    if format == "tsv":
        if table.exists():
            return sent(table, table.name)
        return Response(HEADER, media_type=TABLE)
    languages = Languages(facts.source, facts.target)
    text = page.read_text(encoding="utf-8") if page.exists() else render(facts.result, [], 0, languages)
    return Response(text, media_type="text/html", headers={"Content-Security-Policy": page_policy()})


def _done(document: StoredDocument) -> StoredDocument:
    """The document, if it is translated. Raises Problem."""
    state = document.facts.state
    if state == "done":
        return document
    if state == "failed":
        raise Problem(409, "failed", "The document was not translated", document.facts.error)
    raise Problem(409, "not-ready", "The document is not translated yet", f"the document is {state}; ask again", 2)


def _request(form: dict[str, str], name: str) -> DocumentRequest:
    """The request in the fields of a form. Raises Problem that names the one at fault."""
    fields: dict[str, Any] = {**form, "source": language_of(form.get("source"))}
    for field in ("target", "model", "glossary_id"):
        fields[field] = form.get(field) or None
    for field in ("mark", "update"):
        if field in form:
            fields[field] = _truth(field, form[field])
    if "max_chars" in form:
        if not re.fullmatch("0*[1-9][0-9]{0,8}", form["max_chars"]):
            raise malformed("max_chars: give a number of at least 1")
        fields["max_chars"] = int(form["max_chars"])
    if "columns" in form:
        fields["columns"] = [part.strip() for part in form["columns"].split(",") if part.strip()]
    if "glossary" in form:
        try:
            fields["glossary"] = unicode_json(form["glossary"].encode()) if form["glossary"] else None
        except Malformed as error:
            raise malformed(f"glossary: {error}; give an object of JSON") from None
    return validated(DocumentRequest, fields, "file")


def _truth(name: str, value: str) -> bool:
    if value.lower() not in ("true", "false", "1", "0"):
        raise malformed(f"{name}: give true or false")
    return value.lower() in ("true", "1")
