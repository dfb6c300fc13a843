"""Whose a request is: which address is believed, what a browser is, and the service behind a proxy, under a path."""

import asyncio
import shutil
import ssl
import subprocess
import time
from pathlib import Path
from typing import Any

import httpx
import pytest

from dragoman.cli.verbs.serve import ServeArguments
from dragoman.errors import ConfigError
from dragoman.serve.app import make_app
from dragoman.serve.http.call import COOKIE
from dragoman.serve.http.origins import PublicAddress, public_address
from live_server import live, server_fixtures
from ports import held_port

service, url, client = server_fixtures()

GLOSSARY = {"name": "mine", "source": "en", "target": "ko", "entries": {"a": "b"}}
PROXY = public_address(proxies=["127.0.0.1", "10.0.0.0/8"])


def glossaries(service: Any, public: PublicAddress, address: str, headers: dict[str, str], create: bool = False) -> int:
    """How many glossaries a client at an address sees; it creates one before if it is to."""
    transport = httpx.ASGITransport(make_app(service, public), client=(address, 1))

    async def ask() -> int:
        async with httpx.AsyncClient(
            transport=transport, base_url="http://localhost", headers=headers, timeout=60
        ) as client:
            if create:
                assert (await client.post("/v1/glossaries", json=GLOSSARY)).status_code == 201
            return len((await client.get("/v1/glossaries")).json()["glossaries"])

    return asyncio.run(ask())


def test_a_forwarded_address_is_believed_from_a_trusted_proxy_only(service):
    forwarded = {"x-forwarded-for": "203.0.113.9"}
    nobody = PublicAddress()
    assert glossaries(service, nobody, "127.0.0.1", forwarded, create=True) == 1
    assert glossaries(service, nobody, "127.0.0.1", {}) == 1  # the header changed nothing
    assert glossaries(service, nobody, "203.0.113.9", {}) == 0
    assert glossaries(service, PROXY, "127.0.0.1", forwarded, create=True) == 1
    assert glossaries(service, nobody, "203.0.113.9", {}) == 1
    assert glossaries(service, PROXY, "10.1.2.3", forwarded) == 1
    assert glossaries(service, PROXY, "192.0.2.1", forwarded) == 0  # no proxy of ours: its own address counts
    chosen = {"x-forwarded-for": "203.0.113.9, 198.51.100.7"}  # the client wrote the first, the proxy added the second
    assert glossaries(service, PROXY, "127.0.0.1", chosen) == 0


@pytest.mark.parametrize(
    ("header", "address"),
    [
        ("203.0.113.9", "203.0.113.9"),
        (" 203.0.113.9:4711 ", "203.0.113.9"),
        ("[2001:DB8::0:1]:4711", "2001:db8::1"),
        ("2001:db8:0::1", "2001:db8::1"),
        ("::ffff:203.0.113.9", "203.0.113.9"),
        ("fe80::1%eth0", "fe80::1"),
        ("203.0.113.9, 10.0.0.7, 127.0.0.1", "203.0.113.9"),
        ("10.0.0.7, 127.0.0.1", "10.0.0.7"),
        ("203.0.113.9, not an address", "127.0.0.1"),
        *((text, "127.0.0.1") for text in ("unknown", "_hidden", "ad" * 500, "1.2.3", "0x7f.1", "localhost")),
        *((text, "127.0.0.1") for text in ("[::1", ",", "")),
    ],
)  # fmt: skip
def test_what_a_proxy_forwards_is_an_address_or_is_not_believed(header, address):
    headers = [(b"x-forwarded-for", header.encode()), (b"x-forwarded-proto", b"gopher")]
    scope = PROXY.client({"type": "http", "client": ("127.0.0.1", 1), "scheme": "http", "headers": headers})
    assert (scope["client"][0], scope["scheme"]) == (address, "http")


def test_hops_in_several_headers_are_one_list_and_only_a_proxy_says_the_scheme():
    headers = [(b"x-forwarded-for", b"198.51.100.7"), (b"x-forwarded-for", b"203.0.113.9")]
    headers.append((b"x-forwarded-proto", b"https"))
    scope = {"type": "http", "client": ("::ffff:127.0.0.1", 1), "scheme": "http", "headers": headers}
    behind = PROXY.client(scope)
    assert (behind["client"][0], behind["scheme"]) == ("203.0.113.9", "https")
    stranger = {**scope, "client": ("192.0.2.1", 1)}
    assert PROXY.client(stranger) is stranger


@pytest.mark.parametrize("proxy", ["::ffff:10.0.0.1", "::ffff:10.0.0.0/104", "10.0.0.1"])
def test_a_proxy_of_ipv4_is_the_same_within_ipv6(proxy):
    public = public_address(proxies=[proxy])
    scope = {"type": "http", "scheme": "http", "headers": [(b"x-forwarded-for", b"203.0.113.9")]}
    for peer in ("10.0.0.1", "::ffff:10.0.0.1"):
        assert public.client({**scope, "client": (peer, 1)})["client"][0] == "203.0.113.9"


@pytest.mark.parametrize("proxy", ["*", "localhost", "10.0.0.0/99", ""])
def test_a_proxy_is_an_address_or_a_network(proxy):
    with pytest.raises(ConfigError, match="--trusted-proxy"):
        ServeArguments(trusted_proxy=[proxy]).options()


@pytest.mark.parametrize("path", ["dragoman", "/a b", "/a?b", "http://a/b"])
def test_a_root_path_is_a_path(path):
    with pytest.raises(ConfigError, match="--root-path"):
        ServeArguments(root_path=path).options()


def test_a_browser_without_a_key_is_its_cookie_and_a_program_its_address(url):
    with httpx.Client(base_url=url, timeout=60) as one, httpx.Client(base_url=url, timeout=60) as other:
        shown = one.get("/")
        [cookie] = shown.headers.get_list("set-cookie")
        assert cookie.startswith(f"{COOKIE}=")
        assert {"HttpOnly", "SameSite=lax", "Path=/"} <= set(cookie.split("; "))
        assert "set-cookie" not in one.get("/").headers  # it has one
        other.get("/")
        assert one.cookies[COOKIE] != other.cookies[COOKIE]
        created = one.post("/v1/glossaries", json={**GLOSSARY, "name": "of a browser"}).json()["id"]
        assert one.get(f"/v1/glossaries/{created}").status_code == 200
        assert other.get(f"/v1/glossaries/{created}").status_code == 404
        assert httpx.get(f"{url}/v1/glossaries/{created}", timeout=60).status_code == 404
        forged = httpx.get(f"{url}/v1/glossaries/{created}", cookies={COOKIE: "short"}, timeout=60)
        assert forged.status_code == 404


def test_a_service_with_keys_needs_no_cookie(service, tmp_path):
    from dragoman.serve.models.models import Models
    from dragoman.serve.store.database import ServiceState
    from dragoman.serve.work.service import Service

    locked = Service(Models(threads=1), state=ServiceState(tmp_path))
    locked.keys.create("one")
    transport = httpx.ASGITransport(make_app(locked))

    async def ask() -> httpx.Response:
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost", timeout=60) as client:
            refused = await client.get("/v1/models")
            assert (refused.status_code, refused.headers["www-authenticate"]) == (401, 'Bearer realm="dragoman"')
            return await client.get("/")

    try:
        assert "set-cookie" not in asyncio.run(ask()).headers
    finally:
        locked.close()


@pytest.mark.parametrize("prefix", ["/team/dragoman", ""])
def test_under_a_path_of_a_proxy_that_leaves_it_there_or_takes_it_off(service, prefix):
    public = public_address(root="/team/dragoman/")
    transport = httpx.ASGITransport(make_app(service, public))

    async def ask() -> None:
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost", timeout=60) as client:
            page = await client.get(f"{prefix}/")
            assert page.status_code == 200
            assert "Path=/team/dragoman/" in page.headers["set-cookie"]
            assert (await client.get(f"{prefix}/docs")).status_code == 200
            assert (await client.get(f"{prefix}/openapi.json")).json()["servers"] == [{"url": "/team/dragoman"}]
            answer = await client.post(f"{prefix}/v1/translate", json={"text": "Hello", "target": "ko"})
            assert answer.status_code == 200
            bare = await client.get("/team/dragoman")
            assert (bare.status_code, bare.headers["location"]) == (308, "/team/dragoman/")
            carried = await client.get("/team/dragoman?text=a%20b")
            assert carried.headers["location"] == "/team/dragoman/?text=a%20b"
            slashed = await client.get(f"{prefix}/v1/models/?model=a")
            assert (slashed.status_code, slashed.headers["location"]) == (307, "/team/dragoman/v1/models?model=a")

    asyncio.run(ask())


def test_no_redirect_is_to_another_host():
    assert PublicAddress().redirected("http://localhost//evil.example/?a=b") == "/evil.example/?a=b"


def test_addresses_that_are_answered_have_the_path_of_the_proxy(service):
    with live(service, public=public_address(root="/team")) as url:
        form = {"files": {"file": ("a.txt", "Hello")}, "timeout": 60}
        created = httpx.post(f"{url}/team/v1/documents", data={"target": "ko"}, **form)
        assert created.headers["location"].startswith("/team/v1/documents/")
        languages = {"source": "en", "target": "ko"}
        translated = httpx.post(f"{url}/team/translate_file", data=languages, **form).json()["translatedFileUrl"]
        assert translated.startswith(f"{url}/team/download_file/")
        assert httpx.get(translated, timeout=60).status_code == 200


NGINX = """
daemon off; pid {folder}/pid; error_log {folder}/error.log; worker_processes 1;
events {{ worker_connections 64; }}
http {{
  access_log off; client_body_temp_path {folder}/b; proxy_temp_path {folder}/p; fastcgi_temp_path {folder}/f;
  uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
  server {{
    listen 127.0.0.1:{port} ssl; server_name localhost;
    ssl_certificate {folder}/certificate; ssl_certificate_key {folder}/key;
{location}
  }}
}}
"""


def documented() -> str:
    """The location that the documentation gives to nginx."""
    text = (Path(__file__).parents[2] / "docs" / "serving.md").read_text(encoding="utf-8")
    block = text.split("```nginx\n")[1].split("```")[0]
    return block[block.index("    location") : block.rindex("}")]


@pytest.mark.slow
@pytest.mark.skipif(not (shutil.which("nginx") and shutil.which("openssl")), reason="nginx or openssl is not here")
def test_behind_nginx_with_tls_as_documented(tmp_path):
    """The page, its cookie, a write from it, the address of a client, an upload and a stream."""
    from dragoman.serve.models.models import Models
    from dragoman.serve.work.service import Service

    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
         "-addext", "subjectAltName=DNS:localhost", "-keyout", tmp_path / "key", "-out", tmp_path / "certificate"],
        check=True, capture_output=True,
    )  # fmt: skip
    served = Service(Models(["en-ko"], threads=1))
    public = public_address(["translate.example.org"], proxies=["127.0.0.1"], root="/dragoman")
    with live(served, public=public) as url, held_port() as port:
        location = documented().replace("127.0.0.1:8080", url.removeprefix("http://"))
        configuration = tmp_path / "nginx.conf"
        configuration.write_text(NGINX.format(folder=tmp_path, port=port, location=location))
        proxy = subprocess.Popen(["nginx", "-c", configuration, "-e", tmp_path / "error.log"])
        try:
            trust = ssl.create_default_context(cafile=str(tmp_path / "certificate"))
            outside = f"https://localhost:{port}/dragoman"
            with httpx.Client(verify=trust, timeout=120) as client:
                _until_answered(client, f"{outside}/healthz", proxy)
                page = client.get(f"{outside}/")
                assert {"Secure", "Path=/dragoman/"} <= set(page.headers["set-cookie"].split("; "))
                script = page.text.split('<script src="')[1].split('"')[0]
                assert client.get(f"{outside}/{script}").status_code == 200
                body = {"text": "Hello", "target": "ko"}
                mine = {"origin": f"https://localhost:{port}"}
                assert client.post(f"{outside}/v1/translate", json=body, headers=mine).status_code == 200
                foreign = {"origin": "https://evil.example"}
                assert client.post(f"{outside}/v1/translate", json=body, headers=foreign).status_code == 403
                assert client.post(f"{outside}/v1/glossaries", json=GLOSSARY).status_code == 201
                forged = {"x-forwarded-for": "203.0.113.9"}
                client.cookies.clear()
                assert client.post(f"{outside}/v1/glossaries", json=GLOSSARY, headers=forged).status_code == 201
                assert len(served.glossaries.owned("127.0.0.1")) == 1
                assert served.glossaries.owned("203.0.113.9") == []
                large = {"file": ("a.txt", "Hello.\n" * 300_000)}
                uploaded = client.post(f"{outside}/v1/documents", data={"target": "ko"}, files=large)
                assert uploaded.status_code == 202, uploaded.text
                assert client.delete(f"https://localhost:{port}{uploaded.headers['location']}").status_code == 204
                with client.stream("POST", f"{outside}/v1/translate/stream", json=body) as stream:
                    assert "event: done" in "".join(stream.iter_text())
        finally:
            proxy.terminate()
            proxy.wait(30)


def _until_answered(client: httpx.Client, url: str, proxy: "subprocess.Popen[bytes]") -> None:
    end = time.monotonic() + 30
    while time.monotonic() < end:
        assert proxy.poll() is None
        try:
            if client.get(url).status_code == 200:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.05)
    raise AssertionError("nginx does not answer")
