"""What DeepL's official client for Node (deepl-node 1.28) sends, request by request, and what it reads of the answers.

Its forms, not JSON, are what differs from the client for Python, which the other tests use.
"""

import json
import shutil
import subprocess
from urllib.parse import urlencode

import pytest

from dragoman.serve.models.models import Models
from live_server import server_fixtures

service, url, client = server_fixtures()

FORM = {"content-type": "application/x-www-form-urlencoded", "user-agent": "deepl-node/1.28.0"}


def dictionaries(*listed: tuple[str, str, str], form: str = "dictionaries[{}].{}") -> list[tuple[str, str]]:
    """The fields of dictionaries as the client writes them."""
    names = ("source_lang", "target_lang", "entries", "entries_format")
    return [
        (form.format(number, name), value)
        for number, dictionary in enumerate(listed)
        for name, value in zip(names, (*dictionary, "tsv"), strict=True)
    ]


def sent(client, method, path, fields):
    return client.request(method, path, content=urlencode(fields), headers=FORM)


@pytest.mark.parametrize("form", ["dictionaries[{}].{}", "dictionaries[{}][{}]"])
def test_a_multilingual_glossary_is_created_and_updated_by_forms(client, form):
    both = [("en", "ko", "file\t화일\nscreen\t스크린"), ("ko", "en", "책\tvolume")]
    created = sent(client, "POST", "/v3/glossaries", [("name", "mine"), *dictionaries(*both, form=form)])
    assert created.status_code == 201, created.text
    glossary = created.json()["glossary_id"]
    counts = [(one["source_lang"], one["target_lang"], one["entry_count"]) for one in created.json()["dictionaries"]]
    assert counts == [("en", "ko", 2), ("ko", "en", 1)]
    more = [("name", "renamed"), *dictionaries(("en", "ko", "window\t창문"), form=form)]
    updated = sent(client, "PATCH", f"/v3/glossaries/{glossary}", more)
    assert (updated.status_code, updated.json()["name"]) == (200, "renamed")
    assert updated.json()["dictionaries"][0]["entry_count"] == 3
    only_name = sent(client, "PATCH", f"/v3/glossaries/{glossary}", [("name", "again")])
    assert only_name.json()["name"] == "again"
    query = {"source_lang": "en", "target_lang": "ko"}
    entries = client.get(f"/v3/glossaries/{glossary}/entries", params=query).json()["dictionaries"][0]["entries"]
    assert sorted(entries.splitlines()) == ["file\t화일", "screen\t스크린", "window\t창문"]
    put = [("source_lang", "en"), ("target_lang", "ko"), ("entries", "a\tb"), ("entries_format", "tsv")]
    assert sent(client, "PUT", f"/v3/glossaries/{glossary}/dictionaries", put).json()["entry_count"] == 1
    fields = [("text", "The file."), ("source_lang", "en"), ("target_lang", "ko"), ("glossary_id", glossary)]
    assert sent(client, "POST", "/v2/translate", fields).status_code == 200
    gone = client.delete(f"/v3/glossaries/{glossary}/dictionaries", params={"source_lang": "en", "target_lang": "ko"})
    assert gone.status_code == 204
    assert client.delete(f"/v3/glossaries/{glossary}").status_code == 204


@pytest.mark.parametrize(
    "fields",
    [
        [("name", "a")],
        [("name", "a"), ("dictionaries[0].source_lang", "en")],
        [("name", "a"), *dictionaries(("en", "ko", "a\tb"), ("en", "ko", "c\td"))],
        [("name", "a"), ("dictionaries[x].source_lang", "en")],
        [("name", "a"), ("dictionaries", "[]")],
    ],
)
def test_a_form_that_lacks_something_is_refused_with_a_message(client, fields):
    answer = sent(client, "POST", "/v3/glossaries", fields)
    assert (answer.status_code, list(answer.json())) == (400, ["message"])


def test_texts_as_node_sends_them(client):
    fields = [("target_lang", "ko"), ("source_lang", "en"), ("model_type", "prefer_quality_optimized")]
    fields += [("show_billed_characters", "1"), ("text", "Hello"), ("text", "Good morning")]
    answer = sent(client, "POST", "/v2/translate", fields)
    assert answer.headers["x-trace-id"] == answer.headers["x-request-id"]
    assert [one["model_type_used"] for one in answer.json()["translations"]] == ["quality_optimized"] * 2
    assert [one["billed_characters"] for one in answer.json()["translations"]] == [5, 12]
    without = sent(client, "POST", "/v2/translate", [("text", "Hello"), ("target_lang", "ko")]).json()
    assert "model_type_used" not in without["translations"][0]
    fast = [("text", "Hello"), ("target_lang", "ko"), ("model_type", "latency_optimized")]
    used = sent(client, "POST", "/v2/translate", fast).json()["translations"][0]["model_type_used"]
    assert used == "latency_optimized"
    assert sent(client, "POST", "/v2/translate", [*fast[:2], ("model_type", "best")]).status_code == 400


def test_languages_of_version_3_say_what_each_is_for(client):
    found = client.get("/v3/languages", params={"resource": "translate_text"}).json()
    assert {one["lang"]: (one["usable_as_source"], one["usable_as_target"]) for one in found} == {
        "en": (True, False),
        "ko": (True, True),
        "en-GB": (False, True),
        "en-US": (False, True),
    }
    assert all(
        set(one) == {"lang", "name", "status", "usable_as_source", "usable_as_target", "features"} for one in found
    )
    korean = next(one for one in found if one["lang"] == "ko")
    assert set(korean["features"]) == {"tag_handling", "glossary", "auto_detection"}
    assert client.get("/v3/languages", params={"resource": "voice"}).json() == []
    for fields in ({}, {"resource": "dance"}, {"resource": ["voice", "glossary"]}):
        answer = client.get("/v3/languages", params=fields)
        assert (answer.status_code, list(answer.json())) == (400, ["message"])
    resources = client.get("/v3/languages/resources").json()
    assert {one["name"] for one in resources} == {"translate_text", "translate_document", "glossary"}
    assert client.get("/v2/languages", params={"type": "target"}).json()[0]["supports_formality"] is False


def test_the_key_may_be_a_field_of_a_form(tmp_path):
    """As LibreOffice and old clients send it; every other path and a wrong one are refused."""
    import asyncio

    import httpx

    from dragoman.serve.app import make_app
    from dragoman.serve.store.database import ServiceState
    from dragoman.serve.work.service import Service

    service = Service(Models(threads=1), state=ServiceState(tmp_path))
    _, key = service.keys.create("office")

    async def ask() -> list[int]:
        transport = httpx.ASGITransport(make_app(service))
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost", timeout=60) as client:
            return [
                (await client.post("/v2/glossaries", data={"auth_key": key})).status_code,
                (await client.get("/v2/usage", params={"auth_key": key})).status_code,
                (await client.post("/v2/usage", data={"auth_key": key})).status_code,
                (await client.post("/v2/glossaries", data={"auth_key": "wrong"})).status_code,
                (await client.post("/v2/glossaries", data={})).status_code,
                (await client.get("/v1/models", params={"auth_key": key})).status_code,
            ]

    try:
        assert asyncio.run(ask()) == [400, 200, 404, 403, 403, 401]
    finally:
        service.close()


NODE = """
const deepl = require("deepl-node");
const client = new deepl.DeepLClient("any", { serverUrl: process.argv[1] });
(async () => {
  const entries = new deepl.GlossaryEntries({ entries: { file: "화일" } });
  const dictionary = { sourceLangCode: "en", targetLangCode: "ko", entries };
  const made = await client.createMultilingualGlossary("mine", [dictionary]);
  const changed = await client.updateMultilingualGlossaryDictionary(made.glossaryId, dictionary);
  const renamed = await client.updateMultilingualGlossaryName(made.glossaryId, "again");
  const listed = await client.getMultilingualGlossaryDictionaryEntries(made.glossaryId, "en", "ko");
  const text = await client.translateText("Good morning", "en", "ko", { modelType: "prefer_quality_optimized" });
  const several = await client.translateText(["<b>Hi</b>", "Hello"], null, "ko", { tagHandling: "html" });
  const languages = await client.getTargetLanguages();
  const usage = await client.getUsage();
  await client.deleteMultilingualGlossary(made.glossaryId);
  const terms = listed.entries.entries();
  console.log(JSON.stringify([changed.name, renamed.name, terms, text.modelTypeUsed, text.text.length > 0,
    several.length, languages.map((one) => one.code), usage.character.count > 0]));
})();
"""


@pytest.mark.slow
def test_the_client_for_node_itself(url, tmp_path):
    """Where `npm install --prefix FOLDER deepl-node` was run and NODE_PATH is FOLDER/node_modules."""
    node = shutil.which("node")
    if not node or subprocess.run([node, "-e", "require.resolve('deepl-node')"], capture_output=True).returncode:
        pytest.skip("node or its deepl-node is not here")
    ran = subprocess.run([node, "-e", NODE, url], capture_output=True, text=True, timeout=120, check=False)
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout) == [
        "mine", "again", {"file": "화일"}, "quality_optimized", True, 2, ["ko", "en-GB", "en-US"], True,
    ]  # fmt: skip
