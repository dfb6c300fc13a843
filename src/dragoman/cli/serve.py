"""`dragoman serve`: the service on a port, with one line of log per request on stderr."""

from dragoman.cli.console import say
from dragoman.cli.serve_request import ServeRequest, served
from dragoman.cli.service_log import logged
from dragoman.serve.run import serve
from dragoman.serve.search.workers import Workers
from dragoman.serve.watch.tracing import trace_to
from dragoman.serve.work.service import Service
from dragoman.system.machine import usable_processors


def run_serve(request: ServeRequest) -> None:
    """Serve until a signal stops it."""
    workers = request.workers
    threads = request.threads or (max(1, usable_processors() // workers) if workers else 1)
    processes = Workers(workers, threads) if workers else None
    try:
        _run(request.service(processes), request)
    finally:
        if processes:
            processes.close()
    say("stopped; every accepted request was answered")


def _run(service: Service, request: ServeRequest) -> None:
    tracing = trace_to(request.otlp) if request.otlp else None
    names = served(service.models)

    def announce(url: str) -> None:
        say(f"Serving {names}")
        say(f"at {url}, described at {url}/docs; Ctrl-C stops it")

    if tracing:
        service.on_request.append(tracing.on_request)
    with logged(request.style):
        serve(service, request.address, announce, request.documents)
        if tracing:
            tracing.close()
