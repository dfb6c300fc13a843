"""A connection: HTTP/1.1 by h11, which limits headers, with an end for requests that arrive too slowly.

uvicorn limits neither how long a request may take to arrive nor how many connections there are. Here the headers have
`header_seconds` in all, whatever trickles in, and a body has to come at `body_rate`. Where there are more connections
than descriptors allow, the one that has been waiting for its request the longest is closed, never one that is answered.
Headers and body of an answer leave together: uvicorn sends each by itself.
"""

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

# Bytes that wait for the end of a turn of the event loop; what is more leaves at once.
MOST_BUFFERED = 1 << 16
# Descriptors left for everything but connections, and the connections where the system does not say how many there are.
RESERVED, UNKNOWN = 200, 500


class BufferedTransport:
    """A transport that sends what is written in one turn of the event loop as one: the headers with their body."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport, self._loop = transport, loop
        self._buffer = bytearray()

    def write(self, data: bytes) -> None:
        """Send these bytes at the end of the turn of the event loop, or at once where many wait."""
        if len(self._buffer) + len(data) > MOST_BUFFERED:
            self.flush()
            self._transport.write(data)
            return
        if data and not self._buffer:
            self._loop.call_soon(self.flush)
        self._buffer += data

    def close(self) -> None:
        """Close the connection once what was written is sent."""
        self.flush()
        self._transport.close()

    def flush(self) -> None:
        buffered, self._buffer = self._buffer, bytearray()
        if buffered:
            self._transport.write(bytes(buffered))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


class Protocol(H11Protocol):
    """HTTP/1.1 with these limits, and without uvicorn's log of requests, which has the query in it."""

    header_seconds = 20.0
    body_seconds = 20.0
    body_rate = 1000
    """Bytes per second, over `body_seconds`."""
    most = 0
    """Connections; 0 is as many as the system allows."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.access_log = False
        self.began = self.loop.time()
        """When it last began to wait for a request."""
        self._timer: asyncio.TimerHandle | None = None
        self._in_body, self._received = False, 0

    @property
    def arriving(self) -> bool:
        """Whether a request is still coming, or none has come."""
        return self.conn.their_state in (h11.IDLE, h11.SEND_BODY)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for the headers; where there are too many connections, close the one that has waited longest."""
        super().connection_made(BufferedTransport(transport, self.loop))  # type: ignore[arg-type]
        self._wait(self.header_seconds)
        if len(self.connections) > (self.most or _allowed()):
            protocols = [protocol for protocol in self.connections if isinstance(protocol, Protocol)]
            waiting = [protocol for protocol in protocols if protocol.arriving and not protocol.transport.is_closing()]
            min(waiting, key=lambda protocol: protocol.began).transport.close()

    def data_received(self, data: bytes) -> None:
        """Wait for the rest of a request, if it is not complete."""
        if self._timer is None:
            self._in_body = False
            self._wait(self.header_seconds)
        self._received += len(data)
        super().data_received(data)
        if not self.arriving:
            self._stop()
        elif self.conn.their_state is h11.SEND_BODY and not self._in_body:
            self._in_body = True
            self._wait(self.body_seconds)

    def eof_received(self) -> None:
        """The client sends no more, and asyncio closes the connection after this: what was written leaves before."""
        super().eof_received()
        self.transport.flush()  # type: ignore[attr-defined]

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop()
        super().connection_lost(exc)

    def _wait(self, seconds: float) -> None:
        self._stop()
        self.began, self._received = self.loop.time(), 0
        self._timer = self.loop.call_later(seconds, self._too_slow)

    def _stop(self) -> None:
        if self._timer:
            self._timer.cancel()
        self._timer = None

    def _too_slow(self) -> None:
        if self._in_body and (self.flow.read_paused or self._received >= self.body_rate * self.body_seconds):
            self._wait(self.body_seconds)
        else:
            self.transport.close()


def _allowed() -> int:
    try:
        import resource
    except ImportError:
        return UNKNOWN
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return UNKNOWN if soft == resource.RLIM_INFINITY else max(soft // 2, soft - RESERVED)
