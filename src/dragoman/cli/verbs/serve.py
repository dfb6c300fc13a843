"""`dragoman serve`: the service on a port, with one line of log per request on stderr."""

import json
import logging
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from dragoman.cli.shared import arguments as args
from dragoman.cli.shared.console import say

if TYPE_CHECKING:
    from dragoman.serve.replicas.options import ServeOptions


@dataclass(frozen=True)
class ServeArguments:
    """The arguments of the verb."""

    models: Annotated[
        list[Path] | None,
        typer.Option(
            "--model", "-m", help=f"{args.MODEL_HELP} May be given several times. Default: the bundled models."
        ),
    ] = None
    host: Annotated[str, typer.Option(help="Address to listen on; that of this machine alone unless given.")] = (
        "127.0.0.1"
    )
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 is any free one.")] = 8080
    allow_host: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="A host name by which the service may be asked.")
    ] = None
    allow_origin: Annotated[
        list[str] | None,
        typer.Option(metavar="ORIGIN", help="Pages elsewhere that may use it: https://app.example, null or *."),
    ] = None
    trusted_proxy: Annotated[
        list[str] | None,
        typer.Option(metavar="ADDRESS", help="A proxy, or a network of them, whose X-Forwarded-For is believed."),
    ] = None
    root_path: Annotated[str, typer.Option(metavar="PATH", help="The path under which a proxy offers it.")] = ""
    drain: Annotated[
        float, typer.Option(min=0, max=3600, help="Seconds after SIGTERM in which it listens and answers 503.")
    ] = 1.0
    no_auth: Annotated[bool, typer.Option("--no-auth", help="Need no key: everyone who reaches it may use it.")] = False
    threads: args.Threads = None
    memory_limit: Annotated[
        str | None, typer.Option(metavar="SIZE", help="Memory for loaded models, such as 2G; others give way.")
    ] = None
    exact: Annotated[bool, typer.Option("--exact", help="Bit-identical in any batch, but slower: decode.exact.")] = (
        False
    )
    memory: args.Memory = None
    state: args.State = None
    database: args.Database = None
    log: Annotated[Literal["plain", "json"], typer.Option(help="Log on stderr: lines for people, or JSON.")] = "plain"
    otlp: Annotated[str | None, typer.Option(metavar="URL", help="Send traces to this OpenTelemetry collector.")] = None
    max_requests: Annotated[int, typer.Option(min=1, help="Requests that are worked on at a time.")] = 256
    max_seconds: Annotated[float, typer.Option(min=0.1, help="Seconds that a request may take.")] = 60.0
    max_body: Annotated[int, typer.Option(min=1, help="Bytes of the body of a request.")] = 4 << 20
    max_document: Annotated[int, typer.Option(min=1, help="Bytes of a document.")] = 32 << 20
    document_minutes: Annotated[float, typer.Option(min=0.1, help="How long a translated document is kept.")] = 60.0
    ray: Annotated[bool, typer.Option("--ray", help="Serve by replicas on the machines of a Ray cluster.")] = False
    replicas: Annotated[
        int | None,
        typer.Option(min=1, max=1000, help="Processes that serve on the port, each with its threads; with --ray, 2."),
    ] = None
    ray_address: args.RayAddress = None

    def options(self) -> "ServeOptions":
        """What the service is made of. Raises ConfigError."""
        from dragoman.serve.documents.store import DocumentLimits
        from dragoman.serve.replicas.options import ServeOptions
        from dragoman.serve.run import Address
        from dragoman.serve.work.service import ServiceLimits

        return ServeOptions(
            self.models or [],
            Address(
                self.host,
                self.port,
                self.allow_host or [],
                self.no_auth,
                self.allow_origin or [],
                self.trusted_proxy or [],
                self.root_path,
                self.drain,
            ),
            ServiceLimits(places=self.max_requests, seconds=self.max_seconds, body_bytes=self.max_body),
            DocumentLimits(bytes=self.max_document, seconds=60 * self.document_minutes),
            threads=self.threads,
            exact=self.exact,
            memory=self.memory,
            state=self.state,
            database=self.database,
            log=partial(logged, self.log),
            otlp=self.otlp,
            memory_limit=None if self.memory_limit is None else args.bytes_of("--memory-limit", self.memory_limit),
        )


@args.app.command()
@args.verb_of(ServeArguments)
def serve(arguments: ServeArguments) -> None:
    """Serve translations over HTTP, on this machine alone by default.

    Its own interface is under /v1, see /docs; programs that speak LibreTranslate use it unchanged.
    """
    from dragoman.serve.replicas.on_port import serve_on_port
    from dragoman.serve.replicas.on_ray import serve_on_ray

    replicas = arguments.replicas
    if not arguments.ray:
        args.refuse_useless({"ray-address": arguments.ray_address}, "this machine alone; add --ray")
    options, killed = arguments.options(), 0
    if arguments.ray:
        count = replicas or 2
        serve_on_ray(options, count, arguments.ray_address, partial(_announce, f" by {count} replicas under Ray"))
    elif replicas:
        killed = serve_on_port(options, replicas, partial(_announce, f" by {replicas} processes"))
    else:
        _serve_here(options)
    say(f"stopped; {killed} processes had to be killed" if killed else "stopped; every accepted request was answered")


def _announce(by: str, names: str, url: str) -> None:
    say(f"Serving {names}{by}")
    say(f"at {url}, described at {url}/docs; Ctrl-C stops it")


def _serve_here(options: "ServeOptions") -> None:
    """Serve by this process."""
    from dragoman.serve.replicas.options import served
    from dragoman.serve.run import serve as run
    from dragoman.serve.watch.tracing import traced

    service = options.service()
    with traced(service.on_request, options.otlp), options.log():
        run(service, options.address, partial(_announce, "", served(service.models)), options.documents)


class JsonLines(logging.Formatter):
    """A line of JSON for each entry: time (UTC), level, and the fields of the entry, or its message."""

    def format(self, record: logging.LogRecord) -> str:
        """The entry as one line."""
        at = f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(record.created))}.{int(record.msecs):03}Z"
        fields = getattr(record, "fields", None) or {"message": record.getMessage()}
        entry = {"time": at, "level": record.levelname.lower(), **fields}
        if record.exc_info:
            entry["trace"] = self.formatException(record.exc_info)
        return json.dumps(entry, ensure_ascii=False)


@contextmanager
def logged(style: str) -> Iterator[None]:
    """Within the block the log of the service goes to stderr: lines for people, or JSON for programs, never a text."""
    log, handler = logging.getLogger("dragoman.serve"), logging.StreamHandler(sys.stderr)
    plain = logging.Formatter("%(asctime)s %(levelname)s %(message)s")
    handler.setFormatter(JsonLines() if style == "json" else plain)
    level = log.level
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.setLevel(level)
