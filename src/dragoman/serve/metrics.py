"""What Prometheus is shown: times, sizes and counts, never a text. One registry per service."""

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from dragoman.serve.batcher import BatchReport

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)


class Metrics:
    """The instruments of a service."""

    def __init__(self) -> None:
        self.registry = own = CollectorRegistry()
        self.requests = Counter("dragoman_requests", "Requests answered", ["dialect", "code"], registry=own)
        self.request_seconds = Histogram(
            "dragoman_request_seconds", "From the request to its answer", ["dialect"], buckets=_SECONDS, registry=own
        )
        self.queue_seconds = Histogram(
            "dragoman_queue_seconds",
            "From a call to the first batch with a sentence of it",
            buckets=_SECONDS,
            registry=own,
        )
        self.batch_seconds = Histogram("dragoman_batch_seconds", "Search of a batch", buckets=_SECONDS, registry=own)
        self.batch_sentences = Histogram(
            "dragoman_batch_sentences", "Sentences per batch", buckets=(1, 2, 4, 8, 16, 32, 64, 128), registry=own
        )
        self.tokens = Counter("dragoman_tokens", "Source tokens searched", registry=own)
        self.queue_tokens = Gauge("dragoman_queue_tokens", "Source tokens that wait", registry=own)
        self.rate = Gauge(
            "dragoman_tokens_per_second", "Source tokens searched per second of work, lately", registry=own
        )
        self.open = Gauge("dragoman_open_requests", "Requests that are worked on", registry=own)

    def watch(self, waiting: Callable[[], float], rate: Callable[[], float], is_open: Callable[[], float]) -> None:
        """Read the gauges by these functions."""
        self.queue_tokens.set_function(waiting)
        self.rate.set_function(rate)
        self.open.set_function(is_open)

    def on_batch(self, report: BatchReport) -> None:
        """Count a batch."""
        self.batch_seconds.observe(report.seconds)
        self.batch_sentences.observe(report.sentences)
        self.tokens.inc(report.tokens)

    def text(self) -> bytes:
        """All of them, in the text format of Prometheus."""
        return generate_latest(self.registry)
