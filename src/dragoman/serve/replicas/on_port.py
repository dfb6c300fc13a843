"""Several processes on one port of this machine, each with the whole service."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from types import FrameType

from dragoman.errors import DragomanError
from dragoman.serve.models.models import Models
from dragoman.serve.replicas.options import ServeOptions, served
from dragoman.serve.replicas.replica import ReplicaLink
from dragoman.serve.replicas.replicas import Replicas
from dragoman.serve.run import listen, reserved, serve_on, url_of
from dragoman.serve.watch.tracing import traced
from dragoman.system.machine import usable_processors


def serve_on_port(options: ServeOptions, count: int, on_ready: Callable[[str, str], None]) -> int:
    """Serve until a signal stops it; `on_ready` receives what is served, and the URL.

    Returns the number of processes that had to be killed at the end. Raises ConfigError, ModelError, ResourceError,
    DataError.
    """
    names, threads = served(Models(options.models)), options.threads or max(1, usable_processors() // count)
    with reserved(options.address, options.has_keys()) as port, signalled() as stopped, options.log():
        run = partial(run_replica, options.for_replica(threads, port.getsockname()[1]))
        announce = partial(on_ready, names, url_of(port))
        return Replicas(count, run).serve(stopped, options.limits.seconds + options.address.drain + 15, announce)


def run_replica(options: ServeOptions, link: ReplicaLink) -> None:
    """Serve as a process by itself does, on a port that others have open too."""
    with options.log():
        try:
            service = options.service()
            link.join(service)
            service.golden()
            with traced(service.on_request, options.otlp), listen(options.address, has_keys=True, shared=True) as port:
                serve_on(port, service, options.address, options.documents, on_ready=link.ready)
        except DragomanError as error:
            link.failed(error)
            raise SystemExit(error.exit_code) from None


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
