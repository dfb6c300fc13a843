"""What the routers of all dialects share: the service of a request, its sender, and whether the client is gone."""

import asyncio
import time
from collections.abc import Callable, Iterable
from functools import partial

from starlette.requests import Request

from dragoman.errors import DragomanError
from dragoman.serve.http.problems import Problem, problem_of
from dragoman.serve.requests.ticket import Cancelled
from dragoman.serve.store.glossaries import Languages
from dragoman.serve.store.keys import RECHECK, ApiKey, BadKey
from dragoman.serve.work.service import Service
from dragoman.text.terms.glossary import Glossary


def service_of(request: Request) -> Service:
    """The service of the application."""
    found: Service = request.app.state.service
    return found


def key_of(request: Request) -> ApiKey | None:
    """The key of a request; None where none is needed."""
    found: ApiKey | None = getattr(request.state, "key", None)
    return found


def sender_of(request: Request) -> str:
    """Whose a request is, and what it leaves behind: the id of its key, or the address of the client."""
    key = key_of(request)
    return key.id if key else request.client.host if request.client else ""


def departure_of(request: Request) -> Callable[[], "asyncio.Future[None]"]:
    """A future that is done when the client leaves or its key is revoked; the body has been read before."""
    return partial(_departure, request)


def _departure(request: Request) -> "asyncio.Future[None]":
    async def leave() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass

    leaving, state = asyncio.ensure_future(leave()), request.state
    if key_of(request) is None:
        return leaving

    async def wait() -> None:
        state.checked = getattr(state, "checked", time.monotonic())  # a stream waits many times, shortly
        try:
            while not (await asyncio.wait([leaving], timeout=_until_check(request)))[0]:
                if await _is_revoked(request):
                    state.revoked = True
                    return
                state.checked = time.monotonic()
        finally:
            leaving.cancel()

    return asyncio.ensure_future(wait())


def _until_check(request: Request) -> float:
    """Seconds until the key must be looked up again."""
    return max(0.0, float(request.state.checked) + RECHECK - time.monotonic())


async def _is_revoked(request: Request) -> bool:
    """Whether the key that was accepted is not any more. While the database does not answer, it stays accepted."""
    service = service_of(request)
    try:
        await service.run(lambda: service.keys.check(request.state.key_text))
    except BadKey:
        return True
    except DragomanError:
        return False
    return False


def problem_for(request: Request, error: Exception) -> Problem:
    """The problem that an error is for this request: one whose key was revoked learns so."""
    if isinstance(error, Cancelled) and getattr(request.state, "revoked", False):
        return Problem(401, "unauthorised", "A key is needed", "the key was revoked")
    return problem_of(error)


async def kept_dictionaries(request: Request, ids: Iterable[str]) -> dict[Languages, Glossary]:
    """The terms of the sender's glossaries with these ids by languages; the first one's are preferred.

    Raises UnknownGlossary.
    """
    service, merged = service_of(request), dict[Languages, Glossary]()
    for glossary_id in ids:
        dictionaries = await service.run(partial(service.glossaries.dictionaries, sender_of(request), glossary_id))
        merged |= {pair: merged[pair].over(terms) if pair in merged else terms for pair, terms in dictionaries.items()}
    return merged
