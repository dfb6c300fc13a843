"""`/v1/memory`: what is in the memory is what translations are, and what is added is there for the next request."""

import csv
import json
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import httpx
import pytest

from dragoman.errors import ConfigError, DataError
from dragoman.memory import Memory, MemoryUnit
from dragoman.serve.models.memories import Memories
from dragoman.serve.models.models import Models, ServedPair
from dragoman.serve.work.service import Service, ServiceLimits
from live_server import live, server_fixtures

service, url, client = server_fixtures()

UNITS = [
    MemoryUnit("Press the red button.", "빨간 단추를 누르십시오.", "manual"),
    MemoryUnit("Page 3", "3쪽", "manual"),
]
PAIR = {"source": "en", "target": "ko"}


@pytest.fixture(scope="module")
def remembering(tmp_path_factory) -> Iterator[httpx.Client]:
    path = tmp_path_factory.mktemp("memory") / "own.db"
    memory = Memory.open(path, "en", "ko", create=True)
    memory.add(UNITS)
    memory.close()
    models = Models(threads=1, exact=True)
    service = Service(models, ServiceLimits(characters=20_000, texts=100), memories=Memories(path, models.pairs))
    with live(service) as url, httpx.Client(base_url=url, timeout=120) as client:
        yield client


def translate(client, **body) -> list[dict]:
    answer = client.post("/v1/translate", json={**PAIR, **body})
    assert answer.status_code == 200, answer.text
    return answer.json()["translations"]


def search(client, text, **body) -> list[dict]:
    answer = client.post("/v1/memory/search", json={"text": text, **PAIR, **body})
    assert answer.status_code == 200, answer.text
    return answer.json()["matches"]


def test_translations_are_those_of_the_memory_where_it_has_them(remembering, offline):
    own = offline["en-ko"].translate("Good morning.").text
    found = translate(remembering, text=["Press the red button.", "Page 12", "Good morning.", "Page 4\nGood morning."])
    assert [(one["text"], one["match"]) for one in found] == [
        ("빨간 단추를 누르십시오.", 100),
        ("12쪽", 99),
        (own, None),
        (f"4쪽\n{own}", None),
    ]
    (without,) = translate(remembering, text="Press the red button.", memory=False)
    assert without["text"] == offline["en-ko"].translate("Press the red button.").text
    (page,) = translate(remembering, text="<p>Press the <b>red</b> button.</p>", format="html")
    assert page["text"] == "<p><b>빨간</b> 단추를 누르십시오.</p>"


def test_other_languages_are_not_of_this_memory(remembering, offline):
    text = "빨간 단추를 누르십시오."
    (found,) = translate(remembering, text=text, source="ko", target="en")
    assert found["text"] == offline["ko-en"].translate(text).text


def test_search_finds_equal_adapted_and_similar_sources(remembering):
    assert search(remembering, " Press  the red button. ") == [
        {"score": 100, "source": UNITS[0].source, "target": UNITS[0].target, "origin": "manual"}
    ]
    assert [(one["score"], one["target"]) for one in search(remembering, "Page 7")] == [(99, "7쪽")]
    assert search(remembering, "Something else entirely") == []


def test_similar_sources_are_those_of_the_memory(remembering):
    pytest.importorskip("rapidfuzz")
    (found,) = search(remembering, "Press the green button.", threshold=60)
    assert found["source"] == UNITS[0].source
    assert 60 <= found["score"] < 100


def test_what_is_added_is_translated_found_counted_and_exported(remembering):
    unit = {"source": "Close the\tlid, please.", "target": "뚜껑을 닫아 주세요."}
    before = remembering.get("/v1/memory").json()
    body = {**PAIR, "units": [unit, {"source": "Page 3", "target": "3쪽"}], "origin": "Kim"}
    assert remembering.post("/v1/memory/units", json=body).json() == {"units": 2, "new": 1}
    assert translate(remembering, text="Close the lid, please.")[0]["match"] == 100
    assert search(remembering, "Close the lid, please.")[0]["origin"] == "Kim"
    after = remembering.get("/v1/memory").json()
    assert (after["name"], after["grows"]) == ("own.db", True)
    assert after["parts"][0]["units"] == before["parts"][0]["units"] + 1
    table = remembering.get("/v1/memory/export", params={**PAIR, "format": "tsv"})
    rows = list(csv.reader(StringIO(table.text), delimiter="\t"))
    assert ["Close the lid, please.", "뚜껑을 닫아 주세요."] in rows
    assert len(rows) == after["parts"][0]["units"]
    tmx = remembering.get("/v1/memory/export", params=PAIR)
    assert "<seg>뚜껑을 닫아 주세요.</seg>" in tmx.text
    assert tmx.headers["content-disposition"] == 'attachment; filename="memory-en-ko.tmx"'


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "part"),
    [
        ("POST", "/search", {"text": "a", "threshold": 20}, 400, "threshold"),
        ("POST", "/search", {"text": "a", "target": "de"}, 400, "'de' is not served"),
        ("POST", "/search", {"text": "a", "source": ""}, 400, "is not served"),
        ("POST", "/search", {"text": "\ud800"}, 400, "surrogate"),
        ("POST", "/search", {"text": "a" * 20_001}, 413, "send at most"),
        ("POST", "/units", {"units": [{"source": "a", "target": " "}]}, 400, "blank"),
        ("POST", "/units", {"units": [{"source": "a\nb", "target": "c"}]}, 400, "line break"),
        ("POST", "/units", {"units": [{"source": "a", "target": "b\u2028c"}]}, 400, "line break"),
        ("POST", "/units", {"units": [{"source": "a", "target": "b\0"}]}, 400, "null character"),
        ("POST", "/units", {"units": [{"source": "a", "target": "b"}], "origin": "\0"}, 400, "null character"),
        ("POST", "/units", {"units": [{"source": "a"}]}, 400, "units"),
        ("POST", "/units", {"units": [{"source": "a", "target": "b"}] * 101}, 413, "send at most 100"),
        ("GET", "/export?source=en", None, 400, "target"),
        ("GET", "/export?source=en&target=ko&format=xls", None, 400, "format"),
        ("GET", "/export?source=en&target=fr", None, 400, "'fr' is not served"),
    ],
)
def test_bad_input_is_a_problem(remembering, method, path, body, status, part):
    content = None if body is None else json.dumps({**PAIR, **body})
    answer = remembering.request(method, f"/v1/memory{path}", content=content)
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert part in answer.json()["detail"]


def test_a_service_without_a_memory_says_so(client):
    for answer in (client.get("/v1/memory"), client.post("/v1/memory/search", json={"text": "a", **PAIR})):
        assert (answer.status_code, answer.json()["type"]) == (404, "urn:dragoman:problem:no-memory")


def test_a_file_of_another_format_is_only_read(tmp_path: Path):
    path = tmp_path / "own.tsv"
    path.write_text("Good morning.\t안녕히 주무셨어요?\n", encoding="utf-8")
    memories = Memories(path, [ServedPair("en", "ko")])
    assert [one.target for one in memories.search("en", "ko", "Good morning.", 100, 1)] == ["안녕히 주무셨어요?"]
    assert [(one.source, one.target, one.units) for one in memories.stats()] == [("en", "ko", 1)]
    with pytest.raises(ConfigError, match=r"own.tsv, which is only read"):
        memories.add("en", "ko", UNITS)
    memories.close()


def test_a_memory_that_is_missing_or_has_nothing_is_refused(tmp_path: Path):
    with pytest.raises(ConfigError, match="no such file"):
        Memories(tmp_path / "none.db", [])
    wrong = tmp_path / "wrong.db"
    wrong.write_text("this is no database, whatever its name", encoding="utf-8")
    with pytest.raises(DataError, match="not a translation memory"):
        Memories(wrong, [ServedPair("en", "ko")])
    empty = tmp_path / "empty.tsv"
    empty.write_text("", encoding="utf-8")
    with pytest.raises(DataError, match="nothing in the languages of the models"):
        Memories(empty, [ServedPair("en", "ko")])
