"""What a hostile client tries: other hosts, paths, headers and lines in its names, addresses to fetch."""

import gzip
import logging
import socket
import time
from urllib.parse import urlsplit

import httpx
import pytest

from live_server import server_fixtures

service, url, client = server_fixtures()


HELLO = {"text": "Hello", "source": "en", "target": "ko"}


def raw(url: str, request: bytes) -> bytes:
    """The answer to bytes that no client would send."""
    where = urlsplit(url)
    with socket.create_connection((where.hostname, where.port), 30) as connection:
        connection.sendall(request)
        found = b""
        while b"\r\n\r\n" not in found and (part := connection.recv(4096)):
            found += part
    return found


@pytest.mark.parametrize(
    "path", ["/", "/healthz", "/docs", "/nothing", "/v1/translate", "/v2/x", "/translate", "/openapi.json"]
)
def test_every_answer_forbids_what_a_page_could_do_with_it(client, path):
    answer = client.get(path)
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert "unsafe" not in answer.headers["content-security-policy"]
    assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "no-referrer"


@pytest.mark.parametrize(
    "host", ["", "evil.example", "localhost.evil.example", "localhost@evil.example", "127.0.0.1.evil.example",
             "localhost:1:2", "0x7f000001", "127.1", "localhost/", "[::1].evil.example", "1 localhost"],
)  # fmt: skip
def test_a_host_that_only_looks_like_ours_is_refused(url, host):
    answer = raw(url, b"GET /healthz HTTP/1.1\r\nHost: " + host.encode() + b"\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 400 ")


def test_two_hosts_are_refused(url):
    answer = raw(url, b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 400 ")


@pytest.mark.parametrize(
    "path",
    ["/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/assets/../../../etc/passwd",
     "/assets/..%2f..%2f..%2fetc%2fpasswd",
     "/v1/models/..%2f..%2f..%2fetc%2fpasswd/card", "/v1/models/%2fetc/card", "/v1/documents/..%2f..%2fkeys.db",
     "/v1/documents/../../serve.db/result", "/download_file/..%2f..%2f/x/serve.db", "/%00", "/assets/%00"],
)  # fmt: skip
def test_a_path_opens_no_file(url, path):
    answer = raw(url, f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    assert answer.split(b" ", 2)[1] in (b"404", b"400"), answer
    assert b"root:" not in answer


def test_a_line_break_in_a_path_begins_no_line_of_the_log(url, caplog, monkeypatch):
    monkeypatch.setattr(logging.getLogger("dragoman.serve"), "disabled", False)
    with caplog.at_level(logging.INFO, "dragoman.serve"):
        raw(url, b"GET /x%0a2026-01-01%20INFO%20GET%20/admin%20200%1b[31m HTTP/1.1\r\nHost: localhost\r\n\r\n")
        end = time.monotonic() + 30
        while not any("/x" in one.getMessage() for one in caplog.records) and time.monotonic() < end:
            time.sleep(0.01)
    [line] = [one.getMessage() for one in caplog.records if "/x" in one.getMessage()]
    assert line.isprintable()
    assert "/x%0A2026-01-01%20INFO" in line


@pytest.mark.parametrize(
    "name", ["ko\r\nX-Evil: 1", "ko\nSet-Cookie: a=b", "../ko", "ko\0", "ko<script>", "k" * 10_000]
)
def test_names_of_languages_models_and_files_are_no_headers(client, name):
    for answer in (
        client.post("/v1/translate", json={**HELLO, "target": name}),
        client.post("/v1/translate", json={**HELLO, "model": name}),
        client.post("/v1/glossaries", json={"name": "a", "source": "en", "target": name, "entries": {"a": "b"}}),
        client.post("/v2/translate", json={"text": "a", "target_lang": name}),
        client.post("/translate", json={"q": "a", "source": "en", "target": name}),
        client.post("/v1/documents", data={"target": name}, files={"file": ("a.txt", "Hello")}),
    ):
        assert answer.status_code in (400, 404), answer.text
        assert not {"x-evil", "set-cookie"} & set(answer.headers)
        assert answer.headers["content-type"].startswith("application/")
        assert len(answer.content) < 2000


def test_headers_of_a_request_are_not_answered(client):
    answer = client.get(
        "/healthz", headers={"x-request-id": "mine", "traceparent": "evil", "x-forwarded-host": "evil.example"}
    )
    assert answer.headers["x-request-id"] != "mine"
    found = client.post(
        "/translate_file",
        files={"file": ("a.txt", "Hello")},
        data={"source": "en", "target": "ko"},
        headers={"x-forwarded-host": "evil.example", "x-forwarded-proto": "https"},
        timeout=120,
    )
    assert urlsplit(found.json()["translatedFileUrl"]).hostname == "127.0.0.1"


def test_an_address_is_a_text_and_nothing_that_is_fetched(client):
    """A server that would be asked listens: nobody connects."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        listening.settimeout(0.2)
        target = f"http://127.0.0.1:{listening.getsockname()[1]}/x"
        client.post("/v1/translate", json={**HELLO, "text": target, "glossary": {target: target}})
        client.post(
            "/v1/glossaries", json={"name": target, "source": "en", "target": "ko", "text": target, "format": "tbx"}
        )
        page = f'<img src="{target}"><link href="{target}"><p>Hello</p>'
        client.post("/v1/translate", json={**HELLO, "text": page, "format": "html"})
        for declared in (
            f'<!DOCTYPE a SYSTEM "{target}"><a>Hello</a>',
            f'<a xmlns:xi="{target}"><xi:include href="{target}"/></a>',
        ):
            client.post("/v1/translate", json={**HELLO, "text": declared, "format": "xml"})
        client.post("/v1/documents", data={"target": "ko"}, files={"file": (target, f"{target}\n")})
        with pytest.raises(TimeoutError):
            listening.accept()


def test_a_compressed_body_is_not_unpacked(client):
    bomb = gzip.compress(b"[" + b" " * 50_000_000)
    answer = client.post("/v1/translate", content=bomb, headers={"content-encoding": "gzip"})
    assert answer.status_code in (400, 413)


def test_the_key_in_the_address_of_a_file_is_not_in_the_log(url, caplog, monkeypatch):
    monkeypatch.setattr(logging.getLogger("dragoman.serve"), "disabled", False)
    path, hosts = "/download_file/name/thekey/a.txt", ("localhost", "evil.example")
    with caplog.at_level(logging.INFO, "dragoman.serve"), httpx.Client(base_url=url, timeout=60) as client:
        for sent in (path, f"/proxy{path}", path.replace("a.txt", "a/b"), path.removesuffix("/a.txt")):
            for method in ("GET", "POST", "DELETE"):
                for host in hosts:
                    assert client.request(method, sent, headers={"host": host}).status_code in (400, 404, 405)
        end = time.monotonic() + 60
        while len(paths := [one.fields["path"] for one in caplog.records if "path" in getattr(one, "fields", {})]) < 24:
            assert time.monotonic() < end
            time.sleep(0.01)
    assert set(paths) == {"/download_file/name", "/proxy/download_file/name"}
    assert "thekey" not in caplog.text


@pytest.mark.slow
def test_of_a_wrong_key_nothing_is_learned(tmp_path):
    """Unknown, malformed and revoked keys get one answer."""
    from dragoman.serve.models.models import Models
    from dragoman.serve.store.database import ServiceState
    from dragoman.serve.work.service import Service
    from live_server import live, post

    service = Service(Models(["en-ko"], threads=1), state=ServiceState(tmp_path))
    _, key = service.keys.create("one")
    _, revoked = service.keys.create("two")
    service.keys.revoke("two")
    secret = key[:-8] + ("A" if key[-8] != "A" else "B") + key[-7:]
    with live(service) as url:
        found = {
            (answer.status_code, answer.json()["detail"])
            for wrong in (secret, revoked, "x", key[:-1], key + "x", "drg_00000000_" + "0" * 38)
            for answer in [post(f"{url}/v1/translate", json=HELLO, headers={"authorization": f"Bearer {wrong}"})]
        }
    assert {status for status, _ in found} == {401}
    assert len(found) <= 2, found
