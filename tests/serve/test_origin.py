"""Pages of other origins: what they may write is nothing, unless their origin was allowed."""

import asyncio
import unicodedata
from typing import Any

import httpx
import pytest

from dragoman.cli.verbs.serve import ServeArguments
from dragoman.errors import ConfigError
from dragoman.serve.app import make_app
from dragoman.serve.http.origins import public_address
from live_server import server_fixtures

service, url, client = server_fixtures()

APP = "https://app.example"
JSON = {"content-type": "application/json"}
PLAIN = {"content-type": "text/plain"}
CORRECTION = {"text": "Hello", "correction": "EVIL", "source": "en", "target": "ko"}
# Each with a body that is accepted from the service's own page.
WRITES: list[tuple[str, str, dict[str, Any]]] = [
    ("POST", "/v1/feedback", {"json": CORRECTION}),
    ("POST", "/suggest", {"data": {"q": "Hello", "s": "EVIL", "source": "en", "target": "ko"}}),
    ("POST", "/v1/documents", {"files": {"file": ("a.txt", "Hello")}, "data": {"target": "ko"}}),
    ("POST", "/v2/document", {"files": {"file": ("a.txt", "Hello")}, "data": {"target_lang": "KO"}}),
    (
        "POST",
        "/v2/glossaries",
        {"data": {"name": "a", "source_lang": "en", "target_lang": "ko", "entries": "a\tb"}},
    ),
    ("POST", "/v1/translate", {"json": {"text": "Hello", "target": "ko"}}),
    ("POST", "/translate", {"params": {"q": "Hello", "source": "en", "target": "ko"}}),
    ("PUT", "/v1/glossaries/a/entries", {"json": {}}),
    ("PATCH", "/v3/glossaries/a", {"json": {}}),
    ("DELETE", "/v1/feedback/a", {}),
    ("POST", "/nothing", {}),
]


def of_page(origin: str | None, site: str | None) -> dict[str, str]:
    """The headers of a browser for a request of a page."""
    return ({"origin": origin} if origin else {}) | ({"sec-fetch-site": site} if site else {})


def asked(service: Any, method: str, path: str, headers: dict[str, str], **options: Any) -> httpx.Response:
    """The answer to a request, by an application that allows `options["allowed"]`."""
    public = public_address(origins=options.pop("allowed", ()), root=options.pop("root", ""))
    transport = httpx.ASGITransport(make_app(service, public))

    async def ask() -> httpx.Response:
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost", timeout=60) as client:
            return await client.request(method, path, headers=headers, **options)

    return asyncio.run(ask())


@pytest.mark.parametrize(("method", "path", "body"), WRITES, ids=[f"{method} {path}" for method, path, _ in WRITES])
def test_a_page_of_another_origin_writes_nothing(service, client, method, path, body):
    before = service.corrections.owned("127.0.0.1")[0]
    for origin, site in (
        ("http://evil.example:9250", "cross-site"),
        ("http://evil.example", None),
        ("http://127.0.0.1:1", "same-site"),
        ("http://localhost.evil.example", None),
        ("null", "cross-site"),
        ("null", None),
        (None, "cross-site"),
    ):
        answer = client.request(method, path, headers=of_page(origin, site), **body)
        assert answer.status_code == 403, (origin, site, answer.text)
        assert "--allow-origin" in answer.text
        assert not any(name.startswith("access-control") for name in answer.headers)
    assert service.corrections.owned("127.0.0.1")[0] == before
    assert client.get("/v1/documents").json() == {"documents": []}
    assert client.get("/v1/glossaries").json() == {"glossaries": []}


def test_a_page_of_this_origin_a_program_and_a_reader_are_answered(url, client):
    body = {"text": "Hello", "target": "ko"}
    for headers in (
        {},
        of_page(url, "same-origin"),
        of_page(url, None),
        of_page(url.upper().replace("HTTP", "http"), None),
        of_page("https://other.example", "same-origin"),  # behind a proxy that does not pass on the host
    ):
        assert client.post("/v1/translate", json=body, headers=headers).status_code == 200
    for path in ("/", "/healthz", "/languages", "/v1/models"):
        assert client.get(path, headers=of_page("http://evil.example", "cross-site")).status_code == 200


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_a_page_of_another_origin_has_nothing_dear_computed(client, monkeypatch, site):
    monkeypatch.setattr("dragoman.serve.models.looking.Looking.page", lambda *_: (b"<title>a</title>",))
    query = {"text": "Hello", "source": "en", "target": "ko"}
    for method in ("GET", "HEAD"):
        refused = client.request(method, "/v1/inspect/page", params=query, headers=of_page(None, site))
        assert refused.status_code == 403
    for headers in ({}, of_page(None, "none"), of_page(None, "same-origin")):
        assert client.get("/v1/inspect/page", params=query, headers=headers).status_code == 200


def test_where_there_is_an_origin_json_says_that_it_is_json(url, client):
    body = b'{"text": "Hello", "target": "ko"}'
    assert client.post("/v1/translate", content=body).status_code == 200  # as curl -d sends it
    for typed in ({}, PLAIN, {"content-type": "application/x-www-form-urlencoded"}):
        answer = client.post("/v1/translate", content=body, headers={**of_page(url, "same-origin"), **typed})
        assert (answer.status_code, answer.json()["type"]) == (415, "urn:dragoman:problem:media-type")
    assert client.post("/v2/translate", content=b"{}", headers=of_page(url, None)).status_code == 415
    assert client.post("/v1/translate", content=body, headers={**of_page(url, None), **JSON}).status_code == 200


@pytest.mark.parametrize("origin", [APP, "null"])
def test_an_allowed_origin_asks_reads_and_writes(service, origin):
    allowed = {"allowed": [APP, "null"]}
    page = of_page(origin, "cross-site")
    question = {"access-control-request-method": "POST", "access-control-request-headers": "authorization,x-app"}
    preflight = asked(service, "OPTIONS", "/v1/translate", page | question, **allowed)
    assert preflight.status_code == 204
    assert preflight.headers["access-control-allow-origin"] == origin
    assert "POST" in preflight.headers["access-control-allow-methods"]
    assert preflight.headers["access-control-allow-headers"] == "authorization,x-app"
    assert "access-control-allow-credentials" not in preflight.headers
    answer = asked(service, "POST", "/v1/translate", page, json={"text": "Hello", "target": "ko"}, **allowed)
    assert answer.status_code == 200
    assert answer.headers["access-control-allow-origin"] == origin
    assert answer.headers["cross-origin-resource-policy"] == "cross-origin"
    assert "Origin" in answer.headers["vary"]
    refused = asked(service, "POST", "/v1/translate", page, json={"text": 1}, **allowed)
    assert (refused.status_code, refused.headers["access-control-allow-origin"]) == (400, origin)


def test_another_origin_than_the_allowed_one_gets_nothing(service):
    page = of_page("https://app.example.evil", "cross-site")
    question = {"access-control-request-method": "POST"}
    preflight = asked(service, "OPTIONS", "/v1/translate", page | question, allowed=[APP])
    assert preflight.status_code == 403
    answer = asked(service, "GET", "/v1/models", page, allowed=[APP])
    assert answer.status_code == 200
    assert "access-control-allow-origin" not in answer.headers
    assert answer.headers["cross-origin-resource-policy"] == "same-origin"
    assert asked(service, "OPTIONS", "/v1/translate", {}, allowed=[APP]).status_code == 405


def test_any_origin_where_all_are_allowed_and_a_network_of_its_own(service):
    page = of_page("chrome-extension://abc", "none") | {"access-control-request-method": "POST"}
    page["access-control-request-private-network"] = "true"
    preflight = asked(service, "OPTIONS", "/translate", page, allowed=["*"])
    assert (preflight.status_code, preflight.headers["access-control-allow-private-network"]) == (204, "true")


@pytest.mark.parametrize("origin", ["app.example", "https://app.example/", "https://app.example/page", "http://", ""])
def test_an_origin_is_written_as_browsers_write_it(origin):
    with pytest.raises(ConfigError, match=r"--allow-origin .*https://app.example"):
        ServeArguments(allow_origin=[origin]).options()


NO_NAMES = ["https://app.example", "app.example:80", "app.example/a", "*", "a b", "", "127.0.0.1:80", "[::1]:80"]
OTHER_NAMES = ["straße.example", "ａpp.example", "app\u200b.example"]  # which would be `strasse` and `app`


@pytest.mark.parametrize("name", [*NO_NAMES, *OTHER_NAMES])
def test_what_no_request_has_as_its_host_is_no_name(name):
    with pytest.raises(ConfigError, match=r"--allow-host .*: not the name of a host; write translate\.example\.org"):
        ServeArguments(allow_host=[name]).options()


def test_a_name_of_a_host_is_compared_as_browsers_send_it():
    names = {
        "Translate.Example.org": "translate.example.org",
        "my_service": "my_service",
        "übersetzen.example": "xn--bersetzen-p9a.example",
        "번역.한국": "xn--lk3bw5o.xn--3e0b707e",
        "xn--strae-oqa.example": "xn--strae-oqa.example",
        "::1": "::1",
    }
    hosts = ServeArguments(allow_host=[unicodedata.normalize("NFD", name) for name in names]).options()
    written = set(names.values())
    assert written <= hosts.address.public.hosts


def test_a_page_of_another_origin_learns_nothing_about_keys(client):
    page = of_page("http://evil.example", "cross-site")
    wrong, right = ({**page, "authorization": f"Bearer {key}"} for key in ("wrong", "dg_000000000000_x"))
    answers = [client.post("/v1/translate", json={"text": "a"}, headers=headers) for headers in (wrong, right)]
    assert [answer.status_code for answer in answers] == [403, 403]


@pytest.mark.parametrize("origin", ["http://[", "http://[::1", "https://", "null"])
def test_a_malformed_origin_is_a_foreign_one(client, origin):
    answer = client.post("/v1/translate", json={"text": "Hello", "target": "ko"}, headers={"Origin": origin})
    assert (answer.status_code, answer.headers["content-type"]) == (403, "application/problem+json")


def test_what_origins_and_proxies_are_is_read_as_browsers_and_the_server_write_it():
    public = public_address(origins=["https://App.example:443"], proxies=["10.0.0.5/8", "127.0.0.1"])
    assert public.origins == {"https://app.example"}
    assert public.proxies == ("10.0.0.0/8", "127.0.0.1")
    with pytest.raises(ConfigError, match="not an origin"):
        public_address(origins=["http://["])
