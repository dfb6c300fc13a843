"""Keys: accepted in every dialect, limited, revoked during a request, shared by two services."""

import logging
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from typing import Any

import deepl
import httpx
import pytest
from libretranslatepy import LibreTranslateAPI

from dragoman.cli.main import main
from dragoman.serve.models.models import Models
from dragoman.serve.store import keys as keys_module
from dragoman.serve.store.database import Database, DatabaseGone, ServiceState
from dragoman.serve.store.keys import BadKey, KeyStore, OverQuota
from dragoman.serve.store.rates import Rates, SharedRates
from dragoman.serve.work.service import Service
from live_server import get, live
from postgresql_server import postgresql

HELLO = {"text": "Hello", "source": "en", "target": "ko"}


@pytest.fixture(scope="module")
def guarded() -> Iterator[tuple[Service, str, str]]:
    """A service with a key, its URL, and the key."""
    service = Service(Models(threads=1, exact=True))
    _, text = service.keys.create("tests")
    with live(service) as url:
        yield service, url, text


def secret_of(key: str) -> str:
    """What follows the id in the text of a key; a secret may itself contain or end in an underscore."""
    return key.split("_", 2)[2]


def post(url: str, key: str | None, body: dict[str, Any] = HELLO, path: str = "/v1/translate") -> httpx.Response:
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    return httpx.post(f"{url}{path}", json=body, headers=headers, timeout=120)


@pytest.mark.slow
def test_without_a_key_every_dialect_refuses_in_its_own_form(guarded):
    _, url, _ = guarded
    for key in (None, "nonsense", "dg_0123456789ab_" + "x" * 43):
        answer = post(url, key)
        assert (answer.status_code, answer.json()["type"]) == (401, "urn:dragoman:problem:unauthorised")
    assert post(url, None, {"q": "Hello", "source": "en", "target": "ko"}, "/translate").json().keys() == {"error"}
    with pytest.raises(deepl.AuthorizationException):
        deepl.DeepLClient("nonsense", server_url=url).translate_text("Hello", target_lang="KO")
    assert get(f"{url}/readyz").status_code == 200
    assert get(f"{url}/").status_code == 200
    assert get(f"{url}/frontend/settings").json()["keyRequired"] is True


def test_with_its_key_every_dialect_translates(guarded):
    _, url, key = guarded
    assert post(url, key).status_code == 200
    assert deepl.DeepLClient(key, server_url=url).translate_text("Hello", target_lang="KO").text
    assert LibreTranslateAPI(f"{url}/", api_key=key).translate("Hello", "en", "ko")
    assert post(url, None, {"q": "Hello", "source": "en", "target": "ko", "api_key": key}, "/translate").is_success


def test_another_secret_of_the_same_key_is_refused(guarded):
    _, url, key = guarded
    assert post(url, key[:-1] + ("a" if key[-1] != "a" else "b")).status_code == 401


def test_a_key_has_a_limit_of_requests_per_minute_and_of_characters_per_day(guarded):
    service, url, _ = guarded
    _, slow = service.keys.create("slow", per_minute=2)
    answers = [post(url, slow) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert 1 <= int(answers[2].headers["Retry-After"]) <= 60
    assert f"wait {answers[2].headers['Retry-After']} s" in answers[2].json()["detail"]

    key, small = service.keys.create("small", characters_per_day=8)
    assert post(url, small).status_code == 200  # 5 characters
    refused = post(url, small)
    assert refused.status_code == 429
    assert "8 characters per day and 5 are used" in refused.json()["detail"]
    assert service.keys.used_today(key.id) == 5
    usage = deepl.DeepLClient(small, server_url=url).get_usage()
    assert (usage.character.count, usage.character.limit) == (5, 8)


def test_the_seconds_to_wait_are_never_too_few(guarded, monkeypatch):
    service, url, _ = guarded
    _, text = service.keys.create("waiting", per_minute=60)
    for seconds, wait in ((0.2, "1"), (1.2, "2"), (29.5, "30")):

        async def take(key, per_minute, seconds=seconds):
            return seconds

        monkeypatch.setattr(service, "take", take)
        refused = post(url, text)
        assert refused.status_code == 429
        assert refused.headers["Retry-After"] == wait
        assert f"wait {wait} s" in refused.json()["detail"]


def test_given_translations_and_prefixes_count_as_texts_do(guarded):
    service, url, _ = guarded
    key, text = service.keys.create("scorer", characters_per_day=100, characters=10)
    assert post(url, text, {**HELLO, "translation": "안녕하세요"}, "/v1/score").status_code == 200
    assert service.keys.used_today(key.id) == 10
    assert post(url, text, {**HELLO, "prefix": "안녕"}, "/v1/alternatives").status_code == 200
    assert service.keys.used_today(key.id) == 17
    for path, body in (("score", {"translation": "안녕하세요?"}), ("alternatives", {"prefix": "안녕하세요?"})):
        assert post(url, text, HELLO | body, f"/v1/{path}").status_code == 413
    assert service.keys.used_today(key.id) == 17


@pytest.mark.slow
def test_only_what_is_translated_counts(guarded, monkeypatch):
    service, url, _ = guarded
    key, text = service.keys.create("careful", characters_per_day=10)
    assert post(url, text, {**HELLO, "target": "fr"}).status_code == 400
    monkeypatch.setattr(service, "draining", True)
    for path in ("/v1/translate", "/v1/translate/stream", "/v1/alternatives"):
        body = {**HELLO, "prefix": ""} if path.endswith("alternatives") else HELLO
        assert post(url, text, body, path).status_code == 503
    assert post(url, text, {"q": "Hello", "source": "en", "target": "ko"}, "/translate").status_code == 503
    monkeypatch.undo()
    assert service.keys.used_today(key.id) == 0
    assert [post(url, text).status_code for _ in range(3)] == [200, 200, 429]


class Held:
    """An engine that searches as often as it is let: what it has not started can still be left or refused."""

    def __init__(self, engine: Any) -> None:
        self.engine, self.let = engine, threading.Semaphore(1)

    def translate(self, queries: Any, options: Any) -> Any:
        assert self.let.acquire(timeout=60)
        return self.engine.translate(queries, options)


class Failing:
    """An engine that fails after the first call."""

    def __init__(self, engine: Any) -> None:
        self.engine, self.calls = engine, 0

    def translate(self, queries: Any, options: Any) -> Any:
        self.calls += 1
        if self.calls > 1:
            raise MemoryError
        return self.engine.translate(queries, options)


def test_of_a_stream_that_fails_or_is_left_only_what_was_sent_counts(guarded, monkeypatch):
    service, url, _ = guarded
    key, text = service.keys.create("streamer", characters_per_day=100_000)
    body, headers = {**HELLO, "text": "A dog. A cat. A bird."}, {"Authorization": f"Bearer {text}"}
    assert "event: done" in post(url, text, body, "/v1/translate/stream").text
    assert service.keys.used_today(key.id) == 21
    translator = service.models.models["en-ko"].translator
    engine, held = translator.engine, Held(translator.engine)
    monkeypatch.setattr(translator, "engine", held)
    long = {**body, "text": "The dog is in the garden. " * 1000}
    stream = httpx.stream("POST", f"{url}/v1/translate/stream", json=long, headers=headers, timeout=60)
    with stream as answer:
        lines = answer.iter_lines()
        assert next(lines) == "event: sentence"
        assert service.keys.used_today(key.id) == 21 + len(long["text"])
    deadline = time.monotonic() + 60
    while (used := service.keys.used_today(key.id)) > len(long["text"]):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert used > 21
    held.let.release(1000)  # what was started ends
    monkeypatch.setattr(translator, "engine", Failing(engine))
    assert "event: problem" in post(url, text, body, "/v1/translate/stream").text
    assert service.keys.used_today(key.id) == used + len("A dog.")


@pytest.mark.slow
def test_a_limit_per_day_holds_among_requests_at_the_same_time(guarded):
    service, url, _ = guarded
    key, text = service.keys.create("hurried", characters_per_day=12)
    with ThreadPoolExecutor(8) as pool:
        found = sorted(answer.status_code for answer in pool.map(lambda _: post(url, text), range(8)))
    assert found == [200, 200, *[429] * 6]
    assert service.keys.used_today(key.id) == 10


def test_what_was_given_back_is_recorded_as_given_back(tmp_path):
    state = ServiceState(tmp_path)
    store = KeyStore(state.database)
    day = store.use("x", 70, 100)
    with pytest.raises(OverQuota, match="100 characters per day and 70 are used"):
        store.use("x", 31, 100)
    store._record()
    store.give_back("x", 60, day)
    store.use("x", 90, 100)
    store._record()
    store.give_back("x", 90, day)
    store.close()
    assert store.used("x") == 10
    state.close()


class Halting:
    """A database whose transactions have ended, but whose callers do not know it before `resumes`."""

    def __init__(self, database: Database) -> None:
        self.database, self.url = database, database.url
        self.committed, self.resumes = threading.Event(), threading.Event()

    @contextmanager
    def begin(self) -> Iterator[Any]:
        with self.database.begin() as connection:
            yield connection
        if threading.current_thread().name == "recorder":
            self.committed.set()
            self.resumes.wait(60)


def test_what_is_being_recorded_counts_once(tmp_path, monkeypatch):
    state = ServiceState(tmp_path)
    store = KeyStore(state.database)
    monkeypatch.setattr(store, "_record_now_and_then", lambda: None)
    day = store.use("x", 70, 100)
    halting = Halting(state.database)
    monkeypatch.setattr(store, "database", halting)
    recorder = threading.Thread(target=store._record, name="recorder")
    recorder.start()
    assert halting.committed.wait(60)
    with ThreadPoolExecutor(3) as pool:
        sums = [pool.submit(store.used_today, "x"), pool.submit(store.used, "x")]
        more = pool.submit(store.use, "x", 30, 100)
        store.give_back("x", 60, day)
        assert store.use("y", 5) == day, "a key without a limit does not wait"
        halting.resumes.set()
        recorder.join()
        assert all(total.result(60) in (10, 40) for total in sums)
        assert more.result(60) == day
    assert (store.used("x"), store.used_today("x")) == (40, 40)
    store._record()
    assert (store.used("x"), store.used_today("x")) == (40, 40)
    state.close()


def test_a_key_may_be_for_some_models_only(guarded):
    service, url, _ = guarded
    _, key = service.keys.create("one model", models=["en-ko"])
    assert post(url, key).json()["translations"][0]["model"] == "en-ko"
    refused = post(url, key, {"text": "안녕", "source": "ko", "target": "en"})
    assert refused.status_code == 403
    assert "it may use: en-ko" in refused.json()["detail"]
    assert post(url, key, {**HELLO, "model": "ko-en"}).status_code == 403


def test_a_key_revoked_during_a_request_ends_it(guarded, monkeypatch):
    service, url, _ = guarded
    monkeypatch.setattr("dragoman.serve.http.call.RECHECK", 0.05)
    monkeypatch.setattr(keys_module, "RECHECK", 0.05)
    _, key = service.keys.create("soon gone")
    translator = service.models.models["en-ko"].translator
    held = Held(translator.engine)
    monkeypatch.setattr(translator, "engine", held)
    text = "\n".join(f"There are {n} dogs in the garden of my friend." for n in range(900))
    headers = {"Authorization": f"Bearer {key}"}
    body = {"text": text, "source": "en", "target": "ko"}
    with httpx.stream("POST", f"{url}/v1/translate/stream", json=body, headers=headers, timeout=120) as answer:
        events = []
        for line in answer.iter_lines():
            events.append(line)
            if len(events) == 1:
                service.keys.revoke("soon gone")
    held.let.release(1000)  # what was started ends
    assert "event: problem" in events
    assert "the key was revoked" in "".join(events)
    assert "event: done" not in events
    time.sleep(0.1)
    assert post(url, key).status_code == 401


def test_no_key_is_in_the_log(guarded, caplog, monkeypatch):
    monkeypatch.setattr(logging.getLogger("dragoman.serve"), "disabled", False)  # a library may have set it
    _, url, key = guarded
    with caplog.at_level(logging.INFO, "dragoman.serve"):
        post(url, key)
        get(f"{url}/languages", params={"api_key": key})
        deadline = time.monotonic() + 60
        while not all(f" {path} " in caplog.text for path in ("/v1/translate", "/languages")):
            assert time.monotonic() < deadline
            time.sleep(0.01)
    assert key not in caplog.text
    assert secret_of(key) not in caplog.text


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest) -> Iterator[str | None]:
    """None: a file; or a real server."""
    if request.param == "sqlite":
        yield None
    else:
        with postgresql() as found:
            yield found


@pytest.mark.slow
def test_two_services_on_one_store_accept_count_and_revoke_together(url, tmp_path, monkeypatch):
    monkeypatch.setattr(keys_module, "RECHECK", 0.0)
    states = [ServiceState(tmp_path / "state", url) for _ in range(2)]
    one, two = (KeyStore(state.database) for state in states)
    assert not two.are_required()
    key, text = one.create("shared", per_minute=7, characters_per_day=100, models=["en-ko"])
    assert two.are_required()
    assert two.check(text) == key == one.check(text)
    with pytest.raises(Exception, match="there is a key with this name"):
        two.create("shared")
    one.use(key.id, 30)
    two.use(key.id, 12)
    one.close()
    two.close()
    with closing(KeyStore(states[0].database)) as later:
        assert later.used_today(key.id) == later.used(key.id) == 42
        later.revoke("shared")
        assert [(each.name, each.revoked is not None) for each in later.list()] == [("shared", True)]
    with pytest.raises(BadKey, match="revoked"):
        two.check(text)
    for state in states:
        state.close()


def test_while_the_database_is_gone_known_keys_continue_and_others_wait(tmp_path, monkeypatch):
    monkeypatch.setattr(keys_module, "RECHECK", 0.0)
    state = ServiceState(tmp_path)
    store = KeyStore(state.database)
    (_, known), (_, other) = store.create("known"), store.create("other")
    assert store.check(known).name == "known"
    begin = Database.begin

    def gone(self: Database) -> None:
        raise DatabaseGone("the database does not answer: it was stopped")

    monkeypatch.setattr(Database, "begin", gone)
    assert store.check(known).name == "known"
    with pytest.raises(DatabaseGone):
        store.check(other)
    store.use("x", 3)  # recorded when it is back
    monkeypatch.setattr(Database, "begin", begin)
    assert store.check(other).name == "other"
    store.close()
    assert store.used("x") == 3
    state.close()


def test_a_service_without_its_database_answers_503_and_lives_again(guarded, monkeypatch):
    service, url, _ = guarded
    _, key = service.keys.create("not seen yet")
    begin = Database.begin

    def gone(self: Database) -> None:
        raise DatabaseGone("the database does not answer: it was stopped")

    monkeypatch.setattr(Database, "begin", gone)
    answer = post(url, key)
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "5")
    monkeypatch.setattr(Database, "begin", begin)
    assert post(url, key).status_code == 200


def test_a_clock_that_goes_backwards_neither_blocks_nor_frees_a_key(monkeypatch, tmp_path):
    now = 1000.0
    rates = Rates(lambda: now)
    assert [rates.take("a", 2) for _ in range(2)] == [0.0, 0.0]
    assert rates.take("a", 2) == pytest.approx(30)
    monkeypatch.setattr(time, "time", lambda: -1e9)  # the wall clock, which a person may set
    assert rates.take("a", 2) > 0
    now += 30
    assert rates.take("a", 2) == 0.0
    state = ServiceState(tmp_path)
    with closing(KeyStore(state.database)) as store:
        _, text = store.create("early")
        assert store.check(text).fault is None
    state.close()


def test_an_expired_key_is_refused(tmp_path):
    state = ServiceState(tmp_path)
    with closing(KeyStore(state.database)) as store:
        _, text = store.create("old", expires=time.time() - 1)
        with pytest.raises(BadKey, match="expired"):
            store.check(text)
        with pytest.raises(BadKey, match="expired"):
            store.check(text)
    state.close()


def test_the_table_has_no_key(tmp_path):
    state = ServiceState(tmp_path)
    with closing(KeyStore(state.database)) as store:
        _, text = store.create("hashed")
        secret = secret_of(text).encode()
    state.close()
    assert all(secret not in path.read_bytes() for path in tmp_path.iterdir())


def test_the_command_creates_lists_and_revokes(tmp_path, capsys):
    def dragoman(*arguments: str) -> tuple[int, str, str]:
        code = main(["keys", *arguments, "--state", str(tmp_path)])
        return code, *capsys.readouterr()

    code, made, error = dragoman(
        "create", "bot", "--per-minute", "9", "--per-day", "1000", "-m", "en-ko", "--days", "2"
    )
    assert code == 0, error
    key = made.strip()
    assert key.startswith("dg_")
    listed = dragoman("list")[1]
    assert "bot" in listed
    assert "9 requests per minute  0 characters today of 1,000  only en-ko" in listed
    assert secret_of(key) not in listed
    assert dragoman("create", "bot")[0] == 2
    assert dragoman("create", "other", "-m", "nowhere")[0] == 4
    assert dragoman("revoke", "bot")[0] == 0
    assert "was revoked" in dragoman("list")[1]
    assert dragoman("revoke", "nobody")[2].startswith("dragoman: nobody: no key has this name")


@pytest.mark.parametrize(
    "option", [("--days", "999999999"), ("--days", "nan"), ("--per-day", "9" * 24), ("--per-minute", "9" * 24)]
)
def test_a_limit_that_no_database_holds_is_refused(option, tmp_path, capsys):
    assert main(["keys", "create", "bot", *option, "--state", str(tmp_path)]) == 2
    assert option[0] in capsys.readouterr().err


def test_a_key_that_expires_after_all_years_is_listed(tmp_path, capsys):
    state = ServiceState(tmp_path)
    with closing(KeyStore(state.database)) as store:
        store.create("old", expires=1e14)
        store.create("other")
    state.close()
    assert main(["keys", "list", "--state", str(tmp_path)]) == 0
    listed = capsys.readouterr().out
    assert "9999-12-31" in listed
    assert "other" in listed


def test_rates_of_a_shared_database_are_one_for_all(tmp_path, monkeypatch):
    """Two services take from one bucket: as many requests at once as a minute has, then one after another."""
    now = 1_700_000_000.0
    monkeypatch.setattr("dragoman.serve.store.rates.time.time", lambda: now)
    state = ServiceState(tmp_path)
    services = [SharedRates(state.database), SharedRates(Database(state.database.url))]
    assert [services[number % 2].take("a", 6) for number in range(6)] == [0.0] * 6
    assert [round(one.take("a", 6)) for one in services] == [10, 10]
    assert services[1].take("b", 6) == 0.0
    now += 10
    assert services[0].take("a", 6) == 0.0
    assert services[1].take("a", 6) == pytest.approx(10, abs=0.01)
    now += 3600
    assert sum(one.take("a", 6) == 0.0 for one in services * 10) == 6
    services[1].database.close()
    state.close()


def test_rates_are_counted_here_while_the_database_is_gone(tmp_path, monkeypatch):
    state = ServiceState(tmp_path)
    rates = SharedRates(state.database)

    def gone() -> None:
        raise DatabaseGone("stopped")

    monkeypatch.setattr(state.database, "begin", gone)
    assert [rates.take("a", 2) for _ in range(2)] == [0.0, 0.0]
    assert rates.take("a", 2) > 20
    state.close()
