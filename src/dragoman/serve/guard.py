"""What every request passes first: its host, the page it is from, its size, an id; what every answer gets: headers, a
line of log, a count.

Plain ASGI. The log has no text, no query and no address: what `Record.fields` has of a request.
"""

import asyncio
import ipaddress
import logging
import re
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from urllib.parse import quote

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dragoman.serve.answers import dialect_of, error_response
from dragoman.serve.http.origins import SAFE, PublicAddress
from dragoman.serve.http.problems import Problem, problem_of, too_large
from dragoman.serve.requests.record import OnRequest, Record, recorded

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
_ENCODED = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in HEADERS.items()]


# The address of a translated file has its key, which the log has not, wherever the request ends.
_KEY_IN_PATH = re.compile(r"(/download_file/[^/]*)/.*", re.DOTALL)
# What is read of a body that is refused, before the connection is closed.
DROP_SECONDS, DROP_BYTES = 2.0, 64 << 20
REDIRECTS = (301, 302, 303, 307, 308)


class _BodyTooLarge(Exception):
    """Ends the reading of a body."""


class Guard:
    """The application behind the guard, for requests that `public` allows.

    While `draining()` nothing new is started: only what is read is answered. Each of `on_request` receives the record
    of a request when it was answered. A body may have `body_bytes`, or what `uploads` says of its path.
    """

    def __init__(
        self,
        app: ASGIApp,
        on_request: Sequence[OnRequest],
        public: PublicAddress,
        body_bytes: int,
        uploads: Mapping[str, int],
        draining: Callable[[], bool] = lambda: False,
    ) -> None:
        self.app, self.on_request, self.public, self.draining = app, on_request, public, draining
        self.body_bytes, self.uploads = body_bytes, uploads

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        scope, headers = self._inside(self.public.client(scope)), Headers(scope=scope)
        most = self.uploads.get(scope["path"], self.body_bytes)
        exchange = _Exchange(scope, receive, send, most, self.public)
        record = exchange.record
        scope.setdefault("state", {}).update(request_id=record.id, record=record)
        refusal = self._refusal(scope["method"], scope["path"], headers, most)
        preflight = self.public.preflight(scope["method"], headers)
        if scope["method"] == "HEAD":
            scope = {**scope, "method": "GET"}  # the server, which has its own, sends no body
        try:
            if refusal:
                await exchange.answer(refusal)
            elif preflight:
                await exchange.send_all(Response(status_code=204, headers=preflight))
            elif self.public.root and scope["path"] == self.public.root and scope["method"] == "GET":
                query = scope["query_string"].decode("latin-1")
                location = self.public.redirected(f"/?{query}" if query else "/")
                await exchange.send_all(Response(status_code=308, headers={"Location": location}))
            else:
                with recorded(record):
                    await self.app(scope, exchange.receive, exchange.send)
        except Exception as error:
            if not exchange.too_large and not isinstance(error, ClientDisconnect):
                fields = {"id": record.id, "error": type(error).__name__}
                log.error("%(id)s failed: %(error)s", fields, exc_info=_cause(error), extra={"fields": fields})
            await exchange.answer(too_large(_limit(most)) if exchange.too_large else problem_of(error))
        finally:
            if exchange.too_large:
                await exchange.answer(too_large(_limit(most)))
            record.status, record.seconds = exchange.status, time.monotonic() - record.started
            for report in self.on_request:
                report(record)
            log.info("%s", record.line(), extra={"fields": record.fields()})

    def _inside(self, scope: Scope) -> Scope:
        """The request as the application knows it: under no path of a proxy."""
        path = self.public.without_root(scope["path"])
        return scope if path == scope["path"] else {**scope, "path": path, "raw_path": quote(path).encode()}

    def _refusal(self, method: str, path: str, headers: Headers, most: int) -> Problem | None:
        host = headers.get("host", "")
        if not _is_allowed(host, self.public.hosts):
            detail = f"host {host!r:.80} is not served here; `dragoman serve --allow-host NAME` allows it"
            return Problem(400, "host", "The host is not served here", detail)
        if foreign := self.public.refusal(method, path, headers):
            return foreign
        if method not in SAFE and self.draining():
            return Problem(
                503,
                "stopping",
                "The service stops",
                "the service is about to stop; ask another one, or try again later",
                5,
            )
        length = headers.get("content-length", "0")
        if length.isdecimal() and int(length[:18]) > most:
            return too_large(_limit(most))
        return None


class _Exchange:
    """One request and its answer: counts the bytes that come, adds headers to what goes."""

    def __init__(self, scope: Scope, receive: Receive, send: Send, most: int, public: PublicAddress) -> None:
        self.scope, self._receive, self._send, self._left = scope, receive, send, most
        headers = Headers(scope=scope)
        self._public, self._permissions = public, public.permissions(headers)
        self.status, self.too_large = 0, False
        self._arrives, self._expects = True, "expect" in headers
        trace = headers.get("traceparent", "")
        path = _KEY_IN_PATH.sub(r"\1", scope["path"])
        self.record = Record(scope["method"], path, dialect_of(scope["path"]), trace)

    async def receive(self) -> Message:
        """The next part of the request. Raises `_BodyTooLarge` where there is more than accepted."""
        message = await self._receive()
        self._arrives = message.get("more_body", False)
        self._left -= len(message.get("body", b""))
        if self._left < 0:
            self.too_large = True
            raise _BodyTooLarge
        return message

    async def send(self, message: Message) -> None:
        """Send on; what the application makes of a body that is too large is not its answer."""
        if self.too_large and not self.status:
            return
        if message["type"] == "http.response.start" and message["status"] in REDIRECTS:
            headers = MutableHeaders(scope=message)  # of the router, which knows no path of a proxy
            headers["Location"] = self._public.redirected(headers["Location"])
        await self._forward(message)

    async def answer(self, problem: Problem) -> None:
        """Answer with a problem, unless an answer was started."""
        if not self.status:
            response: Response = error_response(self.scope["path"], problem, self.record.id)
            if problem.status in (413, 503):
                response.headers["Connection"] = "close"
                await self._drop_rest()
            await self.send_all(response)

    async def _drop_rest(self) -> None:
        """Read what still comes of the body, for a while: who sends into a closed connection reads no answer.

        A client that waits for `100 Continue` sends nothing before it has the answer.
        """
        left = 0 if self._expects else DROP_BYTES
        with suppress(TimeoutError):
            async with asyncio.timeout(DROP_SECONDS):
                while self._arrives and left > 0:
                    message = await self._receive()
                    self._arrives = message.get("more_body", False)
                    left -= len(message.get("body", b""))

    async def send_all(self, response: Response) -> None:
        """Answer with a response that the application has not made."""
        await response(self.scope, self._receive, self._forward)

    async def _forward(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = MutableHeaders(scope=message)
            for name, value in self._permissions.items():
                if name == "Vary":
                    headers.add_vary_header(value)
                else:
                    headers.setdefault(name, value)
            present = {name for name, _ in headers.raw}
            headers.raw.extend(header for header in _ENCODED if header[0] not in present)
            headers["X-Request-Id"] = self.record.id
            if self.record.dialect == "deepl":
                headers["X-Trace-ID"] = self.record.id  # by which its clients report a failure
        await self._send(message)


def _limit(most: int) -> str:
    return f"the body is larger than {most:,} bytes; send less at a time"


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
