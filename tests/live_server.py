"""A live server in a thread, and the application without one."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn

from dragoman.serve.app import make_app
from dragoman.serve.connection import Protocol
from dragoman.serve.documents.documents import Documents
from dragoman.serve.run import Address, listen
from dragoman.serve.work.service import Service


@contextmanager
def live(service: Service, documents: Documents | None = None) -> Iterator[str]:
    """The URL of a server on a free port of this machine."""
    with listen(Address(port=0)) as listening:
        app = make_app(service, documents=documents)
        server = uvicorn.Server(uvicorn.Config(app, http=Protocol, ws="none", log_config=None))
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
