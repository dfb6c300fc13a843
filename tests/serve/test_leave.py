"""Clients that leave while their request arrives or is worked on: 499 in the log and the metrics, and no traceback."""

import json
import logging
import socket
import threading
import time
from urllib.parse import urlsplit

from live_server import server_fixtures

service, url, client = server_fixtures()

FORM, MULTIPART = "application/x-www-form-urlencoded", "multipart/form-data; boundary=b"
PART = b'--b\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\nHello'
PATHS = [
    ("POST", "/translate", FORM),
    ("POST", "/detect", FORM),
    ("POST", "/suggest", "application/json"),
    ("POST", "/translate_file", MULTIPART),
    ("POST", "/v1/translate", "application/json"),
    ("POST", "/v1/translate/stream", "application/json"),
    ("POST", "/v1/detect", "application/json"),
    ("POST", "/v1/alternatives", "application/json"),
    ("POST", "/v1/score", "application/json"),
    ("POST", "/v1/feedback", "application/json"),
    ("POST", "/v1/glossaries", "application/json"),
    ("PUT", "/v1/glossaries/a/entries", "application/json"),
    ("POST", "/v1/documents", MULTIPART),
    ("POST", "/v2/translate", FORM),
    ("POST", "/v2/translate", MULTIPART),
    ("POST", "/v2/document", MULTIPART),
    ("POST", "/v2/document/a", FORM),
    ("POST", "/v2/glossaries", FORM),
    ("POST", "/v3/glossaries", "application/json"),
    ("PATCH", "/v3/glossaries/a", FORM),
]


def left(url: str, method: str, path: str, media: str) -> None:
    """Send the beginning of a request, and close."""
    where = urlsplit(url)
    with socket.create_connection((where.hostname, where.port), 30) as connection:
        head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {media}\r\nContent-Length: 1000\r\n\r\n"
        connection.sendall(head.encode() + (PART if media == MULTIPART else b"q=Hello"))


def entries(caplog, count: int) -> list[logging.LogRecord]:
    """The entries of the log of requests, once there are `count`."""
    end = time.monotonic() + 60
    while len(found := [entry for entry in caplog.records if "path" in getattr(entry, "fields", {})]) < count:
        assert time.monotonic() < end
        time.sleep(0.01)
    return found


def test_who_leaves_while_the_body_arrives_is_no_failure(url, client, caplog, monkeypatch):
    monkeypatch.setattr(logging.getLogger("dragoman.serve"), "disabled", False)
    with caplog.at_level(logging.INFO, "dragoman.serve"):
        for path in PATHS:
            left(url, *path)
        found = entries(caplog, len(PATHS))
    assert {(entry.fields["method"], entry.fields["path"], entry.fields["status"]) for entry in found} == {
        (method, path, 499) for method, path, _ in PATHS
    }
    assert not [entry for entry in caplog.records if entry.exc_info or entry.levelno > logging.INFO]
    metrics = client.get("/metrics").text
    assert 'code="500"' not in metrics
    assert 'code="499"' in metrics


def test_who_leaves_while_the_text_is_translated_is_no_failure(service, url, caplog, monkeypatch):
    monkeypatch.setattr(logging.getLogger("dragoman.serve"), "disabled", False)
    translator = service.models.models["en-ko"].translator
    engine, searched, left = translator.engine, threading.Event(), threading.Event()

    class Waiting:
        def translate(self, queries, options):
            searched.set()
            assert left.wait(60)
            return engine.translate(queries, options)

    monkeypatch.setattr(translator, "engine", Waiting())
    body = json.dumps({"text": "Where is the library?", "source": "en", "target": "ko"})
    where = urlsplit(url)
    with caplog.at_level(logging.INFO, "dragoman.serve"), socket.create_connection((where.hostname, where.port)) as own:
        head = f"POST /v1/translate HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n"
        own.sendall((head + body).encode())
        assert searched.wait(60)
        own.close()
        [entry] = entries(caplog, 1)
    left.set()
    assert (entry.fields["path"], entry.fields["status"]) == ("/v1/translate", 499)
    assert not [record for record in caplog.records if record.exc_info]
