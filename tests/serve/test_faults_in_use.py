"""Faults while a request is worked on or a document waits: what was accepted is answered, and the service lives on."""

import http.client
import json
import re
import resource
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

import dragoman
from dragoman.serve.documents.documents import Documents
from dragoman.serve.documents.store import DocumentLimits
from dragoman.serve.models.models import Models
from dragoman.serve.store import keys as keys_module
from dragoman.serve.store.database import ServiceState
from dragoman.serve.work.service import Service, ServiceLimits
from dragoman.translator import Translator
from live_server import get, live
from postgresql_server import postgresql_server

HELLO = {"text": "Hello", "source": "en", "target": "ko"}
BUNDLED = Path(dragoman.__file__).parent / "bundled"
SLOW_CONNECTIONS = 2000


class Gate:
    """An engine that searches when it is let."""

    def __init__(self, engine) -> None:
        self.engine, self.let, self.calls = engine, threading.Semaphore(0), 0

    def translate(self, queries, options):
        self.calls += 1
        assert self.let.acquire(timeout=60)
        return self.engine.translate(queries, options)


def gated(service: Service, name: str = "en-ko") -> Gate:
    translator = service.models.models[name].translator
    assert translator
    translator.engine = gate = Gate(translator.engine)
    return gate


def until(happens) -> None:
    end = time.monotonic() + 60
    while not happens():
        assert time.monotonic() < end, "it has not happened"
        time.sleep(0.005)


def test_a_client_that_leaves_in_the_middle_of_a_stream_ends_it():
    service = Service(Models(["en-ko"], threads=1))
    with live(service) as url:
        gate = gated(service)
        where = urlsplit(url)
        leaving = http.client.HTTPConnection(where.hostname or "", where.port)
        text = "The weather is nice today. " * 200
        leaving.request("POST", "/v1/translate/stream", json.dumps({**HELLO, "text": text}))
        gate.let.release()
        answer = leaving.getresponse()
        assert answer.read(15) == b"event: sentence"
        until(lambda: gate.calls > 1)  # the next sentences are being searched
        answer.close()
        leaving.close()
        gate.let.release(2)  # what is inside of the engine ends
        until(lambda: service.batcher.tokens == 0 and service._open.total() == 0)
        searched = gate.calls
        assert get(f"{url}/healthz").status_code == 200
        gate.let.release(1000)
        assert httpx.post(f"{url}/v1/translate", json=HELLO, timeout=60).status_code == 200
        assert gate.calls == searched + 1


def test_a_model_that_is_removed_while_it_is_used_finishes_what_it_began(tmp_path: Path):
    for name in ("en-ko", "ko-en"):
        shutil.copytree(BUNDLED / name, tmp_path / "shelf" / name)
    service = Service(Models([tmp_path / "shelf"], threads=1))
    with live(service) as url, ThreadPoolExecutor(1) as pool:
        gate = gated(service)
        pending = pool.submit(httpx.post, f"{url}/v1/translate", json={**HELLO, "model": "en-ko"}, timeout=120)
        until(lambda: gate.calls == 1)
        shutil.rmtree(tmp_path / "shelf" / "en-ko")
        until(lambda: "en-ko" not in service.models.models)
        gate.let.release()
        assert pending.result(60).json()["translations"][0]["text"] == Translator.load("en-ko").translate("Hello").text
        after = httpx.post(f"{url}/v1/translate", json={**HELLO, "model": "en-ko"}, timeout=60)
        assert (after.status_code, after.json()["detail"].endswith("there are: ko-en")) == (404, True)
        assert httpx.post(f"{url}/v1/translate", json={"text": "안녕", "target": "en"}, timeout=60).status_code == 200


@pytest.mark.slow
def test_a_clock_that_goes_backwards_keeps_no_document_longer_and_ends_none_sooner(tmp_path: Path, monkeypatch):
    service = Service(Models(["en-ko"], threads=1), state=ServiceState(tmp_path))
    with (
        live(service, Documents(service, DocumentLimits(seconds=8.0))) as url,
        httpx.Client(base_url=url, timeout=60) as client,
    ):
        where = client.post("/v1/documents", files={"file": ("a.txt", "Hello\n")}).headers["location"]
        until(lambda: client.get(where).json()["state"] == "done")
        now = time.time()
        for wrong in (now - 1e6, now + 1e6):
            monkeypatch.setattr(time, "time", lambda wrong=wrong: wrong)
            assert client.get(f"{where}/result").status_code == 200
        monkeypatch.setattr(time, "time", lambda: now - 1e6)
        until(lambda: client.get(where).status_code == 404)
        until(lambda: not list((tmp_path / "documents").iterdir()))
        assert client.post("/v1/translate", json=HELLO, timeout=60).status_code == 200


@pytest.mark.slow
def test_while_the_database_is_gone_translation_continues_and_what_needs_it_says_so(monkeypatch):
    monkeypatch.setattr(keys_module, "RECHECK", 0.0)
    with postgresql_server() as server, ExitStack() as stack:
        service = Service(Models(["en-ko"], threads=1), state=ServiceState(None, server.url))
        _, key = service.keys.create("known")
        client = stack.enter_context(
            httpx.Client(
                base_url=stack.enter_context(live(service)), timeout=60, headers={"authorization": f"Bearer {key}"}
            )
        )
        correction = {"text": "Hello", "correction": "안녕!", "source": "en", "target": "ko"}
        glossary = {"name": "a", "source": "en", "target": "ko", "entries": {"server": "서버"}}
        assert client.post("/v1/feedback", json=correction).json()["new"]
        assert client.post("/v1/translate", json=HELLO).status_code == 200
        server.stop()
        for _ in range(30):  # as long as it lasts; the minute itself is in test_keys_in_trouble.py
            assert client.post("/v1/translate", json=HELLO).status_code == 200
            for path, body in (("/v1/feedback", {**correction, "text": "Bye"}), ("/v1/glossaries", glossary)):
                refused = client.post(path, json=body)
                assert (refused.status_code, refused.headers["retry-after"]) == (503, "5"), refused.text
            assert client.get("/healthz").status_code == client.get("/readyz").status_code == 200
        server.start()
        until(lambda: client.post("/v1/glossaries", json=glossary).status_code == 201)
        assert client.post("/v1/feedback", json={**correction, "text": "Bye"}).json()["new"]
        assert client.get("/v1/feedback").json()["total"] == 2
        assert client.post("/v1/translate", json=HELLO).status_code == 200


@pytest.fixture
def served(tmp_path: Path) -> Iterator[str]:
    """A server as a process, with descriptors of its own."""
    command = [sys.executable, "-m", "dragoman", "serve", "-m", "en-ko", "--port", "0", "--state", str(tmp_path)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert process.stderr
    url = next(word for line in process.stderr for word in re.findall(r"http://[\w.:]+", line))
    reader = threading.Thread(target=process.stderr.read)
    reader.start()
    until(lambda: get(f"{url}/readyz").status_code == 200)
    yield url
    process.terminate()
    assert process.wait(90) == 0
    reader.join()
    process.stderr.close()


@pytest.mark.slow
def test_two_thousand_slow_connections_leave_the_service_to_others(served):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < SLOW_CONNECTIONS + 200:
        pytest.skip(f"this machine allows {hard} descriptors")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, SLOW_CONNECTIONS + 200), hard))
    where = urlsplit(served)
    with ExitStack() as stack, httpx.Client(base_url=served, timeout=60) as client:
        for number in range(SLOW_CONNECTIONS):
            slow = stack.enter_context(socket.create_connection((where.hostname, where.port), 60))
            slow.sendall(b"POST /v1/translate HTTP/1.1\r\nHost: localhost\r\nX-Slow: ")
            if number % 500 == 0:
                assert client.post("/v1/translate", json=HELLO).status_code == 200
        for _ in range(5):
            assert client.post("/v1/translate", json=HELLO).status_code == 200
            fresh = httpx.post(f"{served}/v1/translate", json=HELLO, timeout=60)  # a connection of its own
            assert fresh.status_code == 200
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert ServiceLimits().places < SLOW_CONNECTIONS
