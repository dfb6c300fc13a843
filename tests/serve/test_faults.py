"""Bad input, busy times and clients that leave: each is answered, and the others do not notice."""

import asyncio
import http.client
import json
import logging
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from urllib.parse import urlsplit

import httpx
import pytest

from costs import slowness
from dragoman.documents.markup.html import html_pieces
from dragoman.serve import guard
from dragoman.serve.models.models import Models
from dragoman.serve.requests.ticket import Expired
from dragoman.serve.work.service import Service, ServiceLimits
from live_server import live, server_fixtures

service, url, client = server_fixtures()


HELLO = {"text": "Hello", "source": "en", "target": "ko"}


def problem(answer: httpx.Response, status: int) -> str:
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    found = answer.json()
    assert found["status"] == status
    assert found["type"].startswith("urn:dragoman:problem:")
    return found["detail"]


@pytest.mark.parametrize(
    ("content", "part"),
    [
        (b'{"text": "a"', "not JSON"),
        (b"", "not JSON"),
        (b'["a"]', "not an object"),
        (b'{"text": "\xff"}', "not UTF-8 at byte 10"),
        (b'{"text": "\\ud800", "target": "ko"}', "unpaired surrogate"),
        (b'{"text": NaN}', "NaN is not a number"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"text": 1}', "text: "),
        (b'{"target": "ko"}', "text: "),
        (b'{"text": "a", "tagret": "ko"}', "tagret: unknown field; known are text, source, target"),
        (b'{"text": "a", "format": "pdf"}', "format: "),
        (b'{"text": "a", "alternatives": -1}', "alternatives: "),
        (b'{"text": "a", "target": "ko", "glossary": {"": "x"}}', "empty term"),
        (b'{"text": "a", "target": "ko", "format": "html", "alignment": true}', "only for plain text"),
        (b'{"text": "a", "target": "de"}', "'de' is not served; there are: ko, en"),
        (b'{"text": "a", "target": "ko", "model": "ko-en"}', "'ko' is not served by ko-en; there are: en"),
        (
            b'{"text": "a", "source": "ko", "target": "ko"}',
            "no model translates from ko into ko; there are: en-ko, ko-en",
        ),
    ],
)
def test_a_malformed_request_is_a_problem_that_says_what(client, content, part):
    assert part in problem(client.post("/v1/translate", content=content), 400)


def test_an_unknown_model_is_404_and_names_those_that_there_are(client):
    assert "there are: en-ko, ko-en" in problem(client.post("/v1/translate", json={**HELLO, "model": "x"}), 404)


def test_nothing_is_at_other_paths_and_methods(client):
    assert "GET /nothing" in problem(client.get("/nothing"), 404)
    answer = client.get("/v1/translate")
    assert "GET /v1/translate: send it as POST" in problem(answer, 405)
    assert answer.headers["allow"] == "POST"
    assert client.put("/v1/glossaries").headers["allow"] == "GET, HEAD, POST"
    assert client.options("/v1/documents/x").headers["allow"] == "DELETE, GET, HEAD"


@pytest.mark.parametrize("path", ["/healthz", "/v1/models", "/languages", "/", "/v1/glossaries", "/nothing"])
def test_head_is_get_without_the_body(client, path):
    got, head = client.get(path), client.head(path)
    assert (head.status_code, head.content) == (got.status_code, b"")
    assert head.headers["content-length"] == got.headers["content-length"]
    assert head.headers["content-type"] == got.headers["content-type"]


def test_multipart_that_is_none_is_refused(client):
    typed = {"content-type": "multipart/form-data; boundary=x"}
    for content in (b"--x\r\nnonsense", b"\xff\xfe", b"--x\r\nContent-Disposition: form-data\r\n\r\na\r\n--x--"):
        assert client.post("/translate", content=content, headers=typed).status_code == 400
    assert client.post("/translate", content=b"a", headers={"content-type": "multipart/form-data"}).status_code == 400
    assert client.post("/translate", content=b"a", headers={"content-type": "text/csv"}).status_code == 415


@pytest.mark.parametrize("path", ["/v1/translate", "/translate"])
def test_a_body_that_is_too_large_is_413_whether_its_length_is_declared_or_not(client, path):
    body = json.dumps({**HELLO, "text": "a" * (1 << 18)}).encode()

    def chunks() -> Iterator[bytes]:
        yield body

    assert client.post(path, content=body).status_code == 413
    assert client.post(path, content=chunks()).status_code == 413
    assert "at most 20,000" in problem(client.post("/v1/translate", json={**HELLO, "text": "a" * 20_001}), 413)
    assert "at most 100" in problem(client.post("/v1/translate", json={**HELLO, "text": ["a"] * 101}), 413)


def test_a_request_for_another_host_is_refused(client):
    assert "--allow-host" in problem(client.get("/healthz", headers={"host": "evil.example"}), 400)
    for host in ("localhost:99", "127.0.0.1", "[::1]:8080"):
        assert client.get("/healthz", headers={"host": host}).status_code == 200


def test_no_other_page_may_read_an_answer(client):
    answer = client.options(
        "/v1/translate", headers={"origin": "https://a.example", "access-control-request-method": "POST"}
    )
    assert not any(name.startswith("access-control") for name in answer.headers)
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["cache-control"] == "no-store"


def test_the_log_has_no_text(client, caplog, monkeypatch):
    monkeypatch.setattr(logging.getLogger("dragoman.serve"), "disabled", False)  # a library may have set it
    with caplog.at_level(logging.DEBUG):
        client.post("/v1/translate", json={**HELLO, "text": "the secret word"})
        client.post("/translate", params={"q": "the secret word", "source": "en", "target": "ko"})
        client.post("/v1/translate", json={**HELLO, "target": "secret"})
        # Within the block: a line is written after its answer, and only at this level.
        paths = ("POST /v1/translate ", "POST /translate ")
        wait_until(lambda: sum(any(path in one.getMessage() for path in paths) for one in caplog.records) == 3)
    lines = [record.getMessage() for record in caplog.records if record.name.startswith(("dragoman", "uvicorn"))]
    assert not any("secret" in line for line in lines)


class Slow:
    """An engine that waits until it is let, and fails where it is asked to."""

    def __init__(self, engine) -> None:
        self.engine, self.let, self.entered, self.searched = engine, threading.Event(), threading.Event(), 0

    def translate(self, queries, options):
        self.entered.set()
        assert self.let.wait(60)
        self.searched += len(queries)
        if any(len(query.source) > 40 for query in queries):
            raise MemoryError("".join(("a sec", "ret text")))
        return self.engine.translate(queries, options)


@pytest.fixture
def small() -> Iterator[tuple[Service, Slow, httpx.Client]]:
    """A service with places for few, whose engine waits."""
    service = Service(Models(["en-ko"], threads=1), ServiceLimits(places=4, seconds=30))
    with live(service) as url, httpx.Client(base_url=url, timeout=60) as client:
        translator = service.models.models["en-ko"].translator
        assert translator
        slow = Slow(translator.engine)
        translator.engine = slow
        yield service, slow, client
        slow.let.set()


def wait_until(happens) -> None:
    end = time.monotonic() + 60
    while not happens():
        assert time.monotonic() < end, "it has not happened"
        time.sleep(0.005)


def test_a_full_queue_is_503_with_the_time_to_come_again(small):
    service, slow, client = small
    with ThreadPoolExecutor(2) as pool:
        accepted = [pool.submit(client.post, "/v1/translate", json=HELLO) for _ in range(2)]  # half of the places
        wait_until(lambda: service._open.total() == 2)
        refused = client.post("/v1/translate", json=HELLO)
        assert "as much work as it accepts" in problem(refused, 503)
        assert int(refused.headers["retry-after"]) >= 1
        assert client.get("/healthz").status_code == 200
        slow.let.set()
        assert [each.result(60).status_code for each in accepted] == [200, 200]
    assert client.post("/v1/translate", json=HELLO).status_code == 200


@pytest.mark.parametrize("path", ["/v1/translate", "/translate"])
def test_who_still_sends_a_body_that_is_too_large_reads_the_answer(url, path, monkeypatch):
    monkeypatch.setattr(guard, "DROP_SECONDS", 60.0)  # a busy machine sends slowly
    where = urlsplit(url)
    for length in (True, False):
        for _ in range(3):
            connection = http.client.HTTPConnection(where.hostname or "", where.port, timeout=30)
            body = (b"a" * (1 << 16) for _ in range(256))
            headers = {"Content-Type": "application/json"} | ({"Content-Length": str(1 << 24)} if length else {})
            connection.request("POST", path, body, headers, encode_chunked=not length)
            assert connection.getresponse().status == 413
            connection.close()


def test_who_waits_for_leave_to_send_is_refused_at_once(url, monkeypatch):
    """Nothing is read of a body that does not come: that would last longer than this client waits."""
    monkeypatch.setattr(guard, "DROP_SECONDS", 600.0)
    where = urlsplit(url)
    head = "POST /translate HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 99999999\r\n\r\n"
    with socket.create_connection((where.hostname, where.port), 30) as connection:
        connection.sendall(head.encode())
        assert connection.recv(1 << 16).startswith(b"HTTP/1.1 413")


def test_while_all_places_are_taken_a_language_is_detected_and_a_glossary_kept():
    service = Service(Models(["en-ko"], threads=1), ServiceLimits(places=1))
    with live(service) as url, httpx.Client(base_url=url, timeout=60) as client, ThreadPoolExecutor(1) as pool:
        translator = service.models.models["en-ko"].translator
        assert translator
        translator.engine = slow = Slow(translator.engine)
        taken = pool.submit(client.post, "/v1/translate", json=HELLO)
        try:
            assert slow.entered.wait(60)
            assert client.post("/v1/detect", json={"text": "Hello"}, timeout=20).status_code == 200
            terms = {"name": "a", "source": "en", "target": "ko", "entries": {"cat": "고양이"}}
            assert client.post("/v1/glossaries", json=terms, timeout=20).status_code == 201
        finally:
            slow.let.set()
        assert taken.result(60).status_code == 200


def test_an_error_of_the_engine_is_that_of_one_request(small, caplog):
    service, slow, client = small
    with ThreadPoolExecutor(2) as pool:
        bad = pool.submit(client.post, "/v1/translate", json={**HELLO, "text": "to be or not " * 12})
        good = pool.submit(client.post, "/v1/translate", json=HELLO)
        slow.let.set()
        translation = good.result(60).json()["translations"][0]["text"]
        assert translation == service.models.models["en-ko"].translator.translate("Hello").text
        assert "does not fit into memory" in problem(bad.result(60), 507)
    assert "secret" not in caplog.text


def test_who_leaves_is_not_translated_for(small, url):
    service, slow, client = small
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(client.post, "/v1/translate", json=HELLO)
        assert slow.entered.wait(60)
        where = urlsplit(str(client.base_url))
        leaving = http.client.HTTPConnection(where.hostname or "", where.port)
        leaving.request("POST", "/v1/translate", json.dumps({**HELLO, "text": "A dog.\nA cat.\nA bird."}))
        wait_until(lambda: service.batcher.tokens > 0)
        leaving.close()
        wait_until(lambda: service.batcher.tokens == 0 and service._open.total() == 1)
        slow.let.set()
        assert first.result(60).status_code == 200
    assert slow.searched == 1


def test_a_request_that_takes_too_long_is_504():
    service = Service(Models(["en-ko"], threads=1), ServiceLimits(seconds=0.3))
    with live(service) as url:
        translator = service.models.models["en-ko"].translator
        assert translator
        slow = Slow(translator.engine)
        translator.engine = slow
        assert "longer than it may" in problem(httpx.post(f"{url}/v1/translate", json=HELLO, timeout=60), 504)
        slow.let.set()


def test_work_that_searches_nothing_looks_whether_anyone_waits():
    service = Service(Models(["en-ko"], threads=1), ServiceLimits(seconds=0.1))

    def work(prepare: object) -> None:
        end = time.monotonic() + 10
        while time.monotonic() < end:
            html_pieces("<b>a</b>")

    async def ask() -> None:
        await service.ask(work, "", asyncio.get_running_loop().create_future)

    with closing(service), pytest.raises(Expired):
        asyncio.run(ask())


def test_html_whose_tags_do_not_end_is_read_in_linear_time(client):
    began = time.process_time()  # of the server too, which is a thread
    for text in ("a<b x " * 3_300, "a<b x='" * 2_800 + ">"):
        assert client.post("/v1/translate", json={**HELLO, "format": "html", "text": text}).status_code == 200
    assert time.process_time() - began < 3 * slowness()


def test_a_service_about_to_stop_refuses_new_work(small):
    service, slow, client = small
    slow.let.set()
    service.draining = True
    assert client.get("/readyz").status_code == 503
    assert "about to stop" in problem(client.post("/v1/translate", json=HELLO), 503)
    service.draining = False


SURROGATES = [
    ("/v1/translate", {"text": "a", "source": "en-\ud800", "target": "en"}),
    ("/v2/translate", {"text": ["a"], "source_lang": "EN", "target_lang": "EN-\udfff"}),
    ("/translate", {"q": "\ud800", "source": "en", "target": "en"}),
    ("/suggest", {"q": "a", "s": "b", "source": "en-\ud800", "target": "ko"}),
    ("/v1/glossaries", {"name": "\ud800", "source": "en", "target": "ko", "entries": {"\ud800": "a"}}),
    ("/v1/feedback", {"text": "a", "correction": "b", "source": "en", "target": "ko", "model": "\ud800"}),
    ("/v1/translate", {"\ud800": "a"}),
]


@pytest.mark.parametrize(("path", "body"), SURROGATES)
def test_an_unpaired_surrogate_is_refused_in_every_field_of_every_dialect(client, path, body):
    answer = client.post(path, content=json.dumps(body), headers={"content-type": "application/json"})
    assert answer.status_code == 400
    assert "unpaired surrogate" in answer.text


def test_an_unpaired_surrogate_in_the_glossary_of_a_document_is_refused(client):
    data, files = {"target": "ko", "glossary": r'{"cat": "\ud800"}'}, {"file": ("a.txt", b"Hello")}
    answer = client.post("/v1/documents", data=data, files=files)
    assert "unpaired surrogate" in problem(answer, 400)


def test_a_paired_surrogate_is_a_character_and_a_deep_body_is_refused(client):
    assert client.post("/v1/detect", content=rb'{"text": "hello \ud83d\ude00"}').status_code == 200
    for depth in (200, 900, 990, 5_000):
        content = b'{"text": ' + b"[" * depth + rb'"\ud83d\ude00"' + b"]" * depth + b"}"
        assert client.post("/v1/translate", content=content).status_code == 400
