"""`dragoman serve`: the service on a port, with one line of log per request on stderr."""

from collections.abc import Sequence
from pathlib import Path

from dragoman.cli.console import say
from dragoman.cli.service_log import Style, logged
from dragoman.machine import usable_processors
from dragoman.serve.document_store import DocumentLimits
from dragoman.serve.loading import Loader
from dragoman.serve.memories import Memories
from dragoman.serve.models import Models
from dragoman.serve.run import Address, serve
from dragoman.serve.service import Limits, Service
from dragoman.serve.state import State, state_folder
from dragoman.serve.tracing import trace_to
from dragoman.serve.workers import Workers


def run_serve(
    models: Sequence[Path],
    address: Address,
    limits: Limits,
    threads: int | None,
    exact: bool,
    memory: Path | None = None,
    state: Path | None = None,
    database: str | None = None,
    style: Style = "plain",
    otlp: str | None = None,
    workers: int = 0,
    memory_limit: int | None = None,
    documents: DocumentLimits | None = None,
) -> None:
    """Serve until a signal stops it."""
    threads = threads or (max(1, usable_processors() // workers) if workers else None)
    processes = Workers(workers, threads or 1) if workers else None
    try:
        loader = Loader(processes, threads, exact, memory_limit)
        service = _service(models, loader, limits, memory, state, database)
        _run(service, address, style, otlp, documents)
    finally:
        if processes:
            processes.close()
    say("stopped; every accepted request was answered")


def _run(service: Service, address: Address, style: Style, otlp: str | None, documents: DocumentLimits | None) -> None:
    served, service.open_to_all = service.models, address.without_keys
    tracing = trace_to(otlp) if otlp else None
    names = ", ".join(f"{one.name} ({', '.join(pair.name for pair in one.pairs)})" for one in served.models.values())

    def announce(url: str) -> None:
        say(f"Serving {names}")
        say(f"at {url}, described at {url}/docs; Ctrl-C stops it")

    if tracing:
        service.on_request.append(tracing.on_request)
    with logged(style):
        serve(service, address, announce, documents)
        if tracing:
            tracing.close()


def _service(
    given: Sequence[Path],
    loader: Loader,
    limits: Limits,
    memory: Path | None,
    state: Path | None,
    database: str | None,
) -> Service:
    models = Models(given, loader=loader)
    memories = Memories(memory, models.pairs) if memory else None
    return Service(models, limits, memories=memories, state=State(state or state_folder(), database))
