"""Traces for OpenTelemetry, on request: a span for each request, and in it one for each wait and each search.

Made from the record of a request when it was answered, so that nothing is measured twice and nothing is in a span that
is not in the record. Only this module imports the SDK, which sends to the one URL that was given.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from dragoman.errors import ConfigError
from dragoman.serve.requests.record import OnRequest, Record
from dragoman.version import __version__

# Seconds that the end of the service waits for the last spans.
LAST_SPANS = 5


@contextmanager
def traced(reports: list[OnRequest], url: str | None) -> Iterator[None]:
    """Within the block, `reports` sends spans to a collector that speaks OTLP over HTTP; to none without a URL.

    Raises ConfigError, or ModuleNotFoundError without the extra.
    """
    if url is None:
        yield
        return
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.propagate import extract
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor
    from opentelemetry.trace import SpanKind, Status, StatusCode, set_span_in_context

    if not url.startswith(("http://", "https://")):
        raise ConfigError(f"--otlp {url}: not the URL of a collector; give http://HOST:4318, for example")
    about = {"service.name": "dragoman", "service.version": __version__}
    provider = TracerProvider(resource=Resource(about), shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(f"{url.rstrip('/')}/v1/traces")))
    tracer = provider.get_tracer("dragoman", __version__)

    def on_request(record: Record) -> None:
        name, parent = f"{record.method} {record.dialect}", extract({"traceparent": record.trace})
        span = tracer.start_span(name, parent, SpanKind.SERVER, _attributes(record), start_time=record.began)
        inside = set_span_in_context(span)
        for kind, begin, end, tokens in record.intervals:
            child = tracer.start_span(kind, inside, start_time=_clock(record, begin), attributes={"tokens": tokens})
            child.end(_clock(record, end))
        if record.status >= 500:
            span.set_status(Status(StatusCode.ERROR))
        span.end(_clock(record, record.started + record.seconds))

    reports.append(on_request)
    try:
        yield
    finally:
        reports.remove(on_request)
        provider.force_flush(LAST_SPANS * 1000)
        provider.shutdown()


def _attributes(record: Record) -> dict[str, str | int]:
    attributes: dict[str, str | int] = {
        "http.request.method": record.method,
        "url.path": record.path[:200],
        "http.response.status_code": record.status,
        "dragoman.request_id": record.id,
        "dragoman.dialect": record.dialect,
        "dragoman.key": record.key,
        "dragoman.model": record.model,
        "dragoman.tokens": record.tokens,
    }
    return {name: value for name, value in attributes.items() if value}


def _clock(record: Record, moment: float) -> int:
    """A moment of the monotonic clock, by the clock of the day at the start of the request."""
    return record.began + int((moment - record.started) * 1e9)
