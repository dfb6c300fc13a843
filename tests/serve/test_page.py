"""The page's files: what they may load, how they are cached, in which language the first paint is; no browser."""

import gzip
import json
import re
from pathlib import Path

import pytest

import dragoman.serve.page as page

WEB = Path(page.__file__).parent / "web"
ADDRESS = re.compile(r'(?:src|href)="([^"]*)"')
SCRIPTS = sorted(WEB.glob("*.js"))


def test_its_assets_are_small_its_own_and_kept_for_ever(client):
    shown = client.get("/", headers={"accept-encoding": "identity"})
    assert shown.headers["content-type"] == "text/html; charset=utf-8"
    addresses = {one for one in ADDRESS.findall(shown.text) if not one.startswith("#")} - {"docs"}
    assert all(one.startswith("page/") for one in addresses)
    total = len(shown.content)
    for address in addresses:
        asset = client.get(address, headers={"accept-encoding": "identity"})
        assert asset.headers["cache-control"] == "public, max-age=31536000, immutable"
        assert asset.content == (WEB / Path(address).name).read_bytes()
        total += len(asset.content)
    assert {Path(one).name for one in addresses} == {
        one.name for one in WEB.iterdir() if one.suffix in (".js", ".css", ".svg")
    }
    assert total < 300_000


def test_it_may_run_nothing_but_its_own_files(client):
    shown = client.get("/")
    policy = dict(part.split(" ", 1) for part in shown.headers["content-security-policy"].split("; "))
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
    assert "unsafe" not in str(policy)
    assert shown.headers["x-content-type-options"] == "nosniff"
    scripts = re.findall(r"<script\b([^>]*)>", shown.text)
    assert all("src=" in one or 'type="application/json"' in one for one in scripts)
    assert not re.search(r'<style|\sstyle="|\son\w+="', shown.text)
    source = "".join(one.read_text(encoding="utf-8") for one in SCRIPTS).replace("http://www.w3.org/2000/svg", "")
    assert not any(sign in source for sign in ("innerHTML", "eval(", "http:", "https:"))


def test_it_is_asked_for_again_with_its_tag(client):
    first = client.get("/")
    again = client.get("/", headers={"if-none-match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["content-security-policy"] == first.headers["content-security-policy"]
    assert client.head("/").headers["etag"] == first.headers["etag"]
    assert client.get("/page/old/main.js").headers["cache-control"] == "no-cache"
    for wrong in ("/page/x/nothing.js", "/page/x/texts.en.json", "/page/x/..%2Fpage.py"):
        assert client.get(wrong).status_code == 404


def test_compressed_it_is_the_same(client):
    plain = client.get("/", headers={"accept-encoding": "identity"})
    with client.stream("GET", "/", headers={"accept-encoding": "gzip"}) as packed:
        assert gzip.decompress(b"".join(packed.iter_raw())) == plain.content
    assert "Accept-Encoding" in plain.headers["vary"]


@pytest.mark.parametrize(
    ("header", "language"),
    [
        ("", "en"),
        ("ko-KR,ko;q=0.9,en-US;q=0.8", "ko"),
        ("de,en;q=0.5,ko;q=0.4", "en"),
        ("en;q=0.1, KO ; q=x", "en"),
        ("fr, ko;q=0", "en"),
        ("*", "en"),
    ],
)
def test_the_first_paint_is_in_the_language_of_the_browser(client, header, language):
    assert page.preferred(header) == language
    shown = client.get("/", headers={"accept-language": header}).text
    texts = json.loads((WEB / f"texts.{language}.json").read_text(encoding="utf-8"))
    assert f'<html lang="{language}"' in shown
    assert f'data-text="tab_text" aria-current="page">{texts["tab_text"]}</a>' in shown
    assert f'placeholder="{texts["hint"]}"' in shown


def test_every_text_is_in_both_languages_with_the_same_names_and_is_used():
    english, korean = (json.loads((WEB / f"texts.{one}.json").read_text(encoding="utf-8")) for one in ("en", "ko"))
    assert english.keys() == korean.keys()
    for key, text in english.items():
        assert sorted(re.findall(r"{\w+}", text)) == sorted(re.findall(r"{\w+}", korean[key])), key
    source = "".join(one.read_text(encoding="utf-8") for one in [*SCRIPTS, WEB / "index.html"])
    used = set(re.findall(r'data-(?:text|label|hint)="(\w+)"|\bt\("(\w+)"', source))
    assert {one or other for one, other in used} <= english.keys()
    built = ("warn_", "status_")
    assert not [key for key in english if not key.startswith(built) and f'"{key}"' not in source]


def test_it_shows_what_the_service_has(client):
    features = re.search(r'data-features="([^"]*)"', client.get("/").text)
    assert features
    assert {"/v1/translate", "/v1/alternatives"} <= set(features[1].split())


def test_a_memory_is_shown_only_where_there_is_one(client):
    assert client.get("/v1/memory").status_code == 404
    assert "/v1/memory" not in client.get("/").text


def test_the_card_of_a_model_is_that_of_its_folder(client, service):
    answer = client.get("/v1/models/ko-en/card")
    assert answer.headers["content-type"].startswith("text/markdown")
    assert answer.content == (service.models.named("ko-en").folder / "README.md").read_bytes()
    missing = client.get("/v1/models/nothing/card")
    assert missing.status_code == 404
    assert "en-ko, ko-en" in missing.json()["detail"]
