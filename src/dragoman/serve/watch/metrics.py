"""What Prometheus is shown: times, sizes and counts, never a text. One registry per service.

Labels are bounded: names of served models, and at most MOST_KEYS ids of keys; all others are counted as `other`.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from threading import Lock
from typing import NamedTuple

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Metric, ProcessCollector, generate_latest

from dragoman.serve.requests.record import Record
from dragoman.serve.search.batcher import BatchReport
from dragoman.version import __version__

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
_SIZES = (1, 2, 4, 8, 16, 32, 64, 128)
MOST_KEYS = 500


DOCUMENT_STATES = ("queued", "translating", "done", "failed")


class DocumentTally(NamedTuple):
    """What is stored of documents."""

    states: Mapping[str, int]
    bytes: int
    oldest: float
    """Seconds since the oldest one that is not finished came; 0 where all are."""


class Metrics:
    """The instruments of a service."""

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()
        self.labels = dict[str, str]()
        """What every sample is labelled with besides, such as the replica that has it."""
        self._keys, self._lock = set[str](), Lock()

        counter, gauge = partial(Counter, registry=registry), partial(Gauge, registry=registry)
        histogram = partial(Histogram, registry=registry)
        seconds = partial(histogram, buckets=_SECONDS)
        self.requests = counter("dragoman_requests", "Requests answered", ["dialect", "code", "model", "key"])
        self.request_seconds = seconds(
            "dragoman_request_seconds", "From the request to its answer", ("dialect", "model")
        )
        self.queue_seconds = seconds("dragoman_queue_seconds", "From a call to the first batch with a sentence of it")
        self.batch_seconds = seconds("dragoman_batch_seconds", "Search of a batch, from when an engine has it")
        self.batch_sentences = histogram("dragoman_batch_sentences", "Sentences per batch", buckets=_SIZES)
        sizes = [16 * size for size in _SIZES]
        self.batch_tokens = histogram("dragoman_batch_tokens", "Tokens per batch", buckets=sizes)
        self.tokens = counter("dragoman_tokens", "Source tokens searched", ["model", "key"])
        self.queue_tokens = gauge("dragoman_queue_tokens", "Source tokens that wait")
        self.rate = gauge("dragoman_tokens_per_second", "Source tokens searched per second of work, lately")
        events = "Models loaded, unloaded, replaced, refused, added and removed"
        self.models = counter("dragoman_model_events", events, ["model", "event"])
        self.open = gauge("dragoman_open_requests", "Requests that are worked on")
        self.documents = gauge("dragoman_documents", "Documents that are stored", ["state"])
        self.document_bytes = gauge("dragoman_documents_bytes", "Bytes of stored documents and translations")
        self.document_age = gauge("dragoman_documents_oldest_seconds", "Age of the oldest unfinished document")
        self.documents_ended = counter("dragoman_documents_ended", "Documents translated, or failed", ["state"])
        gauge("dragoman_build_info", "The version", ["version"]).labels(__version__).set(1)
        ProcessCollector(registry=registry)

    def watch(self, tally: Callable[[], DocumentTally]) -> None:
        """Show what is stored of documents, by `tally()` whenever metrics are asked for."""
        for state in DOCUMENT_STATES:
            self.documents.labels(state).set_function(partial(lambda state: tally().states.get(state, 0), state))
        for state in ("done", "failed"):
            self.documents_ended.labels(state)  # 0 until one has ended
        self.document_bytes.set_function(lambda: tally().bytes)
        self.document_age.set_function(lambda: tally().oldest)

    def on_batch(self, report: BatchReport) -> None:
        self.batch_seconds.observe(report.seconds)
        self.batch_sentences.observe(report.sentences)
        self.batch_tokens.observe(report.tokens)
        for (model, key), tokens in report.shares.items():
            self.tokens.labels(model, self._bounded(key)).inc(tokens)

    def on_request(self, record: Record) -> None:
        labels = (record.dialect, str(record.status), record.model, self._bounded(record.key))
        self.requests.labels(*labels).inc()
        self.request_seconds.labels(record.dialect, record.model).observe(record.seconds)

    def collect(self) -> list[Metric]:
        """All metrics with their values now."""
        metrics = list(self.registry.collect())
        for metric in metrics:
            metric.samples = [
                sample._replace(labels={**sample.labels, **self.labels})
                for sample in metric.samples
                if not sample.name.endswith("_created")  # a second series for each, which says when it was made
            ]
        return metrics

    def _bounded(self, key: str) -> str:
        with self._lock:
            if key and key not in self._keys:
                if len(self._keys) >= MOST_KEYS:
                    return "other"
                self._keys.add(key)
        return key


def as_text(metrics: Iterable[Metric]) -> bytes:
    """Metrics in the text format of Prometheus."""
    return generate_latest(_Collected(metrics))


def merged(metrics: Iterable[Metric]) -> list[Metric]:
    """One metric of each name, with the samples of all, which their labels keep apart."""
    by_name = dict[str, Metric]()
    for metric in metrics:
        by_name.setdefault(
            metric.name, Metric(metric.name, metric.documentation, metric.type)
        ).samples += metric.samples
    return list(by_name.values())


class _Collected(CollectorRegistry):
    """Metrics that were collected before."""

    def __init__(self, metrics: Iterable[Metric]) -> None:
        super().__init__()
        self._metrics = list(metrics)

    def collect(self) -> Iterator[Metric]:
        yield from self._metrics
