"""The application: routers, errors, health, metrics, the description of its interface. No global state."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from fastapi import Depends, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Match
from starlette.types import ASGIApp

from dragoman.errors import DragomanError
from dragoman.serve import page
from dragoman.serve.answers import error_response
from dragoman.serve.deepl import deepl
from dragoman.serve.deepl import documents as deepl_documents
from dragoman.serve.deepl import glossaries as deepl_glossaries
from dragoman.serve.deepl import languages as deepl_languages
from dragoman.serve.description import DescribedApp, reference_page, reference_policy
from dragoman.serve.documents.documents import UPLOADS, Documents
from dragoman.serve.guard import Guard
from dragoman.serve.http.access import PROBLEMS, authorise
from dragoman.serve.http.call import problem_for
from dragoman.serve.http.origins import PublicAddress
from dragoman.serve.http.problems import Problem, malformed
from dragoman.serve.http.upload import FIELD_BYTES
from dragoman.serve.libretranslate import libretranslate
from dragoman.serve.native import assist, documents, feedback, glossaries, inspect, memory, native
from dragoman.serve.work.service import Service
from dragoman.system.parsing import plain_cause
from dragoman.version import __version__

PUBLIC = PublicAddress()
METHODS = ("DELETE", "GET", "HEAD", "PATCH", "POST", "PUT")
# Where there are keys, requests to these need one. `deepl` comes last of its own, because it answers every path.
NATIVE = (native, assist, memory, glossaries, feedback, inspect, documents)
WITH_KEYS = (*NATIVE, libretranslate, deepl_documents, deepl_glossaries, deepl_languages, deepl)


def make_app(
    service: Service,
    public: PublicAddress = PUBLIC,
    on_failure: Callable[[DragomanError], None] | None = None,
    documents: Documents | None = None,
    on_ready: Callable[[], None] = lambda: None,
) -> ASGIApp:
    """The application of a service, for the requests that its public address allows.

    When it starts, a golden sentence is translated, then `on_ready` is called; `on_failure` receives the error if the
    model cannot.
    """
    documents = documents or Documents(service)
    app = DescribedApp(
        title="Dragoman",
        version=__version__,
        description="A private translation service.",
        docs_url=None,
        redoc_url=None,
        lifespan=_lifespan(service, documents, on_ready, on_failure),
        telemetry={"auto_configure": False, "logs": False, "tracing": False, "metrics": False},  # see serve.tracing
    )
    app.state.service, app.state.documents, app.state.public = service, documents, public
    for module in WITH_KEYS:
        app.include_router(module.router, dependencies=[Depends(authorise)], responses=PROBLEMS)
    app.include_router(libretranslate.downloads)
    app.include_router(page.router)
    _add_errors(app)
    _add_operations(app, service)
    uploads = dict.fromkeys(UPLOADS, documents.store.limits.bytes + FIELD_BYTES)
    return Guard(app, service.on_request, public, service.limits.body_bytes, uploads, lambda: service.draining)


def _lifespan(
    service: Service,
    documents: Documents,
    on_ready: Callable[[], None],
    on_failure: Callable[[DragomanError], None] | None,
) -> Callable[[FastAPI], AbstractAsyncContextManager[None]]:
    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async def start() -> None:
            try:
                documents.start()
                await service.start()
                on_ready()
            except DragomanError as error:
                if on_failure is None:
                    raise
                on_failure(error)

        starting = asyncio.create_task(start())
        yield
        starting.cancel()
        await documents.close()
        await asyncio.to_thread(service.close)

    return lifespan


def _add_errors(app: FastAPI) -> None:
    """Every error becomes a problem, which the dialect of its path writes."""

    async def answer(request: Request, error: Exception) -> JSONResponse:
        return error_response(request.url.path, _problem(request, error), request.state.request_id)

    for kind in (Problem, DragomanError, RequestValidationError, HTTPException, ClientDisconnect, Exception):
        app.add_exception_handler(kind, answer)


def _problem(request: Request, error: Exception) -> Problem:
    if isinstance(error, HTTPException):
        what = f"{request.method} {request.url.path[:100]}"
        allow = ", ".join(_methods(request)) if error.status_code == 405 else ""
        detail = {404: f"{what}: there is nothing here; see /docs", 405: f"{what}: send it as {allow}; see /docs"}
        text = detail.get(error.status_code, str(error.detail))
        return Problem(error.status_code, "http", str(error.detail), text, allow=allow)
    if isinstance(error, RequestValidationError):
        first = error.errors()[0]
        return malformed(f"{str(first['loc'][-1])[:60]}: {plain_cause(first['msg'])}; see /docs")
    return problem_for(request, error)


def _methods(request: Request) -> list[str]:
    """The methods that a path allows, for the header Allow."""

    def serves(method: str) -> bool:
        scope = {**request.scope, "method": method}
        return any(route.matches(scope)[0] == Match.FULL for route in request.app.routes)

    return [method for method in METHODS if serves("GET" if method == "HEAD" else method)]


def _add_operations(app: FastAPI, service: Service) -> None:
    @app.get("/healthz", tags=["operations"])
    async def healthz() -> dict[str, str]:
        """The process answers."""
        return {"status": "ok"}

    @app.get("/readyz", tags=["operations"], responses={503: {"description": "Not yet, or no longer"}})
    async def readyz() -> Response:
        """A golden sentence was translated, there are models, and the service is not about to stop."""
        status = "ready" if service.models.pairs else "no models"
        status = "draining" if service.draining else status if service.ready else "starting"
        return JSONResponse({"status": status}, 200 if status == "ready" else 503)

    @app.get("/metrics", tags=["operations"], response_class=PlainTextResponse)
    async def metrics() -> Response:
        """For Prometheus."""
        return Response(await service.all_metrics(), media_type="text/plain; version=0.0.4; charset=utf-8")

    @app.get("/docs", include_in_schema=False)
    async def docs() -> Response:
        """The interface, for people."""
        return HTMLResponse(reference_page(app.openapi()), 200, {page.POLICY: reference_policy()})
