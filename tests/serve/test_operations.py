"""What the one who runs the service sees: numbers for Prometheus, traces, lines of log. Never a text."""

import asyncio
import io
import json
import logging
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from dragoman.cli.verbs.serve import JsonLines
from dragoman.errors import ConfigError
from dragoman.serve.guard import HEADERS
from dragoman.serve.requests.record import MOST_INTERVALS, Record, current_record, recorded
from dragoman.serve.watch.metrics import MOST_KEYS, Metrics, as_text
from dragoman.serve.watch.tracing import traced
from live_server import server_fixtures

service, url, client = server_fixtures()

TEXT = "The secret word is on the table."


def samples(text: str) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    """The numbers of `/metrics` by name and labels, read by Prometheus's own parser."""
    families = text_string_to_metric_families(text)
    return {(one.name, frozenset(one.labels.items())): one.value for family in families for one in family.samples}


def of(found: dict[Any, float], name: str, **labels: str) -> float:
    return sum(value for (one, has), value in found.items() if one == name and labels.items() <= dict(has).items())


def test_a_translation_is_counted_by_dialect_status_and_model(client):
    before = samples(client.get("/metrics").text)
    client.post("/v1/translate", json={"text": TEXT, "source": "en", "target": "ko"})
    client.post("/v1/translate", json={"text": TEXT, "target": "xx"})
    after = samples(client.get("/metrics").text)

    def more(name: str, **labels: str) -> float:
        return of(after, name, **labels) - of(before, name, **labels)

    end = time.monotonic() + 60
    while not more("dragoman_batch_tokens_sum"):  # the results of a batch leave before its numbers
        assert time.monotonic() < end
        after = samples(client.get("/metrics").text)
    assert more("dragoman_requests_total", dialect="native", code="200", model="en-ko", key="") == 1
    assert more("dragoman_requests_total", dialect="native", code="400", model="") == 1
    assert more("dragoman_request_seconds_count", dialect="native", model="en-ko") == 1
    assert more("dragoman_queue_seconds_count") >= 1
    assert more("dragoman_batch_sentences_sum") >= 1
    tokens = more("dragoman_tokens_total", model="en-ko", key="")
    assert tokens == more("dragoman_batch_tokens_sum") > 5
    assert of(after, "dragoman_tokens_per_second") > 0
    assert "secret" not in str(after)


def test_documents_and_the_process_are_seen(client):
    before = samples(client.get("/metrics").text)
    client.post("/v1/documents", data={"target": "ko"}, files={"file": ("a.txt", "Hello\n")})
    client.post("/v1/documents", data={"target": "ko"}, files={"file": ("a.docx", "no document")})
    while any(one["state"] in ("queued", "translating") for one in client.get("/v1/documents").json()["documents"]):
        pass
    after = samples(client.get("/metrics").text)
    stored = sum(of(after, "dragoman_documents", state=state) for state in ("done", "failed"))
    assert stored == len(client.get("/v1/documents").json()["documents"]) >= 1
    assert of(after, "dragoman_documents_bytes") > of(before, "dragoman_documents_bytes")
    assert of(after, "dragoman_documents_oldest_seconds") == 0
    assert of(after, "dragoman_documents_ended_total", state="done") == 1
    assert of(after, "dragoman_build_info") == 1
    assert of(after, "process_resident_memory_bytes") > 1e6
    assert not any(name.endswith("_created") for name, _ in after)


def test_labels_are_bounded():
    metrics = Metrics()
    for number in range(MOST_KEYS + 50):
        metrics.on_request(Record(key=f"key{number}", dialect="native", status=200))
        metrics.on_request(Record(key="key0", dialect="native", status=200))
    found = samples(as_text(metrics.collect()).decode())
    keys = {dict(labels)["key"] for (name, labels) in found if name == "dragoman_requests_total"}
    assert len(keys) == MOST_KEYS + 1
    assert of(found, "dragoman_requests_total", key="other") == 50
    assert of(found, "dragoman_requests_total", key="key0") == MOST_KEYS + 51


def test_a_record_is_that_of_its_context_and_of_bounded_size():
    record = Record()
    with recorded(record):
        assert current_record() is record
    assert current_record() is not record
    for _ in range(MOST_INTERVALS + 10):
        record.add("search", 0.0, 2)
    assert len(record.intervals) == MOST_INTERVALS
    assert record.tokens == 2 * (MOST_INTERVALS + 10)


def test_a_line_break_in_a_path_begins_no_line_of_the_log():
    line = Record("GET", "/x\n2026-01-01 INFO GET /admin 200\x1b[31m\u2028").line()
    assert line.isprintable()
    assert line.startswith("GET /x%0A2026-01-01%20INFO%20GET%20/admin%20200%1B%5B31m%E2%80%A8 0 ")


def test_the_log_is_lines_of_json_on_request():
    stream = io.StringIO()
    handler, log = logging.StreamHandler(stream), logging.Logger("of this test")
    handler.setFormatter(JsonLines())
    log.addHandler(handler)
    record = Record("POST", "/v1/translate", model="en-ko", tokens=7, status=200, seconds=0.0123, key="k1")
    log.info("%s", record.line(), extra={"fields": record.fields()})
    try:
        raise ValueError("two\nlines")
    except ValueError:
        log.exception("something %s", "else")
    request, other = map(json.loads, stream.getvalue().splitlines())
    assert (request.pop("time")[-1], request.pop("level")) == ("Z", "info")
    assert request == {
        "id": record.id,
        "method": "POST",
        "path": "/v1/translate",
        "status": 200,
        "ms": 12.3,
        "key": "k1",
        "model": "en-ko",
        "tokens": 7,
    }
    assert other["message"] == "something else"
    assert "two\nlines" in other["trace"]


@pytest.fixture
def collector() -> Iterator[tuple[str, list[bytes]]]:
    """A server that keeps what is sent to `/v1/traces`."""
    received: list[bytes] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            if self.path == "/v1/traces":
                received.append(body)
            self.send_response(200)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *given: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", received
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.filterwarnings("ignore")  # of the libraries of OpenTelemetry
def test_spans_of_a_request_go_to_the_collector_and_have_no_text(service, client, collector):
    pytest.importorskip("opentelemetry.sdk")
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    url, received = collector
    parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    body = {"q": TEXT, "source": "en", "target": "ko"}
    with traced(service.on_request, url):
        answer = client.post("/translate", params=body, headers={"traceparent": parent})
    assert answer.status_code == 200
    assert not any(b"secret" in one for one in received)
    batches = [ExportTraceServiceRequest.FromString(one).resource_spans for one in received]
    spans = [span for batch in batches for group in batch for scope in group.scope_spans for span in scope.spans]
    request = next(span for span in spans if span.name == "POST libretranslate")
    inside = [span for span in spans if span.parent_span_id == request.span_id]
    assert {span.name for span in inside} == {"queue", "search"}
    assert {span.trace_id.hex() for span in (request, *inside)} == {parent.split("-")[1]}
    assert request.parent_span_id.hex() == parent.split("-")[2]
    assert all(request.start_time_unix_nano <= span.start_time_unix_nano for span in inside)
    assert all(span.end_time_unix_nano <= request.end_time_unix_nano for span in inside)
    found = {one.key: one.value.string_value or one.value.int_value for one in request.attributes}
    assert found["dragoman.request_id"] == answer.headers["x-request-id"]
    assert (found["url.path"], found["http.response.status_code"]) == ("/translate", 200)
    assert (found["dragoman.model"], found["dragoman.tokens"] > 5) == ("en-ko", True)


def test_a_collector_is_a_url():
    pytest.importorskip("opentelemetry.sdk")
    with pytest.raises(ConfigError, match="--otlp localhost: not the URL of a collector"), traced([], "localhost"):
        pass


def test_variables_of_the_environment_send_nothing(monkeypatch, collector, service):
    """Only `--otlp` does: neither OpenTelemetry's nor FastAPI's own variables."""
    from dragoman.serve.app import make_app

    url, received = collector
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", url)
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "otlp")
    monkeypatch.setenv("FASTAPI_OTEL_AUTO_CONFIGURE", "true")
    transport = httpx.ASGITransport(make_app(service))

    async def ask() -> httpx.Response:
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost", timeout=60) as client:
            return await client.get("/healthz")

    assert asyncio.run(ask()).status_code == 200
    assert not received


def test_each_header_of_protection_is_there_once_and_that_of_a_page_counts(client):
    for path in ("/", "/v1/models", "/nothing"):
        headers = client.get(path).headers
        for name in HEADERS:
            assert len(headers.get_list(name)) == 1, (path, name)
    assert client.get("/").headers["Content-Security-Policy"] != HEADERS["Content-Security-Policy"]
