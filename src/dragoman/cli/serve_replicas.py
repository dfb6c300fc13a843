"""`dragoman serve --replicas N`: several processes on one port of this machine, each with the whole service."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from types import FrameType

from dragoman.cli.console import say
from dragoman.cli.serve_request import ServeRequest, served
from dragoman.cli.service_log import logged
from dragoman.errors import DragomanError
from dragoman.serve.models.models import Models
from dragoman.serve.replicas.replica import ReplicaLink
from dragoman.serve.replicas.replicas import Replicas
from dragoman.serve.run import listen, reserved, serve_on, url_of
from dragoman.serve.store.keys import KeyStore
from dragoman.serve.watch.tracing import trace_to
from dragoman.system.machine import usable_processors


def run_serve_replicas(request: ServeRequest, count: int) -> None:
    """Serve until a signal stops it. Raises ConfigError, ModelError, ResourceError, DataError."""
    names, threads = served(Models(request.models)), request.threads or max(1, usable_processors() // count)
    with reserved(request.address, has_keys(request)) as port, signalled() as stopped, logged(request.style):
        url = url_of(port)

        def announce() -> None:
            say(f"Serving {names} by {count} processes")
            say(f"at {url}, described at {url}/docs; Ctrl-C stops it")

        run = partial(run_replica, request.for_replica(threads).on_port(port.getsockname()[1]))
        killed = Replicas(count, run).serve(stopped, request.limits.seconds + 15, announce)
    say(f"stopped; {killed} processes had to be killed" if killed else "stopped; every accepted request was answered")


def run_replica(request: ServeRequest, link: ReplicaLink) -> None:
    """One of the processes: what `dragoman serve` does, on a port that others have open too."""
    with logged(request.style):
        try:
            service = request.service()
            link.join(service)
            service.golden()
            tracing = trace_to(request.otlp) if request.otlp else None
            if tracing:
                service.on_request.append(tracing.on_request)
            with listen(request.address, has_keys=True, shared=True) as listening:
                serve_on(listening, service, request.address, request.documents, on_ready=link.ready)
            if tracing:
                tracing.close()
        except DragomanError as error:
            link.failed(error)
            raise SystemExit(error.exit_code) from None


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
