"""`/v1`: what the service answers is what `Translator.translate` returns, whatever else is asked at the same time."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from dragoman.workflows.documents.documents import translate_documents


def texts_of(answer: httpx.Response) -> list[str]:
    assert answer.status_code == 200, answer.text
    return [one["text"] for one in answer.json()["translations"]]


def events_of(answer: httpx.Response) -> list[tuple[str, dict]]:
    assert answer.headers["content-type"].startswith("text/event-stream")
    blocks = [block.split("\n") for block in answer.text.strip().split("\n\n")]
    return [(name.removeprefix("event: "), json.loads(data.removeprefix("data: "))) for name, data in blocks]


@pytest.mark.slow
def test_sixteen_clients_at_once_get_the_offline_translations(client, offline, lines):
    lines = [*lines[:10], *lines[-6:-1]]  # short and long ones; the longest has a test of its own
    expected = [one.text for one in offline["en-ko"].translate([line.strip() for line in lines])]
    korean = expected[: len(expected) // 5]
    back = [one.text for one in offline["ko-en"].translate(korean)]
    asked = [
        ({"text": line.strip(), "target": "ko", "source": "en"}, [text])
        for line, text in zip(lines, expected, strict=True)
    ]
    asked += [({"text": [line], "model": "ko-en"}, [text]) for line, text in zip(korean, back, strict=True)]
    asked.append(({"text": [line.strip() for line in lines], "target": "ko", "source": "en"}, expected))
    with ThreadPoolExecutor(16) as pool:
        found = pool.map(lambda each: client.post("/v1/translate", json=each[0]), asked)
        for (_, text), answer in zip(asked, found, strict=True):
            assert texts_of(answer) == text


def test_lines_and_the_space_around_them_stay(client, offline):
    one, two = (each.text for each in offline["en-ko"].translate(["Hello, my friend.", "How are you?"]))
    answer = client.post("/v1/translate", json={"text": "\n  Hello, my friend. \r\n\n\tHow are you?\n", "target": "ko"})
    assert texts_of(answer) == [f"\n  {one} \r\n\n\t{two}\n"]


def test_alternatives_leave_the_best_as_it_is_and_differ_from_it(client, offline):
    text = "The weather is nice today."
    (answer,) = client.post("/v1/translate", json={"text": text, "target": "ko", "alternatives": 3}).json()[
        "translations"
    ]
    best = offline["en-ko"].translate(text).text
    found = [one.text for one in offline["en-ko"].translate(text, n_best=4).candidates]
    assert answer["text"] == best
    assert answer["alternatives"] == [one for one in found if one != best][:3]


def test_the_alignment_counts_the_characters_of_the_whole_text(client, offline):
    text = "A red  dog.\n\nThe server was restarted."
    (answer,) = client.post("/v1/translate", json={"text": text, "target": "ko", "alignment": True}).json()[
        "translations"
    ]
    expected = []
    for each in offline["en-ko"].translate([line for line in text.split("\n") if line], alignment=True):
        source = " ".join(each.source.split())
        expected += [(source[slice(*one.source)], each.text[slice(*one.target)]) for one in each.alignment]
    spans = [
        (answer["normalised"][slice(*one["source"])], answer["text"][slice(*one["target"])])
        for one in answer["alignment"]
    ]
    assert spans == expected
    assert spans


def test_a_glossary_of_the_request_is_followed_and_reported(client, offline):
    glossary, text = {"server": "서버"}, "Restart the server."
    (answer,) = client.post("/v1/translate", json={"text": text, "target": "ko", "glossary": glossary}).json()[
        "translations"
    ]
    expected = offline["en-ko"].translate(text, glossary=glossary)
    assert answer["text"] == expected.text
    assert answer["terms"] == [
        {"source": one.source, "target": one.target, "satisfied": one.satisfied} for one in expected.terms
    ]


@pytest.mark.slow
def test_a_line_longer_than_a_sentence_has_the_text_and_the_warnings_of_the_translation(client, offline, lines):
    answer = client.post("/v1/translate", json={"text": lines[-1].strip(), "source": "en", "target": "ko"})
    expected = offline["en-ko"].translate(lines[-1].strip())
    assert texts_of(answer) == [expected.text]
    found = answer.json()["translations"][0]["warnings"]
    assert found == [{"kind": flag.kind, "text": flag.text} for flag in expected.warnings]
    assert "segmented" in {warning["kind"] for warning in found}


@pytest.mark.parametrize(
    ("format", "suffix", "text"),
    [
        (
            "html",
            ".html",
            '<p class="a">Hello <b>my friend</b>.</p>\n<p title="Open the door">안녕 <br>How are you?</p>',
        ),
        ("markdown", ".md", "# Hello\n\nPress `Ctrl-C` to **stop** the server.\n\n- one dog\n- two cats\n"),
    ],
)
def test_markup_is_translated_as_the_document_is(client, offline, tmp_path: Path, format, suffix, text):
    source, target = tmp_path / f"a{suffix}", tmp_path / f"b{suffix}"
    source.write_text(text, encoding="utf-8")
    translate_documents(offline["en-ko"], source, target)
    answer = client.post("/v1/translate", json={"text": text, "source": "en", "target": "ko", "format": format})
    assert texts_of(answer) == [target.read_text(encoding="utf-8")]


def test_a_declared_character_set_does_not_change_how_html_is_read(client):
    text = '<meta charset="euc-kr"><p>안녕하세요</p>'
    (found,) = texts_of(
        client.post("/v1/translate", json={"text": text, "source": "ko", "target": "en", "format": "html"})
    )
    assert found.startswith('<meta charset="euc-kr"><p>')
    assert not any("가" <= one <= "힣" for one in found)


@pytest.mark.slow
def test_a_stream_has_every_sentence_and_together_they_are_the_translation(client, offline, lines):
    everyday = "The weather is nice today. Let us go to the park. We will bring bread and water. Our friends come too. "
    text = "\n".join([*lines[-6:-1], everyday * 3, (everyday * 4).strip()])
    whole = texts_of(client.post("/v1/translate", json={"text": text, "source": "en", "target": "ko"}))[0]
    answer = client.post("/v1/translate/stream", json={"text": text, "source": "en", "target": "ko"})
    *sentences, (last, end) = events_of(answer)
    assert last == "done"
    assert end["text"] == whole == "".join(one["before"] + one["text"] for _, one in sentences)
    assert len(sentences) > 6
    assert [one["index"] for _, one in sentences] == list(range(len(sentences)))
    header = client.post(
        "/v1/translate", json={"text": "Hello.", "target": "ko"}, headers={"accept": "text/event-stream"}
    )
    assert [name for name, _ in events_of(header)] == ["sentence", "done"]


def test_each_text_of_a_list_goes_to_the_model_of_its_language(client, offline):
    answer = client.post("/v1/translate", json={"text": ["안녕하세요", "Good morning"]}).json()["translations"]
    assert [(one["source"], one["target"], one["model"]) for one in answer] == [
        ("ko", "en", "ko-en"),
        ("en", "ko", "en-ko"),
    ]
    assert answer[0]["text"] == offline["ko-en"].translate("안녕하세요").text


def test_a_text_in_the_target_language_is_left_as_it_is(client):
    (answer,) = client.post("/v1/translate", json={"text": "안녕하세요", "target": "ko"}).json()["translations"]
    assert answer["text"] == "안녕하세요"
    assert [one["kind"] for one in answer["warnings"]] == ["language"]


def test_models_languages_and_detection(client):
    models = client.get("/v1/models").json()["models"]
    assert [(one["name"], one["pairs"]) for one in models] == [
        ("en-ko", [{"source": "en", "target": "ko"}]),
        ("ko-en", [{"source": "ko", "target": "en"}]),
    ]
    assert {one["code"]: one["targets"] for one in client.get("/v1/languages").json()["languages"]} == {
        "en": ["ko"],
        "ko": ["en"],
    }
    assert client.post("/v1/detect", json={"text": "안녕"}).json() == {
        "languages": [{"language": "ko", "probability": 1.0}]
    }


def test_operations(client):
    assert client.get("/healthz").json() == {"status": "ok"}
    assert client.get("/readyz").json() == {"status": "ready"}
    client.post("/v1/translate", json={"text": "Hello", "target": "ko"})
    shown = client.get("/metrics").text
    names = ("queue_seconds_count", "batch_sentences_sum", "tokens_per_second", "requests_total", "queue_tokens")
    assert all(f"\ndragoman_{name}" in shown for name in names)


def test_the_interface_describes_itself_without_other_servers(client):
    schema = client.get("/openapi.json").json()
    assert {"/v1/translate", "/translate", "/healthz"} <= schema["paths"].keys()
    page = client.get("/docs")
    assert "/v1/translate" in page.text
    assert not any(sign in page.text for sign in ("<script", "<link", "src=", "http://", "https://"))
    assert page.headers["content-security-policy"].startswith("default-src 'none'")


@pytest.mark.parametrize("form", ["text", "html", "markdown"])
def test_a_text_without_anything_stays_so(client, form):
    for text in ("", " ", "\n"):
        answer = client.post("/v1/translate", json={"text": text, "source": "en", "target": "ko", "format": form})
        assert answer.json()["translations"][0]["text"] == text
