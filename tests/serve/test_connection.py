"""Connections: one whose request does not arrive is closed, and nobody else notices; an answer leaves as one packet."""

import asyncio
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack
from urllib.parse import urlsplit

import httpx
import pytest

from dragoman.serve.connection import MOST_BUFFERED, BufferedTransport, Protocol
from live_server import server_fixtures

service, url, client = server_fixtures()


HELLO = {"text": "Hello", "source": "en", "target": "ko"}
HEADERS = b"POST /v1/translate HTTP/1.1\r\nHost: localhost\r\n"


@pytest.fixture
def connect(url: str) -> Iterator:
    """Opens a connection and sends something."""
    where = urlsplit(url)
    with ExitStack() as stack:

        def opened(sent: bytes) -> socket.socket:
            found = stack.enter_context(socket.create_connection((where.hostname, where.port), 60))
            found.sendall(sent)
            return found

        yield opened


def ended(connection: socket.socket) -> bool:
    """Whether the server closes it, before 60 seconds have passed."""
    try:
        return connection.recv(1000) == b""
    except ConnectionError:
        return True


@pytest.mark.parametrize(
    "sent",
    [b"", b"GET /healthz HTTP/1.1\r\nHo", HEADERS + b"Content-Length: 100\r\n\r\n{"],
    ids=["none", "head", "body"],
)
def test_a_request_that_does_not_arrive_is_ended(monkeypatch, connect, sent):
    monkeypatch.setattr(Protocol, "header_seconds", 0.2)
    monkeypatch.setattr(Protocol, "body_seconds", 0.2)
    assert ended(connect(sent))


def test_what_trickles_in_does_not_prolong_it(monkeypatch, connect):
    monkeypatch.setattr(Protocol, "header_seconds", 0.3)
    connection = connect(b"GET /healthz HTTP/1.1\r\n")
    end = time.monotonic() + 60
    try:
        while time.monotonic() < end:
            connection.sendall(b"X: y\r\n")
            connection.settimeout(0.05)
            try:
                if connection.recv(10) == b"":
                    return
            except TimeoutError:
                pass
    except ConnectionError:
        return
    pytest.fail("it was not closed")


def test_a_body_that_comes_at_the_rate_has_the_time_it_needs(monkeypatch, url):
    monkeypatch.setattr(Protocol, "body_seconds", 0.2)
    monkeypatch.setattr(Protocol, "body_rate", 0)

    def slowly() -> Iterator[bytes]:
        for part in (b'{"text": "Hello", ', b'"source": "en", ', b' "target": ', b'"ko"', b"}"):
            yield part
            time.sleep(0.15)

    answer = httpx.post(f"{url}/v1/translate", content=slowly(), timeout=60)
    assert answer.status_code == 200


def test_many_slow_connections_leave_the_service_to_others(monkeypatch, url, connect):
    """100 half requests where 20 connections are allowed: those that wait the longest make place."""
    monkeypatch.setattr(Protocol, "most", 20)
    slow = [connect(HEADERS) for _ in range(100)]
    with httpx.Client(base_url=url, timeout=60) as client:
        for _ in range(3):
            assert client.post("/v1/translate", json=HELLO).status_code == 200
    assert all(ended(one) for one in slow[:60])


class _Packets:
    """A stub of a transport: what was sent, each call by itself."""

    def __init__(self) -> None:
        self.sent, self.closed = list[bytes](), False

    def write(self, data: bytes) -> None:
        assert not self.closed
        self.sent.append(data)

    def close(self) -> None:
        self.closed = True


def test_what_is_written_in_one_turn_leaves_together():
    async def turns() -> None:
        packets = _Packets()
        transport = BufferedTransport(packets, asyncio.get_running_loop())
        transport.write(b"head ")
        transport.write(b"")
        transport.write(b"body")
        assert packets.sent == []
        await asyncio.sleep(0)
        assert packets.sent == [b"head body"]
        transport.write(b"next")
        transport.close()
        assert packets.sent == [b"head body", b"next"]
        assert packets.closed
        await asyncio.sleep(0)
        assert len(packets.sent) == 2

    asyncio.run(turns())


def test_a_large_answer_is_not_kept_until_the_end_of_the_turn():
    async def turn() -> None:
        packets = _Packets()
        transport = BufferedTransport(packets, asyncio.get_running_loop())
        for _ in range(10):
            transport.write(b"x" * MOST_BUFFERED)
        assert sum(map(len, packets.sent)) >= 9 * MOST_BUFFERED

    asyncio.run(turn())


def test_an_answer_comes_as_one_packet(connect):
    connection = connect(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
    head, _, body = connection.recv(100_000).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200")
    assert body


def test_a_client_that_sends_no_more_has_its_answer(connect):
    for _ in range(10):
        connection = connect(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        connection.shutdown(socket.SHUT_WR)
        assert connection.recv(100_000).startswith(b"HTTP/1.1 200")
