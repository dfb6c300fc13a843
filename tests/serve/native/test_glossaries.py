"""Glossaries that are kept: `/v1/glossaries`, translations by their id, their limits, and to whom they belong."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path

import httpx
import pytest

from dragoman.serve.models.models import Models
from dragoman.serve.store.database import ServiceState
from dragoman.serve.store.glossaries import Glossaries, GlossaryLimit, GlossaryLimits, UnknownGlossary
from dragoman.serve.work.service import Service
from dragoman.text.terms.glossary import Glossary
from live_server import live, server_fixtures
from postgresql_server import postgresql

service, url, client = server_fixtures()

PAIR = {"source": "en", "target": "ko"}
TERMS = {"server": "서버", "red button": ["적색 단추", "빨간 단추"]}
TBX = """<tbx type="TBX-Basic" style="dca" xml:lang="en"><text><body><conceptEntry id="c1">
<langSec xml:lang="en"><termSec><term>server</term></termSec></langSec>
<langSec xml:lang="ko"><termSec><term>서버</term></termSec></langSec></conceptEntry></body></text></tbx>"""


def made(client, **body) -> dict:
    answer = client.post("/v1/glossaries", json={"name": "IT", **PAIR, **body})
    assert answer.status_code == 201, answer.text
    return answer.json()


def terms_of(client, glossary, **pair) -> dict:
    return client.get(f"/v1/glossaries/{glossary}/entries", params={**PAIR, **pair}).json()["entries"]


def test_a_glossary_is_kept_listed_renamed_and_deleted(client):
    one = made(client, entries=TERMS)
    assert one["dictionaries"] == [{**PAIR, "entries": 2}]
    assert one["created"].endswith("Z")
    path = f"/v1/glossaries/{one['id']}"
    assert client.get(path).json() == one
    assert one in client.get("/v1/glossaries").json()["glossaries"]
    assert client.patch(path, json={"name": " New  name "}).json() == {**one, "name": "New name"}
    assert client.delete(path).status_code == 204
    for answer in (client.get(path), client.delete(path), client.get(f"{path}/entries", params=PAIR)):
        assert (answer.status_code, answer.json()["type"]) == (404, "urn:dragoman:problem:unknown-glossary")
    assert one["id"] not in [each["id"] for each in client.get("/v1/glossaries").json()["glossaries"]]


@pytest.mark.parametrize(
    ("form", "text", "expected"),
    [
        (
            "tsv",
            "\ufeff# ours\nserver\t서버\nred button\t적색 단추\t빨간 단추\n",
            {"server": ["서버"], "red button": TERMS["red button"]},
        ),
        (
            "csv",
            'server,서버\r\n"red, button",적색 단추,빨간 단추\r\n',
            {"server": ["서버"], "red, button": TERMS["red button"]},
        ),
        ("tbx", TBX, {"server": ["서버"]}),
        ("csv", "#tag,태그\n", {"#tag": ["태그"]}),
        ("csv", "Source,Target\nEnglish,Korean\n", {"English": ["Korean"]}),
        ("tsv", 'English\tKorean\nEnglish\tKorean\n"""a, b"""\t"c"\n', {"English": ["Korean"], '"a, b"': ['"c"']}),
        ("tsv", "# none\n\\#tag\t태그\n", {"#tag": ["태그"]}),
    ],
)
def test_the_formats_of_a_file(client, form, text, expected):
    one = made(client, text=text, format=form)
    assert terms_of(client, one["id"]) == expected
    for again in ("tsv", "csv"):
        path = f"/v1/glossaries/{one['id']}/entries"
        file = client.get(path, params={**PAIR, "format": again})
        assert terms_of(client, made(client, text=file.text, format=again)["id"]) == expected


def test_a_dictionary_is_replaced_added_and_deleted(client):
    one = made(client, entries=TERMS)
    path = f"/v1/glossaries/{one['id']}/entries"
    changed = client.put(path, json={**PAIR, "entries": {"client": "클라이언트"}}).json()
    assert changed == {**one, "dictionaries": [{**PAIR, "entries": 1}]}
    assert terms_of(client, one["id"]) == {"client": ["클라이언트"]}
    back = {"source": "ko", "target": "en"}
    added = client.put(path, json={**back, "text": "서버\tserver"}).json()
    assert added["dictionaries"] == [{**PAIR, "entries": 1}, {**back, "entries": 1}]
    assert client.delete(path, params=PAIR).status_code == 204
    assert client.get(path, params=PAIR).status_code == client.delete(path, params=PAIR).status_code == 404
    assert terms_of(client, one["id"], **back) == {"서버": ["server"]}


def test_translations_follow_a_glossary_by_its_id(client, offline):
    text, glossary = "Restart the server.", {"server": "기계"}
    one = made(client, entries=glossary)["id"]
    expected = offline["en-ko"].translate(text, glossary=glossary)
    plain = client.post("/v1/translate", json={"text": text, **PAIR, "glossary_id": one}).json()["translations"][0]
    assert plain["text"] == expected.text
    assert plain["terms"] == [{"source": "server", "target": "기계", "satisfied": True}]
    own = {"server": "서버"}
    both = client.post("/v1/translate", json={"text": text, **PAIR, "glossary_id": one, "glossary": own}).json()
    assert both["translations"][0]["text"] == offline["en-ko"].translate(text, glossary=own).text
    stream = client.post("/v1/translate/stream", json={"text": text, **PAIR, "glossary_id": one})
    assert json.loads(stream.text.strip().rpartition("data: ")[2])["text"] == expected.text
    page = client.post("/v1/translate", json={"text": f"<p>{text}</p>", **PAIR, "glossary_id": one, "format": "html"})
    assert page.json()["translations"][0]["terms"] == plain["terms"]
    changed = client.put(f"/v1/glossaries/{one}/entries", json={**PAIR, "entries": own})
    assert changed.status_code == 200
    new = client.post("/v1/translate", json={"text": text, **PAIR, "glossary_id": one}).json()
    assert new["translations"][0]["terms"][0]["target"] == "서버"


def test_a_glossary_without_the_languages_of_a_text_is_refused(client):
    one = made(client, entries=TERMS)["id"]
    body = {"text": "안녕하세요", "source": "ko", "target": "en", "glossary_id": one}
    for path in ("/v1/translate", "/v1/translate/stream"):
        answer = client.post(path, json=body)
        assert answer.status_code == 400
        assert "no terms from ko into en; it has en → ko" in answer.json()["detail"]


@pytest.mark.parametrize(
    ("body", "status", "part"),
    [
        ({"text": "server 서버"}, 400, "entries:1: no tab"),
        ({"text": "# nothing\n"}, 400, "no terms"),
        ({"text": "server", "format": "csv"}, 400, "entries:1: one column"),
        ({"text": 'a,"b', "format": "csv"}, 400, "entries:1: not CSV"),
        ({"text": "<tbx", "format": "tbx"}, 400, "not well-formed XML"),
        ({"text": '<!DOCTYPE t [<!ENTITY a "b">]><tbx/>', "format": "tbx"}, 400, "declares the entity"),
        ({"text": TBX, "format": "tbx", "source": "ko", "target": "en", "name": "\0"}, 400, "name"),
        ({"text": "a\t\ud800"}, 400, "surrogate"),
        ({"entries": {"a": "\ud800"}}, 400, "surrogate"),
        ({"entries": {}}, 400, "no terms"),
        ({"entries": {"Word": "말", "word": "낱말"}}, 400, "differ only in case"),
        ({"entries": {"a": "b"}, "text": "a\tb"}, 400, "give one of them"),
        ({}, 400, "give one of them"),
        ({"entries": {"a": "b"}, "target": "de"}, 400, "'de' is not served"),
        ({"entries": {"a": "b"}, "source": ""}, 400, "is not served"),
        ({"entries": {"a": "b"}, "name": "  "}, 400, "name"),
        ({"entries": {"a": "b"}, "name": "x" * 201}, 400, "name"),
        ({"entries": {f"term {n}": "말" for n in range(20_001)}}, 413, ""),
    ],
)
def test_bad_input_is_a_problem(client, body, status, part):
    answer = client.post("/v1/glossaries", content=json.dumps({"name": "x", **PAIR, **body}))
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert part in answer.json()["detail"]


@pytest.mark.parametrize("glossary", ["none", "00000000-0000-0000-0000-000000000000", "a'b"])
def test_an_unknown_glossary_is_404(client, glossary):
    answer = client.post("/v1/translate", content=json.dumps({"text": "a", **PAIR, "glossary_id": glossary}))
    assert (answer.status_code, answer.json()["type"]) == (404, "urn:dragoman:problem:unknown-glossary")


@pytest.mark.slow
def test_what_a_service_keeps_is_there_after_it_was_started_again(tmp_path: Path):
    for run in range(2):
        service = Service(Models(["en-ko"], threads=1), state=ServiceState(tmp_path / "state"))
        with live(service) as url, httpx.Client(base_url=url, timeout=120) as client:
            if run == 0:
                one = made(client, entries=TERMS)
            assert client.get(f"/v1/glossaries/{one['id']}").json() == one


@pytest.mark.slow
def test_a_glossary_belongs_to_its_key(tmp_path: Path):
    service = Service(Models(["en-ko"], threads=1), state=ServiceState(tmp_path / "state"))
    keys = {name: service.keys.create(name)[1] for name in ("one", "other")}
    with live(service) as url:
        one, other = (
            httpx.Client(base_url=url, timeout=120, headers={"Authorization": f"Bearer {key}"}) for key in keys.values()
        )
        with one, other:
            glossary = made(one, entries=TERMS)["id"]
            body = {"text": "Restart the server.", **PAIR, "glossary_id": glossary}
            assert one.post("/v1/translate", json=body).status_code == 200
            assert other.get("/v1/glossaries").json() == {"glossaries": []}
            path = f"/v1/glossaries/{glossary}"
            answers = [
                other.post("/v1/translate", json=body),
                other.get(path),
                other.delete(path),
                other.get(f"/v3/glossaries/{glossary}"),
            ]
            assert [answer.status_code for answer in answers] == [404] * 4
            assert one.get(path).status_code == 200
            assert httpx.get(f"{url}{path}", timeout=120).status_code == 401


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])
def kept(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Glossaries]:
    with ExitStack() as stack:
        url = stack.enter_context(postgresql()) if request.param == "postgresql" else None
        state = stack.enter_context(closing(ServiceState(tmp_path, url)))
        yield Glossaries(state.database, GlossaryLimits(glossaries=3, entries=10, bytes=400))


EN_KO, SOME = ("en", "ko"), Glossary.of({"server": "서버"})


def test_only_its_sender_sees_a_glossary(kept):
    one = kept.create("a", "own", {EN_KO: SOME}).id
    assert [each.id for each in kept.owned("a")] == [one]
    assert kept.owned("b") == []
    for call in (
        lambda: kept.get("b", one),
        lambda: kept.dictionaries("b", one),
        lambda: kept.entries("b", one, EN_KO),
        lambda: kept.rename("b", one, "mine"),
        lambda: kept.put("b", one, {EN_KO: SOME}),
        lambda: kept.delete("b", one),
        lambda: kept.delete_dictionary("b", one, EN_KO),
    ):
        with pytest.raises(UnknownGlossary, match="there is no glossary"):
            call()
    assert kept.get("a", one).name == "own"
    assert kept.entries("a", one, ("en-US", "ko-KR")) == SOME


def test_the_number_and_the_size_of_glossaries_are_limited_for_each_sender(kept):
    ids = [kept.create("a", str(n), {EN_KO: SOME}).id for n in range(3)]
    with pytest.raises(GlossaryLimit, match="3 glossaries already"):
        kept.create("a", "one more", {EN_KO: SOME})
    kept.create("b", "of another", {EN_KO: SOME})
    with pytest.raises(GlossaryLimit, match="11 entries; a dictionary has at most 10"):
        kept.put("a", ids[0], {EN_KO: Glossary.of({f"t{n}": "x" for n in range(11)})})
    large = Glossary.of({"server": "서" * 200})
    with pytest.raises(GlossaryLimit, match="bytes, of 400"):
        kept.put("a", ids[0], {EN_KO: large})
    kept.delete("a", ids[1])
    with pytest.raises(GlossaryLimit):
        kept.create("a", "large", {EN_KO: large})
    assert [one.name for one in kept.owned("a")] == ["0", "2"]
    assert kept.entries("a", ids[0], EN_KO) == SOME


def test_entries_that_are_added_at_the_same_time_are_all_there(kept):
    one = kept.create("a", "own", {EN_KO: SOME}).id
    parts = [Glossary.of({f"t{n}": f"말{n}"}) for n in range(8)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda part: kept.put("a", one, {EN_KO: part}, merge=True), parts))
    assert {entry.term for entry in kept.entries("a", one, EN_KO).entries} == {"server", *(f"t{n}" for n in range(8))}
