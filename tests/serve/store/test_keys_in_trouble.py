"""Keys where something is at odds: processes that write at once, a database that is gone, a request without a pause."""

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from types import SimpleNamespace
from typing import Any

import deepl
import httpx
import pytest
from starlette.requests import Request

from dragoman.serve.http import call as call_module
from dragoman.serve.http.call import ServiceCall
from dragoman.serve.models.models import Models
from dragoman.serve.store import keys as keys_module
from dragoman.serve.store.database import Database, DatabaseGone, ServiceState
from dragoman.serve.store.keys import METADATA, KeyStore
from dragoman.serve.work.service import Service
from live_server import live
from postgresql_server import postgresql

# What needs no key: operations, what LibreTranslate's clients ask first, what has a key of its own or in its upload.
OPEN = ("/healthz", "/readyz", "/metrics", "/health", "/languages", "/frontend/settings")
OWN_KEY = ("/download_file", "/translate_file")


def gone(*given: Any) -> None:
    raise DatabaseGone("the database does not answer: it was stopped")


@pytest.fixture(scope="module")
def server() -> Iterator[tuple[Service, str]]:
    service = Service(Models(threads=1))
    service.keys.create("tests")
    with live(service) as url:
        yield service, url


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])
def where(request: pytest.FixtureRequest) -> Iterator[str | None]:
    """None: a file; or a real server."""
    if request.param == "sqlite":
        yield None
    else:
        with postgresql() as found:
            yield found


@pytest.mark.slow
def test_no_path_of_the_interface_is_open_but_those_listed(server):
    _, url = server
    with httpx.Client(base_url=url, timeout=60) as client:
        paths = client.get("/openapi.json").json()["paths"]
        for path, methods in paths.items():
            if path in OPEN or path.startswith(OWN_KEY):
                continue
            for method in methods:
                answer = client.request(method, path.replace("{", "").replace("}", ""))
                assert answer.status_code in (401, 403), f"{method} {path}: {answer.status_code}"


def test_services_that_start_and_count_at_once_lose_nothing(where, tmp_path):
    """The first record of a day is an insertion, which only one of several processes can do."""
    states = [ServiceState(tmp_path / "state", where) for _ in range(4)]
    start, errors = threading.Barrier(len(states)), list[BaseException]()

    def work(state: ServiceState) -> None:
        try:
            start.wait()
            with closing(KeyStore(state.database)) as store:
                store.use("one", 3_000_000_000)
                store.use("two", 1)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(state,)) for state in states]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    with closing(KeyStore(states[0].database)) as store:
        assert [store.used(key) for key in ("one", "two")] == [4 * 3_000_000_000, 4]
    for state in states:
        state.close()


def test_services_that_create_the_tables_at_once_all_find_them(where, tmp_path):
    """Two processes can both see that there is no table: fifty beginnings of eight."""
    states = [ServiceState(tmp_path / "state", where) for _ in range(8)]
    start = threading.Barrier(len(states))

    def create(state: ServiceState) -> None:
        start.wait()
        state.database.create(METADATA)

    try:
        for _ in range(50):
            with states[0].database.begin() as connection:
                METADATA.drop_all(connection)
            start.reset()
            with ThreadPoolExecutor(len(states)) as pool:
                made = [pool.submit(create, state) for state in states]
            assert [task.exception() for task in made] == [None] * len(states)
    finally:
        for state in states:
            state.close()


def test_a_key_with_all_limits_is_stored_as_it_was_made(where, tmp_path):
    state = ServiceState(tmp_path, where)
    with closing(KeyStore(state.database)) as store:
        most = 1 << 40
        limits = {"per_minute": most, "characters_per_day": most, "characters": most}
        key, text = store.create("법무팀 @1", **limits, models=["한국어"], expires=4e9)
        assert store.check(text) == key
        assert store.list() == [key]
    state.close()


def test_what_a_key_may_send_at_a_time(server):
    service, url = server
    _, text = service.keys.create("short", characters=5, characters_per_day=8)
    headers = {"Authorization": f"Bearer {text}"}
    for path in ("/v1/translate", "/v1/translate/stream"):
        body = {"text": "Hello!", "source": "en", "target": "ko"}
        answer = httpx.post(f"{url}{path}", json=body, headers=headers, timeout=60)
        assert (answer.status_code, answer.json()["type"]) == (413, "urn:dragoman:problem:too-large")
        assert "6 characters; the key may send at most 5" in answer.json()["detail"]
    official = deepl.DeepLClient(text, server_url=url)
    assert official.translate_text("Hello", source_lang="EN", target_lang="KO").text
    with pytest.raises(deepl.QuotaExceededException, match="Quota"):
        official.translate_text("Hello", source_lang="EN", target_lang="KO")


def test_a_limit_per_day_holds_while_the_database_is_gone(server, monkeypatch):
    """The key was used before: it continues, up to what this process knows of."""
    service, url = server
    key, text = service.keys.create("daily", characters_per_day=12)
    headers, body = {"Authorization": f"Bearer {text}"}, {"text": "Hello", "source": "en", "target": "ko"}

    def status() -> int:
        return httpx.post(f"{url}/v1/translate", json=body, headers=headers, timeout=60).status_code

    assert status() == 200
    monkeypatch.setattr(Database, "begin", gone)
    assert [status(), status()] == [200, 429]
    monkeypatch.undo()
    assert service.keys.used_today(key.id) == 10


def test_a_database_that_does_not_answer_is_asked_once(tmp_path, monkeypatch):
    """Otherwise each request of a known key would wait as long as a connection may take."""
    monkeypatch.setattr(keys_module, "RECHECK", 30.0)
    state = ServiceState(tmp_path)
    with closing(KeyStore(state.database)) as store:
        _, text = store.create("known")
        key = store.check(text)
        now = keys_module.time.monotonic()
        clock = SimpleNamespace(monotonic=lambda: now + 40, time=keys_module.time.time)
        monkeypatch.setattr(keys_module, "time", clock)
        assert store.known(text) is None, "it is time to look it up"
        with monkeypatch.context() as patch:
            patch.setattr(Database, "begin", gone)
            assert store.check(text) == key
            assert store.known(text) == key
            clock.monotonic = lambda: now + keys_module.WITHOUT_DATABASE + 1
            store._gone = clock.monotonic()
            assert store.known(text) is None, "not for ever"
            with pytest.raises(DatabaseGone):
                store.check(text)
    state.close()


def test_a_request_of_many_short_waits_looks_its_key_up(monkeypatch):
    """A stream waits for each window by itself: all of them together last longer than a check is valid."""
    monkeypatch.setattr(call_module, "RECHECK", 0.2)
    looked = list[bool]()

    async def is_revoked(call: ServiceCall) -> bool:
        looked.append(True)
        return True

    monkeypatch.setattr(ServiceCall, "_is_revoked", is_revoked)

    async def receive() -> dict[str, Any]:
        await asyncio.sleep(60)
        return {"type": "http.disconnect"}

    async def wait_shortly() -> None:
        unused: Any = object()
        call = ServiceCall(Request({"type": "http", "state": {}}, receive), unused, key=unused)
        for _ in range(2000):
            leaving = call.departure()
            await asyncio.sleep(0.02)
            if leaving.done():
                return
            leaving.cancel()

    asyncio.run(wait_shortly())
    assert looked == [True]
