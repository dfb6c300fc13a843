"""Language tags: which name one language, and what a language is called."""

from itertools import product
from string import ascii_lowercase

import pytest
from hypothesis import given, strategies
from langcodes import Language

from dragoman.text.words.language import (
    declares_other,
    detect_language,
    language_name,
    primary_language,
    same_language,
    tag_distance,
)


@pytest.mark.parametrize(
    ("tags", "language"),
    [
        ("no nb nn nb-NO nn_NO NB nob", "no"),
        ("zh zh-Hant zh_TW zh-Hans-CN cmn wuu zho", "zh"),
        ("sr sr-Latn sr@latin sr_RS@latin sh", "sr"),
        ("pt pt-BR PT_br por", "pt"),
        ("he iw iw_IL heb", "he"),
        ("id in in-ID ind", "id"),
        ("yi ji", "yi"),
        ("fil tl", "fil"),
        ("ko ko_KR.UTF-8 kor KO ko-Kore-KR", "ko"),
        ("yue zh-yue", "yue"),
        ("und", "und"),
        ("x", "x"),
        ("*all*", "*all*"),
        ("", ""),
    ],
)
def test_a_language_has_one_primary_code(tags: str, language: str) -> None:
    assert {primary_language(tag) for tag in tags.split() or [""]} == {language}


@pytest.mark.parametrize(
    ("tag", "wanted", "expected"),
    [
        ("de", "ko", True),
        ("zh_TW", "zh-CN", True),
        ("ko_KR.UTF-8", "ko", False),
        ("", "ko", False),
        ("Korean", "ko", False),
        ("und", "ko", False),
        ("ko", "und", False),
        ("kr", "ko", False),
        ("jp", "ja-JP", False),
        ("cn", "zh-Hans", False),
        ("kr", "en", True),
        ("jp", "ko", True),
    ],
)
def test_a_file_declares_another_language_only_with_a_tag(tag: str, wanted: str, expected: bool) -> None:
    assert declares_other(tag, wanted) is expected


def test_languages_of_one_family_stay_apart() -> None:
    languages = ["id", "ms", "hr", "sr", "bs", "ar", "arz", "zh", "yue", "da", "no", "sv", "nl", "af"]
    assert [primary_language(tag) for tag in languages] == languages


@pytest.mark.parametrize(
    ("tag", "other", "same"),
    [
        ("zh-TW", "zh-Hant", True),
        ("zh-TW", "zh-HK", True),
        ("zh", "zh-TW", True),
        ("zh-TW", "zh-CN", False),
        ("zh-Hans", "zh_TW", False),
        ("sr", "sr-Latn", True),
        ("sr@latin", "sr-Latn", True),
        ("sr-RS", "sr-Latn", False),
        ("pt-PT", "pt-BR", True),
        ("nb", "no", True),
        ("iw", "he-IL", True),
        ("in", "id", True),
        ("en", "de", False),
        ("", "en", False),
    ],
)
def test_two_tags_of_one_written_language(tag: str, other: str, same: bool) -> None:
    assert same_language(tag, other) == same_language(other, tag) == same


def test_the_nearest_tag() -> None:
    for wanted, near, far in [("zh-TW", "zh-Hant", "zh-CN"), ("no", "nb", "nn"), ("pt-BR", "pt", "pt-PT")]:
        assert tag_distance(wanted, wanted) == 0
        assert tag_distance(near, wanted) < tag_distance(far, wanted) < tag_distance("?", wanted)


@given(strategies.text(max_size=20), strategies.text(max_size=20))
def test_any_text_may_stand_where_a_tag_is_expected(tag: str, other: str) -> None:
    assert primary_language(tag) == primary_language(tag)
    assert same_language(tag, tag)
    assert tag_distance(tag, other) >= 0


def test_names_of_languages() -> None:
    tags = ["ko", "pt-BR", "zh-Hant", "sr-Latn", "iw", "ckb", "xx", "*all*"]
    names = ["Korean", "Portuguese (Brazil)", "Chinese (Traditional)", "Serbian (Latin)", "Hebrew", "Central Kurdish"]
    assert [language_name(tag) for tag in tags] == [*names, "xx", "*all*"]
    assert language_name("en", "ko") == "영어"


def test_alemannic_is_not_taken_for_albanian() -> None:
    """The label of the model is Wikipedia's `als`, which is the code of Tosk Albanian elsewhere."""
    assert detect_language("Dr Barack Obama isch dr 44. Präsidänt vo de Vereinigte Staate gsi.")[0] in {"gsw", "de"}
    assert primary_language("als") == "sq"


def test_codes_of_two_letters_are_read_as_langcodes_reads_them() -> None:
    for code in map("".join, product(ascii_lowercase, repeat=2)):
        language = Language.get(code).prefer_macrolanguage().language
        assert primary_language(code) == {"nb": "no", "nn": "no"}.get(language or code, language or code)
