"""Documents where keys are needed: each belongs to its key, in whatever way the dialect sends it."""

import time
from collections.abc import Callable, Iterator

import httpx
import pytest

from dragoman.serve.models.models import Models
from dragoman.serve.work.service import Service
from live_server import live

TEXT = "Hello, my friend.\n"


@pytest.fixture(scope="module")
def guarded() -> Iterator[tuple[Service, httpx.Client, str, str]]:
    """A service with two keys, a client without one, and the keys."""
    service = Service(Models(threads=1, exact=True))
    keys = [service.keys.create(name)[1] for name in ("one", "two")]
    with live(service) as url, httpx.Client(base_url=url, timeout=120) as client:
        yield service, client, keys[0], keys[1]


def until(happens: Callable[[], object]) -> None:
    end = time.monotonic() + 120
    while not happens():
        assert time.monotonic() < end, "it has not happened"
        time.sleep(0.01)


def test_a_document_belongs_to_its_key(guarded):
    service, client, one, two = guarded
    form = {"files": {"file": ("a.txt", TEXT)}, "data": {"target": "ko"}}
    assert client.post("/v1/documents", **form).status_code == 401
    mine = {"Authorization": f"Bearer {one}"}
    answer = client.post("/v1/documents", **form, headers=mine)
    assert answer.status_code == 202
    where = answer.headers["location"]
    until(lambda: client.get(where, headers=mine).json()["state"] == "done")
    for path in ("", "/result", "/review"):
        assert client.get(f"{where}{path}").status_code == 401
        assert client.get(f"{where}{path}", headers={"Authorization": f"Bearer {two}"}).status_code == 404
    stored = service.keys.known(one)
    assert stored
    until(lambda: service.keys.used(stored.id) == len(TEXT.strip()))
    assert client.delete(where, headers=mine).status_code == 204


def test_a_client_of_libretranslate_sends_its_key_in_the_form_and_fetches_without(guarded):
    _, client, one, _ = guarded
    files, form = {"file": ("a.txt", TEXT)}, {"source": "en", "target": "ko"}
    for wrong in ({}, {"api_key": "x"}):
        refused = client.post("/translate_file", files=files, data={**form, **wrong})
        assert (refused.status_code in (400, 401, 403), list(refused.json())) == (True, ["error"])
    found = client.post("/translate_file", files=files, data={**form, "api_key": one})
    assert found.status_code == 200, found.text
    assert client.get(found.json()["translatedFileUrl"]).status_code == 200


def test_a_client_of_deepl_sends_its_key_in_a_header(guarded):
    _, client, one, two = guarded
    form = {"files": {"file": ("a.txt", TEXT)}, "data": {"target_lang": "KO"}}
    assert client.post("/v2/document", **form).status_code in (401, 403)
    mine = {"Authorization": f"DeepL-Auth-Key {one}"}
    handle = client.post("/v2/document", **form, headers=mine).json()
    path, key = f"/v2/document/{handle['document_id']}", {"document_key": handle["document_key"]}
    assert client.post(path, json=key, headers={"Authorization": f"DeepL-Auth-Key {two}"}).status_code == 404
    until(lambda: client.post(path, json=key, headers=mine).json()["status"] == "done")
    assert client.post(f"{path}/result", json=key, headers=mine).status_code == 200


@pytest.mark.parametrize(
    ("limits", "why"),
    [
        ({"characters_per_day": 100}, "100 characters per day and 0 are used"),
        ({"characters": 50}, "340 characters; the key may send at most 50 at a time"),
    ],
)
def test_the_limits_of_a_key_are_those_of_its_documents(guarded, limits, why):
    service, client, *_ = guarded
    key, secret = service.keys.create(f"few {why[:3]}", **limits)
    mine, form = {"Authorization": f"Bearer {secret}"}, {"file": ("a.txt", TEXT * 20)}
    where = client.post("/v1/documents", files=form, data={"target": "ko"}, headers=mine).headers["location"]
    until(lambda: client.get(where, headers=mine).json()["state"] == "failed")
    assert why in client.get(where, headers=mine).json()["error"]
    assert service.keys.used(key.id) == 0


@pytest.mark.parametrize(
    ("models", "text", "model"),
    [
        (["en-ko", "ko-en"], "안녕하세요 여러분.", "ko-en"),
        (["en-ko", "ko-en"], TEXT, "en-ko"),
        (["en-ko"], TEXT, "en-ko"),
    ],
)
def test_the_language_of_a_document_chooses_among_the_models_of_its_key(guarded, models, text, model):
    service, client, *_ = guarded
    _, secret = service.keys.create(f"models {len(text)} {len(models)}", models=models)
    mine = {"Authorization": f"Bearer {secret}"}
    where = client.post("/v1/documents", files={"file": ("a.txt", text)}, headers=mine).headers["location"]
    until(lambda: client.get(where, headers=mine).json()["state"] == "done")
    assert client.get(where, headers=mine).json()["model"] == model
    refused = {"files": {"file": ("a.txt", text)}, "data": {"target": "de"}, "headers": mine}
    assert client.post("/v1/documents", **refused).status_code == 403
