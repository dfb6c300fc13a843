"""Scripts of characters, texts and languages; languages of texts."""

import socket
import unicodedata

import pytest

from dragoman.text.words.language import detect_language
from dragoman.text.words.script import script_of, script_shares, scripts_of_language


@pytest.mark.parametrize(
    ("tag", "scripts"),
    [
        ("ko", {"Hang", "Hani"}),
        ("ko-KR", {"Hang", "Hani"}),
        ("ko-Latn", {"Latn"}),
        ("ja", {"Hira", "Kana", "Hani"}),
        ("zh", {"Hani"}),
        ("zh-Hant-TW", {"Hani"}),
        ("sr", {"Cyrl", "Latn"}),
        ("sr-Cyrl", {"Cyrl"}),
        ("PT_br", {"Latn"}),
        ("und", set()),
        ("qaa", set()),
    ],
)
def test_the_scripts_of_a_language(tag: str, scripts: set[str]) -> None:
    assert scripts_of_language(tag) == scripts


@pytest.mark.slow
def test_every_assigned_script_of_the_table_is_that_of_its_letters() -> None:
    names = {"Hang": "HANGUL", "Cyrl": "CYRILLIC", "Grek": "GREEK", "Arab": "ARABIC", "Deva": "DEVANAGARI"}
    for code, name in names.items():
        letters = [chr(point) for point in range(0x2FFFF) if unicodedata.name(chr(point), "").startswith(name + " ")]
        own = [letter for letter in letters if letter.isalpha() and unicodedata.normalize("NFKC", letter)[0] == letter]
        assert own
        assert {script_of(letter) for letter in own} == {code}


def test_variants_of_a_letter_are_in_its_script() -> None:
    assert [script_of(letter) for letter in "Ａ𝐀ªｱーㄱﾱ々μ"] == [
        "Latn", "Latn", "Latn", "Kana", "Kana", "Hang", "Hang", "Hani", "Grek",
    ]  # fmt: skip
    assert [script_of(character) for character in "1 .\n\u0301"] == [""] * 5


def test_shares_count_letters_only() -> None:
    assert script_shares("Latin letters, 한글!") == {"Latn": 12 / 14, "Hang": 2 / 14}
    assert script_shares("1, 2, 3") == {}


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("저장하십시오 OK", "ko"),
        ("私は日本人です", "ja"),
        ("今天天气很好，我们去公园吧", "zh"),
        ("The cat sleeps on the chair all day.", "en"),
        ("THE CAT SLEEPS ON THE CHAIR ALL DAY.", "en"),
        ("Die Katze schläft den ganzen Tag auf dem Stuhl.", "de"),
        ("Сегодня хорошая погода, и мы идём гулять.", "ru"),
        ("This line has a byte that is not \udcff UTF-8 in it.", "en"),
        ("two lines\nof one text, which are read as one", "en"),
    ],
)
def test_the_language_of_a_sentence(text: str, language: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_network(*address: object) -> None:
        raise AssertionError("the network was asked")

    monkeypatch.setattr(socket.socket, "connect", no_network)
    found, probability = detect_language(text)
    assert found == language
    assert 0.5 < probability <= 1


def test_text_without_letters_has_no_language() -> None:
    assert detect_language("1 + 1 = 2") == detect_language("") == ("und", 0.0)
