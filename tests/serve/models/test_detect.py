"""The language of a text, among those that are served."""

import pytest

from dragoman.serve.models.detect import detect


@pytest.mark.parametrize(
    ("text", "served", "expected"),
    [
        ("안녕하세요", ["en", "ko"], "ko"),
        ("Hello, world", ["en", "ko"], "en"),
        ("서버를 restart 하세요", ["en", "ko"], "ko"),
        ("Bonjour, comment allez-vous aujourd'hui ?", ["en", "fr", "de"], "fr"),
        ("Wo ist der Bahnhof, bitte?", ["en", "fr", "de"], "de"),
        ("Wo ist der Bahnhof, bitte?", ["en", "ko"], "en"),  # the only one in these letters
        ("Привет", ["ko", "ru"], "ru"),
        ("こんにちは世界", ["ja", "zh", "ko"], "ja"),
    ],
)
def test_the_script_decides_first_and_no_other_language_is_named(text, served, expected):
    found = detect(text, served)
    assert found[0][0] == expected
    assert {tag for tag, _ in found} <= set(served)
    assert all(0 <= sure <= 1 for _, sure in found)
    assert sum(sure for _, sure in found) <= 1 + 1e-9


@pytest.mark.parametrize("text", ["", "123 …", "Привет"])
def test_a_text_without_letters_of_these_languages_has_none(text):
    assert detect(text, ["en", "ko"]) == []


@pytest.mark.parametrize("text", ["La tua password non è corretta", "Ciao!", "Gracias", "您可以参考特定指南或论坛。"])
def test_a_language_that_is_not_served_leaves_little_for_those_that_are(text):
    [(_, sure), *_] = detect(text, ["en", "ko"])
    assert sure < 0.2


@pytest.mark.parametrize("text", ["Hello", "OK", "Settings", "React", "12 km", "Yes", "안녕", "서버를 restart 하세요"])
def test_a_few_words_that_might_be_of_any_language_are_of_one_that_is_served(text):
    [(_, sure), *_] = detect(text, ["en", "ko"])
    assert sure > 0.5
