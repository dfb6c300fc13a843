"""`dragoman serve`: the service on a port, with one line of log per request on stderr."""

from collections.abc import Sequence
from pathlib import Path

from dragoman.cli.console import say
from dragoman.cli.service_log import Style, logged
from dragoman.serve.memories import Memories
from dragoman.serve.models import Models
from dragoman.serve.run import Address, serve
from dragoman.serve.service import Limits, Service
from dragoman.serve.state import State, state_folder
from dragoman.serve.tracing import trace_to


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
) -> None:
    """Serve until a signal stops it."""
    served = Models(models, threads, exact)
    kept = State(state or state_folder(), database)
    memories = Memories(memory, served.pairs) if memory else None
    tracing = trace_to(otlp) if otlp else None
    names = ", ".join(f"{one.name} ({', '.join(pair.name for pair in one.pairs)})" for one in served.models.values())

    def announce(url: str) -> None:
        say(f"Serving {names}")
        say(f"at {url}, described at {url}/docs; Ctrl-C stops it")

    service = Service(served, limits, memories=memories, state=kept)
    if tracing:
        service.on_request.append(tracing.on_request)
    with logged(style):
        serve(service, address, announce)
        if tracing:
            tracing.close()
    say("stopped; every accepted request was answered")
