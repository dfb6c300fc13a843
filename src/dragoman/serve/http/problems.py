"""What went wrong, as HTTP: a status, a short name for programs and a sentence for people; RFC 9457 for `/v1`.

what a user can cause                  status
UnknownModel, UnknownGlossary          404   the first names the models that there are
UnknownLanguage, ConfigError           400   names the languages that there are
DataError, a malformed body            400
a body or a text that is too large     413   and a glossary more than a sender may keep; 456 for clients of DeepL
QueueFull, DatabaseGone                503   with Retry-After
CannotLook, CannotPack                 501
Expired                                504
Cancelled, ClientDisconnect            499   nobody reads it; it is not a failure of the service
a page of another origin               403
ResourceError, MemoryError             507
ModelError, anything unexpected        500   the log has the request's id
"""

from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel
from starlette.requests import ClientDisconnect

from dragoman.errors import ConfigError, DataError, ResourceError
from dragoman.serve.models.html_files import CannotPack
from dragoman.serve.models.looking import CannotLook
from dragoman.serve.models.models import UnknownLanguage, UnknownModel
from dragoman.serve.requests.ticket import Cancelled, Expired, QueueFull
from dragoman.serve.store.database import DatabaseGone
from dragoman.serve.store.glossaries import GlossaryLimit, UnknownGlossary
from dragoman.serve.work.service import TooLarge

MEDIA_TYPE = "application/problem+json"


class ProblemBody(BaseModel):
    """An error, as RFC 9457 has it."""

    type: str
    title: str
    status: int
    detail: str
    instance: str | None = None


PROBLEM = {"description": "A problem", "content": {MEDIA_TYPE: {"schema": ProblemBody.model_json_schema()}}}
"""How OpenAPI describes one."""


@dataclass(eq=False)
class Problem(Exception):
    """An answer that is an error; `kind` is for programs and never changes."""

    status: int
    kind: str
    title: str
    detail: str
    retry_after: int | None = None
    allow: str = ""
    """The methods that there are, for a status of 405."""

    @property
    def headers(self) -> dict[str, str]:
        """`Retry-After`, `Allow` and `WWW-Authenticate`, where the problem has them."""
        headers = {} if self.retry_after is None else {"Retry-After": str(self.retry_after)}
        headers |= {"WWW-Authenticate": 'Bearer realm="dragoman"'} if self.status == 401 else {}
        return headers | ({"Allow": self.allow} if self.allow else {})

    def body(self, instance: str = "") -> dict[str, Any]:
        """The fields of RFC 9457."""
        fields = {"type": f"urn:dragoman:problem:{self.kind}", "title": self.title, "status": self.status}
        return {**fields, "detail": self.detail, **({"instance": instance} if instance else {})}


def too_large(detail: str) -> Problem:
    """The problem of a request that has more than is accepted."""
    return Problem(413, "too-large", "The request is too large", detail)


def malformed(detail: str) -> Problem:
    """The problem of a body that is not what it should be."""
    return Problem(400, "malformed", "The request is malformed", detail)


def problem_of(error: Exception) -> Problem:
    """The problem that an error is; what is unexpected does not say more than that."""
    text = " ".join(str(error).split())
    for kinds, status, kind, title in (
        (UnknownModel, 404, "unknown-model", "The model is not served"),
        (UnknownGlossary, 404, "unknown-glossary", "There is no such glossary"),
        (CannotLook, 501, "cannot-look", "The model cannot be looked into"),
        (CannotPack, 501, "cannot-pack", "No page can run the model"),
        (GlossaryLimit, 413, "glossary-limit", "No more glossaries can be kept"),
        (TooLarge, 413, "too-large", "The request is too large"),
        (Expired, 504, "expired", "The request took too long"),
        (Cancelled | ClientDisconnect, 499, "cancelled", "The client is gone"),
        (UnknownLanguage, 400, "unknown-language", "The language is not served"),
        (ConfigError, 400, "refused", "The request cannot be served"),
        (DataError, 400, "malformed", "The request is malformed"),
        (ResourceError, 507, "too-large-to-search", "The request does not fit into memory"),
        (DatabaseGone, 503, "database", "The database does not answer"),
        (QueueFull, 503, "queue-full", "The service is busy"),
    ):
        if isinstance(error, kinds):
            return Problem(status, kind, title, text, getattr(error, "retry_after", None))
    if isinstance(error, MemoryError):
        return problem_of(ResourceError("it does not fit into memory; send a shorter text"))
    if isinstance(error, Problem):
        return error
    return Problem(500, "internal", "The service failed", "this request failed; the log names its cause by its id")
