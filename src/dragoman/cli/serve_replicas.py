"""`dragoman serve --replicas N`: several processes on one port of this machine, each with the whole service."""

import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from types import FrameType

from dragoman.cli.console import say
from dragoman.cli.serve_request import ServeRequest, served
from dragoman.cli.service_log import logged
from dragoman.errors import DragomanError
from dragoman.machine import usable_processors
from dragoman.serve.keys import KeyStore
from dragoman.serve.models import Models
from dragoman.serve.replica import Link
from dragoman.serve.replicas import Replicas
from dragoman.serve.run import listen, serve_on, url_of
from dragoman.serve.tracing import trace_to


def run_serve_replicas(request: ServeRequest, count: int) -> None:
    """Serve until a signal stops it. Raises ConfigError, ModelError, ResourceError, DataError."""
    names, threads = served(Models(request.models)), request.threads or max(1, usable_processors() // count)
    with listen(request.address, has_keys(request)) as listening, signalled() as stopped, logged(request.style):
        url = url_of(listening)
        say(f"Serving {names} by {count} processes")
        say(f"at {url}, described at {url}/docs; Ctrl-C stops it")
        run = partial(run_replica, request.for_replica(threads))
        Replicas(count, run, listening).serve(stopped, request.limits.seconds + 15)
    say("stopped; every accepted request was answered")


def run_replica(request: ServeRequest, listening: socket.socket, link: Link) -> None:
    """One of the processes: what `dragoman serve` does with the port that another has opened."""
    with logged(request.style):
        try:
            service = request.service()
            link.join(service)
            tracing = trace_to(request.otlp) if request.otlp else None
            if tracing:
                service.on_request.append(tracing.on_request)
            serve_on(listening, service, request.address, request.documents, on_ready=link.ready)
            if tracing:
                tracing.close()
        except DragomanError as error:
            link.failed(error)


def has_keys(request: ServeRequest) -> bool:
    """Whether there are keys in the state of a service that is to be started."""
    state = request.open_state()
    try:
        return KeyStore(state.database).are_required()
    finally:
        state.close()


@contextmanager
def signalled() -> Iterator[threading.Event]:
    """An event that SIGTERM or Ctrl-C sets."""
    stopped = threading.Event()

    def stop(number: int, frame: FrameType | None) -> None:
        stopped.set()

    before = {number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield stopped
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
