"""The dialect of DeepL, with its official client."""

import deepl
import pytest


@pytest.fixture(scope="module")
def official(url: str) -> deepl.DeepLClient:
    return deepl.DeepLClient("any key", server_url=url)


def test_the_official_client_translates(official, offline):
    texts = ["Good morning", "Where is the library?"]
    found = official.translate_text(texts, target_lang="KO", source_lang="EN", context="a greeting")
    expected = [one.text for one in offline["en-ko"].translate(texts)]
    assert [(one.text, one.detected_source_lang, one.billed_characters) for one in found] == [
        (text, "EN", len(source)) for text, source in zip(expected, texts, strict=True)
    ]
    detected = official.translate_text("안녕하세요", target_lang="EN-US")
    assert (detected.text, detected.detected_source_lang) == (offline["ko-en"].translate("안녕하세요").text, "KO")


def test_the_official_client_keeps_tags_of_html(official):
    found = official.translate_text("<b>Good</b> morning", target_lang="KO", source_lang="EN", tag_handling="html")
    assert found.text.count("<b>") == found.text.count("</b>") == 1


def test_the_official_client_reads_usage_and_languages(official):
    before = official.get_usage().character.count
    official.translate_text("Good morning", target_lang="KO")
    usage = official.get_usage()
    assert usage.character.count == before + len("Good morning")
    assert not usage.any_limit_reached
    assert [(one.code, one.name) for one in official.get_source_languages()] == [("EN", "English"), ("KO", "Korean")]
    targets = [one.code for one in official.get_target_languages()]
    assert targets == ["KO", "EN-GB", "EN-US"]
    for target in targets:
        assert official.translate_text("안녕" if target != "KO" else "Hello", target_lang=target).text


@pytest.mark.parametrize(
    ("options", "part"),
    [
        ({"target_lang": "DE"}, "'DE' is not served; there are: ko, en"),
        ({"target_lang": "KO", "source_lang": "KO"}, "there are: en-ko, ko-en"),
        ({"target_lang": "KO", "formality": "more"}, "prefer_more"),
        ({"target_lang": "KO", "source_lang": "EN", "glossary": "g1"}, "there is no glossary 'g1'"),
    ],
)
def test_the_official_client_reads_errors(official, options, part):
    with pytest.raises(deepl.DeepLException, match=part):
        official.translate_text("Good morning", **options)


@pytest.mark.parametrize(
    ("split", "lines"),
    [
        ("nonewlines", ["This is a long sentence.", "How are you?\r\n"]),
        ("1", ["This is a long", "sentence.", "How are you?\r\n"]),
        ("0", ["This is a long", "sentence.", "How are you?\r\n"]),
    ],
)
def test_line_breaks_of_plain_text_end_sentences_unless_they_are_not_to(official, offline, split, lines):
    text = "This is a long\xa0 \r\nsentence.\n\nHow are you?\r\n"
    found = official.translate_text(text, source_lang="EN", target_lang="KO", split_sentences=split)
    expected = iter([translation.text for translation in offline["en-ko"].translate([line.strip() for line in lines])])
    if split == "nonewlines":
        assert found.text == f"{next(expected)}\n\n{next(expected)}\r\n"
    else:
        assert found.text == f"{next(expected)}\xa0 \r\n{next(expected)}\n\n{next(expected)}\r\n"


def test_forms_and_what_is_not_there(client, offline):
    form = {"text": ["Good morning", "Hello"], "target_lang": "KO"}
    found = client.post("/v2/translate", data=form).json()["translations"]
    assert [one["text"] for one in found] == [one.text for one in offline["en-ko"].translate(form["text"])]
    assert client.post("/v2/translate", params=form).json()["translations"] == found
    missing = client.get("/v2/style_rules")
    assert (missing.status_code, list(missing.json())) == (404, ["message"])
    assert client.post("/v2/translate", content=b"{").json()["message"].startswith("the body is not JSON")
