"""Documents in the native dialect, `/v1/documents`: upload, progress, translation, what to review, delete."""

import asyncio
from typing import Any, Literal

from fastapi import APIRouter, Request
from starlette.responses import JSONResponse, Response

from dragoman.documents import Request as Languages
from dragoman.serve.documents.document import DocumentRequest, StoredDocument
from dragoman.serve.documents.documents import documents_of, own, remove, sent, upload
from dragoman.serve.documents.schema import DocumentAnswer, DocumentsAnswer, ReviewAnswer, ReviewRow, answer_of
from dragoman.serve.http.described import PROBLEMS
from dragoman.serve.http.http import sender_of
from dragoman.serve.http.problems import Problem, malformed
from dragoman.system.parsing import Malformed, parse_json
from dragoman.workflows.documents.review import HEADER, page_policy, render, review_rows

router = APIRouter(
    prefix="/v1/documents", tags=["documents"], responses={**PROBLEMS, **dict.fromkeys((409, 415, 429), PROBLEMS[400])}
)

TABLE = "text/tab-separated-values"
_SCHEMA = DocumentRequest.model_json_schema()
_FORM = {
    "type": "object",
    "required": ["file"],
    "properties": {"file": {"type": "string", "format": "binary"}, **_SCHEMA["properties"]},
}
_TAKES = {"requestBody": {"required": True, "content": {"multipart/form-data": {"schema": _FORM}}}}


@router.post("", status_code=202, openapi_extra=_TAKES, response_model=DocumentAnswer)
async def create(request: Request) -> Response:
    """Upload a document to be translated: the field `file`, and how in the other fields."""
    document, _ = await upload(request, _asked, unknown_format=415)
    location = f"/v1/documents/{document.facts.id}"
    return JSONResponse(answer_of(document).model_dump(mode="json"), 202, {"Location": location})


@router.get("")
async def documents(request: Request) -> DocumentsAnswer:
    """All documents of the sender."""
    found = documents_of(request).store.of(sender_of(request))
    return DocumentsAnswer(documents=[answer_of(one) for one in found])


@router.get("/{name}")
async def document(request: Request, name: str) -> DocumentAnswer:
    """How far a document is."""
    return answer_of(own(request, name))


@router.delete("/{name}", status_code=204)
async def delete(request: Request, name: str) -> Response:
    """Delete a document with its translation; if it is being translated, that ends."""
    await remove(request, own(request, name))
    return Response(status_code=204)


@router.get("/{name}/result", response_class=Response)
async def result(request: Request, name: str) -> Response:
    """The translation. It stays until it expires or is deleted."""
    found = _done(own(request, name))
    return sent(found.result, found.facts.result)


@router.get(
    "/{name}/review",
    response_model=ReviewAnswer,
    responses={200: {"content": {media: {"schema": {"type": "string"}} for media in (TABLE, "text/html")}}},
)
async def review(request: Request, name: str, format: Literal["json", "tsv", "html"] = "json") -> Response:
    """What a person should look at, as JSON, as a table or as a page."""
    found = _done(own(request, name))
    facts, (table, page) = found.facts, found.review
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


def _asked(given: dict[str, str]) -> dict[str, Any]:
    """The fields of a form as those of a asked. Raises Problem."""
    fields: dict[str, Any] = dict(given)
    for name in ("mark", "update"):
        if name in given:
            fields[name] = _truth(name, given[name])
    if "max_chars" in given:
        if not (given["max_chars"].isascii() and given["max_chars"].isdecimal() and len(given["max_chars"]) < 10):
            raise malformed("max_chars: give a number of at least 1")
        fields["max_chars"] = int(given["max_chars"])
    if "columns" in given:
        fields["columns"] = [part.strip() for part in given["columns"].split(",") if part.strip()]
    if "glossary" in given:
        try:
            fields["glossary"] = parse_json(given["glossary"].encode()) if given["glossary"] else None
        except Malformed as error:
            raise malformed(f"glossary: {error}; give an object of JSON") from None
    return fields


def _truth(name: str, value: str) -> bool:
    if value.lower() not in ("true", "false", "1", "0"):
        raise malformed(f"{name}: give true or false")
    return value.lower() in ("true", "1")
