"""`dragoman serve`: the service on a port, with one line of log per request on stderr."""

import logging
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from dragoman.cli.console import say
from dragoman.serve.memories import Memories
from dragoman.serve.models import Models
from dragoman.serve.run import Address, serve
from dragoman.serve.service import Limits, Service
from dragoman.serve.state import State, state_folder


def run_serve(
    models: Sequence[Path],
    address: Address,
    limits: Limits,
    threads: int | None,
    exact: bool,
    memory: Path | None = None,
    state: Path | None = None,
    database: str | None = None,
) -> None:
    """Serve until a signal stops it."""
    served = Models(models, threads, exact)
    kept = State(state or state_folder(), database)
    memories = Memories(memory, served.pairs) if memory else None
    names = ", ".join(f"{one.name} ({', '.join(pair.name for pair in one.pairs)})" for one in served.models.values())

    def announce(url: str) -> None:
        say(f"Serving {names}")
        say(f"at {url}, described at {url}/docs; Ctrl-C stops it")

    with _logged():
        serve(Service(served, limits, memories=memories, state=kept), address, announce)
    say("stopped; every accepted request was answered")


@contextmanager
def _logged() -> Iterator[None]:
    """Within the block the log goes to stderr."""
    log, handler = logging.getLogger("dragoman.serve"), logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    level = log.level
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.setLevel(level)
