"""What the routers of all dialects share: the service of a request, its sender, and whether the client is gone."""

import asyncio
from collections.abc import Callable
from functools import partial

from starlette.requests import Request

from dragoman.serve.service import Service


def service_of(request: Request) -> Service:
    """The service of the application."""
    found: Service = request.app.state.service
    return found


def sender_of(request: Request) -> str:
    """By what the turns of requests are taken: the address of the client."""
    return request.client.host if request.client else ""


def departure_of(request: Request) -> Callable[[], "asyncio.Future[None]"]:
    """A future that is done when the client leaves; the body has been read before."""
    return partial(_departure, request)


def _departure(request: Request) -> "asyncio.Future[None]":
    async def wait() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass

    return asyncio.ensure_future(wait())
