"""A request with what the routers of all dialects need: the service, the key, the sender, the client's departure.

`authorise` of `serve.http.access`, a dependency of every router, makes the call once.
"""

import asyncio
import hashlib
import re
import secrets
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any, ParamSpec, TypeVar

from starlette.requests import Request
from starlette.responses import Response

from dragoman.errors import DragomanError
from dragoman.serve.http.body import Model, fields, json_object, refuse_untyped, validated
from dragoman.serve.http.origins import PublicAddress
from dragoman.serve.http.problems import Problem, problem_of
from dragoman.serve.requests.ticket import Cancelled
from dragoman.serve.store.glossaries import Languages
from dragoman.serve.store.keys import RECHECK, ApiKey, BadKey
from dragoman.serve.work.service import Service
from dragoman.serve.work.text import Prepare, TextAnswer, TextRequest, translate
from dragoman.text.terms.glossary import Glossary

# A browser without a key is known by this for a year.
COOKIE, COOKIE_SECONDS = "dragoman", 365 * 86_400
_COOKIE_FORM = re.compile(r"[\w-]{32}", re.ASCII)
P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ServiceCall:
    """A request to a service, and the key that was accepted; None where none is needed."""

    request: Request
    service: Service
    key: ApiKey | None = None
    key_text: str = ""

    @property
    def sender(self) -> str:
        """Whose a request is, and what it leaves behind: the id of its key, else of its browser, else its address."""
        client = self.request.client
        return self.key.id if self.key else browser_of(self.request) or (client.host if client else "")

    async def fields(self) -> dict[str, Any]:
        """The fields of the body or of the query. Raises Problem."""
        return await fields(self.request, self.service.limits.body_bytes)

    async def body(self, model: type[Model]) -> Model:
        """The body, an object of JSON, as a model of pydantic. Raises Problem.

        From a page it has to say that it is JSON: what a form sends is something else.
        """
        refuse_untyped(self.request)
        return validated(model, await json_object(self.request))

    async def run(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """A short work in a thread, such as a transaction of the database."""
        return await self.service.run(partial(work, *args, **kwargs))

    async def ask(self, work: Callable[[Prepare], T]) -> T:
        """`work(prepare)` in the turns of this sender. Raises as `Service.ask`."""
        return await self.service.ask(work, self.sender, self.departure)

    async def translate(self, request: TextRequest) -> list[TextAnswer]:
        """The answers for a request in the turns of this sender. Raises as `Service.ask` and `translate`."""
        return await self.ask(partial(translate, request, self.service.models))

    async def dictionaries(self, ids: Iterable[str]) -> dict[Languages, Glossary]:
        """The terms of the sender's glossaries with these ids by languages; the first one's are preferred.

        Raises UnknownGlossary.
        """
        merged = dict[Languages, Glossary]()
        for glossary_id in ids:
            dictionaries = await self.run(self.service.glossaries.dictionaries, self.sender, glossary_id)
            merged |= {
                pair: merged[pair].over(terms) if pair in merged else terms for pair, terms in dictionaries.items()
            }
        return merged

    def departure(self) -> "asyncio.Future[None]":
        """A future that is done when the client leaves or its key is revoked; the body has been read before."""
        leaving = asyncio.ensure_future(_disconnected(self.request))
        return leaving if self.key is None else asyncio.ensure_future(self._left_or_revoked(leaving))

    async def _left_or_revoked(self, leaving: "asyncio.Future[None]") -> None:
        state = self.request.state
        state.checked = getattr(state, "checked", time.monotonic())  # a stream waits many times, shortly
        try:
            while not (await asyncio.wait([leaving], timeout=max(0.0, state.checked + RECHECK - time.monotonic())))[0]:
                if await self._is_revoked():
                    state.revoked = True
                    return
                state.checked = time.monotonic()
        finally:
            leaving.cancel()

    async def _is_revoked(self) -> bool:
        """Whether the key that was accepted is not any more. While the database does not answer, it stays accepted."""
        try:
            await self.run(self.service.keys.check, self.key_text)
        except BadKey:
            return True
        except DragomanError:
            return False
        return False


def browser_of(request: Request) -> str:
    """The sender that a browser is by its cookie, of which only the digest is kept; "" without one."""
    cookie = request.cookies.get(COOKIE, "")
    return f"browser-{hashlib.sha256(cookie.encode()).hexdigest()[:32]}" if _COOKIE_FORM.fullmatch(cookie) else ""


def new_browser(response: Response, request: Request) -> None:
    """Give a browser its cookie: random, so that nobody guesses it, and only for the service's own pages."""
    value, secure = secrets.token_urlsafe(24), request.url.scheme == "https"
    path = public_of(request).path("/")
    response.set_cookie(COOKIE, value, COOKIE_SECONDS, path=path, secure=secure, httponly=True, samesite="lax")


def public_of(request: Request) -> PublicAddress:
    """The public address of the application."""
    public: PublicAddress = request.app.state.public
    return public


def service_of(request: Request) -> Service:
    """The service of the application."""
    service: Service = request.app.state.service
    return service


def problem_for(request: Request, error: Exception) -> Problem:
    """The problem that an error is for this request: one whose key was revoked learns so."""
    if isinstance(error, Cancelled) and getattr(request.state, "revoked", False):
        return Problem(401, "unauthorised", "A key is needed", "the key was revoked")
    return problem_of(error)


async def _disconnected(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
