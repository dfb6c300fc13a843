"""Glossaries by the official client of DeepL, of version 2 and of version 3."""

from collections.abc import Iterator

import deepl
import pytest
from deepl.api_data import MultilingualGlossaryDictionaryEntries as Entries

from dragoman.serve.models.models import Models
from dragoman.serve.store.glossaries import GlossaryLimits
from dragoman.serve.work.service import Service
from live_server import live, post, server_fixtures

service, url, client = server_fixtures()

TERMS = {"server": "서버", "red button": "적색 단추", "C*": "씨*"}


@pytest.fixture(scope="module")
def official(url: str) -> deepl.DeepLClient:
    return deepl.DeepLClient("any key", server_url=url)


def test_a_glossary_of_version_2(official, offline):
    pairs = {(one.source_lang, one.target_lang) for one in official.get_glossary_languages()}
    assert pairs == {("en", "ko"), ("ko", "en")}
    made = official.create_glossary("IT", "EN", "KO", TERMS)
    assert (made.name, made.ready, made.source_lang, made.target_lang, made.entry_count) == ("IT", True, "EN", "KO", 3)
    assert official.get_glossary_entries(made) == TERMS
    found = official.get_glossary(made.glossary_id)
    assert (found.name, found.creation_time) == (made.name, made.creation_time)
    assert made.glossary_id in [one.glossary_id for one in official.list_glossaries()]
    text = "Restart the server."
    expected = offline["en-ko"].translate(text, glossary={"server": "서버"}).text
    assert official.translate_text(text, source_lang="EN", target_lang="KO", glossary=made).text == expected
    assert official.translate_text_with_glossary(text, made).text == expected
    official.delete_glossary(made)
    with pytest.raises(deepl.GlossaryNotFoundException):
        official.get_glossary(made.glossary_id)


def test_a_glossary_from_csv(official):
    made = official.create_glossary_from_csv("IT", "EN", "KO", 'server,서버,en,ko\n"red, button",적색 단추,EN,KO\n')
    assert official.get_glossary_entries(made) == {"server": "서버", "red, button": "적색 단추"}


def test_a_glossary_of_version_3(official, offline):
    made = official.create_multilingual_glossary(
        "IT", [Entries("EN", "KO", TERMS), Entries("KO", "EN", {"서버": "machine"})]
    )
    assert [(one.source_lang, one.target_lang, one.entry_count) for one in made.dictionaries] == [
        ("EN", "KO", 3),
        ("KO", "EN", 1),
    ]
    (one,) = official.get_multilingual_glossary_entries(made, "EN", "KO").dictionaries
    assert one.entries.splitlines() == [f"{term}\t{translation}" for term, translation in TERMS.items()]
    text = "서버를 다시 시작하세요."
    expected = offline["ko-en"].translate(text, glossary={"서버": "machine"}).text
    assert (
        official.translate_text(text, source_lang="KO", target_lang="EN-US", glossary=made.glossary_id).text == expected
    )
    assert made.glossary_id in [each.glossary_id for each in official.list_multilingual_glossaries()]
    assert made.glossary_id not in [each.glossary_id for each in official.list_glossaries()]
    with pytest.raises(deepl.GlossaryNotFoundException, match="ask /v3/glossaries"):
        official.get_glossary(made.glossary_id)


def test_a_glossary_of_version_3_is_changed(official):
    made = official.create_multilingual_glossary("IT", [Entries("EN", "KO", {"server": "서버", "client": "손님"})])
    named = official.update_multilingual_glossary_name(made, "Other")
    assert (named.name, named.glossary_id) == ("Other", made.glossary_id)
    new = Entries("EN", "KO", {"client": "클라이언트", "key": "키"})
    (merged,) = official.update_multilingual_glossary_dictionary(made, new).dictionaries
    assert merged.entry_count == 3
    (one,) = official.get_multilingual_glossary_entries(made, "EN", "KO").dictionaries
    assert set(one.entries.splitlines()) == {"client\t클라이언트", "key\t키", "server\t서버"}
    replaced = official.replace_multilingual_glossary_dictionary(made, Entries("EN", "KO", {"a": "가"}))
    assert (replaced.source_lang, replaced.target_lang, replaced.entry_count) == ("EN", "KO", 1)
    official.update_multilingual_glossary_dictionary(made, Entries("KO", "EN", {"가": "a"}))
    official.delete_multilingual_glossary_dictionary(made, source_lang="KO", target_lang="EN")
    assert len(official.get_multilingual_glossary(made.glossary_id).dictionaries) == 1
    official.delete_multilingual_glossary(made)
    with pytest.raises(deepl.GlossaryNotFoundException):
        official.get_multilingual_glossary(made.glossary_id)


def test_errors_are_those_that_the_official_client_reads(official):
    made = official.create_glossary("IT", "EN", "KO", TERMS)
    with pytest.raises(deepl.DeepLException, match="no terms from ko into en"):
        official.translate_text("안녕", source_lang="KO", target_lang="EN-US", glossary=made.glossary_id)
    with pytest.raises(deepl.DeepLException, match="'DE' is not served"):
        official.create_glossary("IT", "EN", "DE", TERMS)
    with pytest.raises(deepl.DeepLException, match="there is no glossary"):
        official.translate_text("a", source_lang="EN", target_lang="KO", glossary="none")
    with pytest.raises(deepl.DeepLException, match="the languages de, ko"):
        official.create_glossary_from_csv("IT", "EN", "KO", "server,서버,de,ko\n")


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "part"),
    [
        ("POST", "/v2/glossaries", {"entries": "server"}, 400, "entries:1: 1 columns"),
        ("POST", "/v2/glossaries", {"entries": "a\tb\tc"}, 400, "entries:1: 3 columns"),
        ("POST", "/v2/glossaries", {"entries": "a\tb\na\tc"}, 400, "entries:2: the term 'a' a second time"),
        ("POST", "/v2/glossaries", {"entries": "\n"}, 400, "no terms"),
        ("POST", "/v2/glossaries", {"entries": "a\tb", "entries_format": "xml"}, 400, "entries_format"),
        ("POST", "/v2/glossaries", {"entries": "a\tb", "name": ""}, 400, "'name' not specified"),
        ("POST", "/v2/glossaries", {"entries": "a\tb", "name": "x" * 201}, 400, "name: 201 characters"),
        ("PATCH", "/v3/glossaries/none", {"name": "x" * 201}, 400, "name: 201 characters"),
        ("POST", "/v2/glossaries", {"entries": 3}, 400, "'entries' not specified"),
        ("POST", "/v3/glossaries", {"dictionaries": []}, 400, "'dictionaries' not specified"),
        ("POST", "/v3/glossaries", {"dictionaries": [3]}, 400, "'dictionaries' not specified"),
        ("PATCH", "/v3/glossaries/none", {"name": "b"}, 404, "there is no glossary"),
        ("PATCH", "/v3/glossaries/none", {"name": None}, 400, "Give a 'name'"),
        ("GET", "/v3/glossaries/none/entries", None, 400, "'source_lang' not specified"),
        ("GET", "/v3/nothing", None, 404, "nothing here"),
        (
            "POST",
            "/v2/translate",
            {"text": "a", "target_lang": "KO", "source_lang": "", "glossary_id": "x"},
            400,
            "needs it",
        ),
        ("POST", "/v2/translate", {"text": "a", "target_lang": "KO", "glossary_ids": ["x"] * 6}, 400, "up to 5"),
    ],
)
def test_bad_input_is_a_message(client, method, path, body, status, part):
    languages = {"name": "x", "source_lang": "en", "target_lang": "ko"}
    answer = client.request(method, path, json=None if body is None else {**languages, **body})
    assert answer.status_code == status, answer.text
    assert part in answer.json()["message"]


def test_several_glossaries_of_a_translation(client, offline):
    def made(terms: str) -> str:
        body = {"name": "x", "source_lang": "en", "target_lang": "ko", "entries": terms, "entries_format": "tsv"}
        return client.post("/v2/glossaries", data=body).json()["glossary_id"]

    ids = [made("server\t기계"), made("server\t서버\nclient\t손님")]
    body = {"text": ["The server and the client."], "source_lang": "EN", "target_lang": "KO", "glossary_ids": ids}
    (found,) = client.post("/v2/translate", json=body).json()["translations"]
    glossary = {"server": "기계", "client": "손님"}
    assert found["text"] == offline["en-ko"].translate(body["text"][0], glossary=glossary).text


@pytest.fixture(scope="module")
def small() -> Iterator[str]:
    service = Service(Models(["en-ko"], threads=1))
    service.glossaries.limits = GlossaryLimits(glossaries=1)
    with live(service) as url:
        yield url


def test_one_more_than_may_be_kept_is_a_quota_for_clients_of_deepl(small):
    official = deepl.DeepLClient("any key", server_url=small)
    official.create_glossary("IT", "EN", "KO", TERMS)
    with pytest.raises(deepl.QuotaExceededException, match="1 glossaries already"):
        official.create_glossary("IT", "EN", "KO", TERMS)
    body = {"name": "x", "source": "en", "target": "ko", "entries": {"a": "b"}}
    answer = post(f"{small}/v1/glossaries", json=body)
    assert (answer.status_code, answer.json()["type"]) == (413, "urn:dragoman:problem:glossary-limit")
