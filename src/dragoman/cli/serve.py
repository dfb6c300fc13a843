"""`dragoman serve`: the service on a port, with one line of log per request on stderr."""

from dragoman.cli.console import say
from dragoman.cli.serve_request import ServeRequest, served
from dragoman.cli.service_log import logged
from dragoman.serve.run import serve
from dragoman.serve.watch.tracing import trace_to


def run_serve(request: ServeRequest) -> None:
    """Serve until a signal stops it."""
    service = request.service()
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
    say("stopped; every accepted request was answered")
