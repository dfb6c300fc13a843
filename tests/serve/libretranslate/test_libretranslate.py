"""The dialect of LibreTranslate, with its official client and as other programs send it."""

from urllib.error import HTTPError

import pytest
from libretranslatepy import LibreTranslateAPI

from dragoman.serve.models.models import Models
from dragoman.serve.work.service import Service
from live_server import get, live, post


@pytest.fixture(scope="module")
def official(url: str) -> LibreTranslateAPI:
    return LibreTranslateAPI(url)


def test_the_official_client_translates_detects_and_lists(official, offline):
    assert official.translate("안녕하세요", "ko", "en") == offline["ko-en"].translate("안녕하세요").text
    assert official.translate("Good morning", "auto", "ko") == offline["en-ko"].translate("Good morning").text
    assert official.detect("안녕하세요")[0] == {"confidence": 100.0, "language": "ko"}
    assert official.languages() == [
        {"code": "en", "name": "English", "targets": ["ko", "en"]},
        {"code": "ko", "name": "Korean", "targets": ["en", "ko"]},
    ]


def test_the_official_client_is_refused_with_an_error_it_can_read(official):
    with pytest.raises(HTTPError) as raised:
        official.translate("안녕", "ko", "de")
    assert raised.value.code == 400
    assert b"'de' is not served; there are: ko, en" in raised.value.read()


def test_json_with_a_list_as_weblate_sends_it(client, offline):
    texts = ["Good morning", "How are you?"]
    body = {"q": texts, "source": "en", "target": "ko", "api_key": None}
    expected = [one.text for one in offline["en-ko"].translate(texts)]
    assert client.post("/translate", json=body).json() == {"translatedText": expected}


def test_forms_of_both_kinds_and_the_query(client, offline):
    fields = {"q": "Good morning\nYou & me", "source": "en", "target": "ko"}
    lines = offline["en-ko"].translate(fields["q"].split("\n"))
    expected = {"translatedText": "\n".join(one.text for one in lines)}
    assert client.post("/translate", data=fields).json() == expected
    assert client.post("/translate", files={name: (None, value) for name, value in fields.items()}).json() == expected
    assert client.post("/translate", params=fields).json() == expected
    raw = "q=안녕&source=ko&target=en".encode()  # not percent-encoded, as curl sends it
    typed = {"content-type": "application/x-www-form-urlencoded"}
    assert client.post("/translate", content=raw, headers=typed).json() == {
        "translatedText": offline["ko-en"].translate("안녕").text
    }


def test_a_repeated_parameter_of_the_query_is_a_list(client):
    params = {"q": ["Hello", "Good morning"], "source": "en", "target": "ko"}
    answers = [client.post("/translate", params=params), client.post("/translate", json=params)]
    assert answers[0].json() == answers[1].json()
    assert len(answers[0].json()["translatedText"]) == 2
    assert client.post("/translate", params={**params, "target": ["ko", "en"]}).status_code == 400


def test_auto_alternatives_and_html(client):
    body = {"q": "Good morning", "source": "auto", "target": "ko", "alternatives": 2}
    found = client.post("/translate", json=body).json()
    assert found["detectedLanguage"] == {"confidence": 100.0, "language": "en"}
    assert len(found["alternatives"]) == 2
    assert found["translatedText"] not in found["alternatives"]
    several = client.post("/translate", json={**body, "q": ["Good morning", "좋은 아침"]}).json()
    assert [one["language"] for one in several["detectedLanguage"]] == ["en", "ko"]
    assert [len(one) for one in several["alternatives"]] == [2, 0]
    html = client.post("/translate", json={**body, "q": "<b>Good</b> morning &amp; night", "format": "html"}).json()
    assert html["translatedText"].count("<b>") == html["translatedText"].count("</b>") == 1
    assert html["alternatives"] == []


@pytest.mark.parametrize(
    ("body", "status", "part"),
    [
        ({"source": "en", "target": "ko"}, 400, "missing q parameter"),
        ({"q": "", "source": "en", "target": "ko"}, 400, "missing q parameter"),
        ({"q": "a", "target": "ko"}, 400, "missing source parameter"),
        ({"q": "a", "source": "xx", "target": "ko"}, 400, "'xx' is not served; there are: en, ko"),
        ({"q": "a", "source": "fr", "target": "fr"}, 400, "'fr' is not served; there are: en, ko"),
        ({"q": "a", "source": "en", "target": "ko", "format": "pdf"}, 400, "format is not supported"),
        ({"q": "a", "source": "en", "target": "ko", "alternatives": "many"}, 400, "alternatives"),
        ({"q": ["a", 1], "source": "en", "target": "ko"}, 400, "list of strings"),
        ({"q": "a" * 20_001, "source": "en", "target": "ko"}, 413, "at most 20,000"),
    ],
)
def test_errors_are_as_its_clients_read_them(client, body, status, part):
    answer = client.post("/translate", json=body)
    assert answer.status_code == status
    assert list(answer.json()) == ["error"]
    assert part in answer.json()["error"]


def test_the_rest_of_its_interface(client):
    assert client.get("/health").json() == {"status": "ok"}
    settings = client.get("/frontend/settings").json()
    assert settings["charLimit"] == 20_000
    assert settings["language"]["source"] == {"code": "en", "name": "English"}
    assert client.post("/suggest", data={"q": "a", "s": "b", "source": "en", "target": "fr"}).status_code == 400
    malformed = client.post(
        "/translate", content=b'{"q": "a" "source": "en"}', headers={"content-type": "application/json"}
    )
    assert (malformed.status_code, list(malformed.json())) == (400, ["error"])


@pytest.mark.parametrize(("source", "target"), [("en", "en"), ("ko", "ko"), ("en-US", "en")])
def test_a_text_wanted_in_its_language_stays_as_it_is(client, source, target):
    body = {"q": "  Hello\n", "source": source, "target": target}
    assert client.post("/translate", json=body).json() == {"translatedText": "  Hello\n"}
    several = {**body, "q": ["a", "b"], "alternatives": 1}
    expected = {"translatedText": ["a", "b"], "alternatives": [[], []]}
    assert client.post("/translate", json=several).json() == expected


@pytest.mark.parametrize("text", ["La tua password non è corretta", "Bonjour tout le monde", "您可以参考特定指南。"])
@pytest.mark.parametrize("target", ["en", "ko"])
def test_the_confidence_of_a_language_that_is_not_served_is_low(client, text, target):
    found = client.post("/translate", json={"q": text, "source": "auto", "target": target}).json()
    assert found["detectedLanguage"]["confidence"] < 10
    assert found["detectedLanguage"]["language"] in ("en", "ko")
    assert client.post("/detect", json={"q": text}).json()[0]["confidence"] < 10


def test_a_language_that_is_only_a_target_is_listed_as_its_own():
    with live(Service(Models(["ko-en"], threads=1))) as url:
        assert get(f"{url}/languages").json() == [
            {"code": "ko", "name": "Korean", "targets": ["en", "ko"]},
            {"code": "en", "name": "English", "targets": ["en"]},
        ]
        body = {"q": "Hello", "source": "en", "target": "en"}
        assert post(f"{url}/translate", json=body).json() == {"translatedText": "Hello"}


def test_languages_as_old_clients_ask_for_them(client):
    assert client.post("/languages").json() == client.get("/languages").json()
