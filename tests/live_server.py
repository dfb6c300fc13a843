"""A live server in a thread, and requests to it that wait as long as a busy machine needs."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, Literal

import httpx
import pytest
import uvicorn

from dragoman.serve.app import PUBLIC, make_app
from dragoman.serve.connection import Protocol
from dragoman.serve.documents.documents import Documents
from dragoman.serve.http.origins import PublicAddress
from dragoman.serve.models.models import Models
from dragoman.serve.run import Address, listen
from dragoman.serve.work.service import Service, ServiceLimits

# httpx gives up after 5 seconds, in which a golden sentence may not be translated.
get, post = partial(httpx.get, timeout=60), partial(httpx.post, timeout=60)


@contextmanager
def live(service: Service, documents: Documents | None = None, public: PublicAddress = PUBLIC) -> Iterator[str]:
    """The URL of a server on a free port of this machine."""
    with listen(Address(port=0)) as listening:
        app = make_app(service, public, documents=documents)
        config = uvicorn.Config(app, http=Protocol, ws="none", log_config=None, proxy_headers=False)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=lambda: asyncio.run(server.serve([listening])))
        thread.start()
        host, port = listening.getsockname()[:2]
        try:
            while not server.started or not service.ready:
                assert thread.is_alive()
                thread.join(0.01)
            yield f"http://{host}:{port}"
        finally:
            server.should_exit = True
            thread.join()


def server_fixtures(scope: Literal["module", "session"] = "module") -> tuple[Any, Any, Any]:
    """The fixtures `service`, `url` and `client` of a live server with the bundled models."""

    @pytest.fixture(scope=scope)
    def service() -> Service:
        limits = ServiceLimits(characters=20_000, texts=100, body_bytes=1 << 18)
        return Service(Models(threads=1, exact=True), limits)

    @pytest.fixture(scope=scope)
    def url(service: Service) -> Iterator[str]:
        with live(service) as address:
            yield address

    @pytest.fixture(scope=scope)
    def client(url: str) -> Iterator[httpx.Client]:
        with httpx.Client(base_url=url, timeout=120) as connected:
            yield connected

    return service, url, client
