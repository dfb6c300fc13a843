"""What every request passes first: its host, its size, an id; what every answer gets: headers, a line of log, a count.

Plain ASGI. The log has no text, no query and no address: method, path, status, milliseconds, the request's id.
"""

import ipaddress
import json
import logging
import secrets
import time
from collections.abc import Collection

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dragoman.serve.answers import dialect_of, error_response
from dragoman.serve.metrics import Metrics
from dragoman.serve.problems import Problem, problem_of, too_large

log = logging.getLogger("dragoman.serve")

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cache-Control": "no-store",
}


class _TooLarge(Exception):
    """Ends the reading of a body."""


class Guard:
    """The application behind the guard. `hosts` are the names that a request may be for, in lower case."""

    def __init__(self, app: ASGIApp, metrics: Metrics, hosts: Collection[str], body_bytes: int) -> None:
        self.app, self.metrics, self.hosts, self.body_bytes = app, metrics, hosts, body_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        exchange = _Exchange(scope, receive, send, self.body_bytes)
        scope.setdefault("state", {})["request_id"] = exchange.id
        refusal = self._refusal(Headers(scope=scope))
        try:
            if refusal:
                await exchange.answer(refusal)
            else:
                await self.app(scope, exchange.receive, exchange.send)
        except Exception as error:
            if not exchange.too_large:
                log.error("%s", json.dumps({"id": exchange.id, "error": type(error).__name__}), exc_info=_cause(error))
            await exchange.answer(too_large(self._limit()) if exchange.too_large else problem_of(error))
        finally:
            if exchange.too_large:
                await exchange.answer(too_large(self._limit()))
            seconds = time.monotonic() - exchange.started
            dialect = dialect_of(scope["path"])
            self.metrics.requests.labels(dialect, str(exchange.status)).inc()
            self.metrics.request_seconds.labels(dialect).observe(seconds)
            line = {"id": exchange.id, "method": scope["method"], "path": scope["path"][:200]}
            log.info("%s", json.dumps({**line, "status": exchange.status, "ms": round(1000 * seconds, 1)}))

    def _refusal(self, headers: Headers) -> Problem | None:
        host = headers.get("host", "")
        if not _is_allowed(host, self.hosts):
            detail = f"host {host!r:.80} is not served here; `dragoman serve --allow-host NAME` allows it"
            return Problem(400, "host", "The host is not served here", detail)
        length = headers.get("content-length", "0")
        if length.isdecimal() and int(length[:18]) > self.body_bytes:
            return too_large(self._limit())
        return None

    def _limit(self) -> str:
        return f"the body is larger than {self.body_bytes:,} bytes; send less at a time"


class _Exchange:
    """One request and its answer: counts the bytes that come, adds headers to what goes."""

    def __init__(self, scope: Scope, receive: Receive, send: Send, most: int) -> None:
        self.scope, self._receive, self._send, self._left = scope, receive, send, most
        self.id, self.started, self.status, self.too_large = secrets.token_hex(8), time.monotonic(), 0, False

    async def receive(self) -> Message:
        """The next part of the request. Raises `_TooLarge` where there is more than accepted."""
        message = await self._receive()
        self._left -= len(message.get("body", b""))
        if self._left < 0:
            self.too_large = True
            raise _TooLarge
        return message

    async def send(self, message: Message) -> None:
        """Send on; what the application makes of a body that is too large is not its answer."""
        if self.too_large and not self.status:
            return
        await self._forward(message)

    async def answer(self, problem: Problem) -> None:
        """Answer with a problem, unless an answer was started."""
        if not self.status:
            response: Response = error_response(self.scope["path"], problem, self.id)
            if problem.status in (413, 503):
                response.headers["Connection"] = "close"
            await response(self.scope, self._receive, self._forward)

    async def _forward(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
            headers["X-Request-Id"] = self.id
        await self._send(message)


def _cause(error: Exception) -> Exception:
    """The error without its message, which may quote a text; the lines where it was raised stay."""
    return type("Hidden", (Exception,), {})(type(error).__name__).with_traceback(error.__traceback__)


def _is_allowed(host: str, names: Collection[str]) -> bool:
    """Whether a Host header is of one of these names or an address: rebinding attacks need a name of their own."""
    name = host.rpartition(":")[0] if host.rpartition(":")[2].isdecimal() else host
    name = name.strip("[]").lower()
    if name in names:
        return True
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
