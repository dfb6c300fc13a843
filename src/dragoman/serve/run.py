"""A server of its own: the socket, uvicorn, and an end that loses nothing.

SIGTERM: `/readyz` fails and new work is refused with 503, so that a proxy takes another service; after a moment nothing
is accepted any more, as at once on Ctrl-C. What has been accepted is finished, then the process ends.
"""

import gc
import ipaddress
import math
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType

import uvicorn

from dragoman.errors import ConfigError, DragomanError
from dragoman.serve.app import make_app
from dragoman.serve.connection import Protocol
from dragoman.serve.documents.documents import Documents
from dragoman.serve.documents.store import DocumentLimits
from dragoman.serve.http.origins import PublicAddress, host_name, public_address
from dragoman.serve.work.service import Service

# Seconds that an idle connection is kept: as long as a person thinks about the next sentence.
KEEP_ALIVE = 75


@dataclass(frozen=True, slots=True)
class Address:
    """Where to listen, and the names under which the service may be asked."""

    host: str = "127.0.0.1"
    port: int = 8080
    names: Sequence[str] = ()
    without_keys: bool = False
    """Anyone who reaches it may use it."""
    origins: Sequence[str] = ()
    """Of pages elsewhere that may use it."""
    proxies: Sequence[str] = ()
    """Whose word on the address of a client is believed."""
    root: str = ""
    """The path under which a proxy offers it."""
    drain: float = 1.0
    """Seconds after SIGTERM in which it still listens, and refuses."""

    def __post_init__(self) -> None:
        """Raises ConfigError."""
        _ = self.public

    @property
    def public(self) -> PublicAddress:
        """How it is known outside."""
        names = (self.host, *map(host_name, self.names))
        return public_address(names, self.origins, self.proxies, self.root)


class _Server(uvicorn.Server):
    """Stops by itself: a signal is not raised again afterwards, because the work is done."""

    service: Service
    drain: float
    _end = math.inf

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """SIGTERM: listen on for a moment, and refuse; Ctrl-C, or a second signal: stop listening."""
        if sig == signal.SIGINT or self.service.draining or not self.drain:
            self.should_exit = True
        self.service.draining, self._end = True, time.monotonic() + self.drain

    async def on_tick(self, counter: int) -> bool:
        """Whether to stop listening; uvicorn asks ten times a second."""
        self.should_exit = self.should_exit or time.monotonic() >= self._end
        return await super().on_tick(counter)


def serve(
    service: Service,
    address: Address,
    on_ready: Callable[[str], None] = lambda url: None,
    documents: DocumentLimits | None = None,
) -> None:
    """Serve until SIGTERM or Ctrl-C; `on_ready` receives the URL once the port is open.

    Raises ConfigError if it cannot listen, or may not: beyond this machine only with keys or `without_keys`.
    Raises ModelError if the first model translates nothing.
    """
    with listen(address, service.keys.are_required()) as listening:
        serve_on(listening, service, address, documents, on_open=lambda: on_ready(url_of(listening)))


def serve_on(
    listening: socket.socket,
    service: Service,
    address: Address,
    documents: DocumentLimits | None = None,
    *,
    on_open: Callable[[], None] = lambda: None,
    on_ready: Callable[[], None] = lambda: None,
) -> None:
    """Serve on an open port until SIGTERM or Ctrl-C.

    `on_open` is called before connections are accepted, `on_ready` when the first model has translated. Raises
    ModelError if it translates nothing.
    """
    failures = list[DragomanError]()

    def ready() -> None:
        keep()
        on_ready()

    def fail(error: DragomanError) -> None:
        failures.append(error)
        server.should_exit = True

    app = make_app(service, address.public, fail, Documents(service, documents), ready)
    config = uvicorn.Config(
        app,
        http=Protocol,
        ws="none",
        log_config=None,
        server_header=False,
        proxy_headers=False,  # the application believes those of `--trusted-proxy`
        timeout_keep_alive=KEEP_ALIVE,
        timeout_graceful_shutdown=int(service.limits.seconds) + 5,
    )
    server = _Server(config)
    server.service, server.drain = service, address.drain
    on_open()
    server.run([listening])
    if failures:
        raise failures[0]


def keep() -> None:
    """Leave what this process has made until now out of garbage collection.

    Nearly all of it stays, and to go through it took 80 ms every few hundred requests, in which nobody was answered.
    """
    gc.collect()
    gc.freeze()


def listen(address: Address, has_keys: bool = False, shared: bool = False) -> socket.socket:
    """An open port, which other processes may have open too if it is `shared`; then connections are dealt out to all.

    Raises ConfigError, also for one that everyone in the network could use.
    """
    return _bound(address, has_keys, shared, backlog=2048)


@contextmanager
def reserved(address: Address, has_keys: bool) -> Iterator[socket.socket]:
    """A port that is this service's until the block ends, for processes that open it `shared`. Raises as `listen`."""
    if sys.platform != "linux":
        raise ConfigError("--replicas: only Linux deals out connections to several processes; leave it out")
    if address.port:
        _bound(address, has_keys).close()  # it is refused where others share it
    with _bound(address, has_keys, shared=True) as port:  # for 0 the system chooses one that nobody has, shared or not
        yield port


def _bound(address: Address, has_keys: bool, shared: bool = False, backlog: int = 0) -> socket.socket:
    try:
        family, kind, protocol, _, where = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)[0]
    except (OSError, UnicodeError):
        raise ConfigError(f"--host {address.host}: not an address of this machine; try 127.0.0.1") from None
    if not (address.without_keys or has_keys) and not ipaddress.ip_address(str(where[0]).partition("%")[0]).is_loopback:
        raise ConfigError(
            f"--host {address.host}: everyone in the network could use the service, which has no keys; "
            "create one with `dragoman keys create NAME`, allow it with --no-auth, or leave --host out"
        )
    opened = socket.socket(family, kind, protocol)
    try:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT if shared else socket.SO_REUSEADDR, 1)
        opened.bind(where)
        if backlog:  # where two bind a port at once, the second is refused here
            opened.listen(backlog)
    except OSError as error:
        opened.close()
        remedy = "choose another --port" if error.strerror == "Address already in use" else "choose another --host"
        raise ConfigError(f"{address.host}:{address.port}: {(error.strerror or 'refused').lower()}; {remedy}") from None
    return opened


def url_of(listening: socket.socket) -> str:
    """The URL of an open port."""
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
