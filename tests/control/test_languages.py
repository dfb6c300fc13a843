"""Warnings `empty`, `script` and `language`: given where they are due, and hardly anywhere else."""

import gzip
from pathlib import Path

import pytest

import dragoman.data
from dragoman.config import DecodeConfig, TokenizerConfig
from dragoman.control.languages import LanguageCheck
from dragoman.decode.hypothesis import Hypothesis
from dragoman.engine import Query
from dragoman.text.tokens.tokenizer import Tokenizer, learn
from dragoman.translation import Translation
from dragoman.translator import Translator
from stand_ins import FakeEngine

EMBEDDED = Path(dragoman.data.__file__).parent / "embedded"


@pytest.fixture(scope="module")
def to_korean() -> Translator:
    return Translator.load("en-ko", threads=1)


@pytest.fixture(scope="module")
def to_english() -> Translator:
    return Translator.load("ko-en", threads=1)


def kinds(translation: Translation) -> list[str]:
    return [flag.kind for flag in translation.warnings if flag.kind in ("empty", "script", "language")]


@pytest.mark.parametrize(
    ("line", "kind", "names"),
    [
        ("문서를 저장하십시오.", "script", "Hangul"),
        ("Сохраните документ.", "script", "Cyrillic"),
        ("שלום עולם", "script", "Hebrew"),
        ("文書を保存する", "script", "CJK"),
        ("Das Dokument speichern.", "language", "seems to be de, not en"),
        ("Enregistrer le document.", "language", "seems to be fr, not en"),
    ],
)
def test_a_source_that_the_model_did_not_learn_is_warned_of(
    to_korean: Translator, line: str, kind: str, names: str
) -> None:
    warnings = [flag for flag in to_korean.translate(line).warnings if flag.kind == kind]
    assert len(warnings) == 1
    assert names in warnings[0].text


@pytest.mark.parametrize(
    "line",
    [
        "",
        "👩👩👧👧",
        "12:30",
        "Save the document.",
        "OK",
        "GIMP 2.10",
        "Click the 저장 button.",
        "Ω",
        "Set α to β here.",
    ],
)
def test_lines_of_its_language_are_not(to_korean: Translator, line: str) -> None:
    assert kinds(to_korean.translate(line)) == []


def test_an_english_line_is_foreign_to_a_model_of_korean(to_english: Translator) -> None:
    assert "language" in kinds(to_english.translate("Click the button to save the document."))
    assert kinds(to_english.translate("GIMP 설정을 저장합니다.")) == []


def test_correct_pairs_are_hardly_ever_warned_of(to_korean: Translator, to_english: Translator) -> None:
    """At most 0.5 % of the pairs of the embedded text, in either direction."""
    pairs = []
    for name in ("valid", "test"):
        with gzip.open(EMBEDDED / f"{name}.tsv.gz", "rt", encoding="utf-8") as file:
            pairs += [line.rstrip("\n").split("\t") for line in file]
    assert len(pairs) > 500
    for check, way in ((to_korean.language_check, 1), (to_english.language_check, -1)):
        assert check
        sides = [pair[::way] for pair in pairs]
        ids = check.tokenizer.encode([source for source, _ in sides], "source")
        warned = [
            source for (source, target), own in zip(sides, ids, strict=True) if [*check.flags(source, own, target)]
        ]
        assert len(warned) <= 0.005 * len(sides), warned


def test_a_translation_in_other_letters_is_warned_of(to_korean: Translator, to_english: Translator) -> None:
    assert to_korean.language_check
    assert to_english.language_check
    plain = "then click the button to save it"
    assert [flag.kind for flag in to_korean.language_check.flags("Save it.", [], plain)][-1:] == ["script"]
    for code in ("mkdir -p /usr/local", "GIMP Wiki", "https://example.org/a/b"):
        assert "translation" not in str(list(to_korean.language_check.flags("Save it.", [], code)))
    found = list(to_english.language_check.flags("저장", [], "문서를 저장합니다"))[-1]
    assert (found.kind, found.text) == ("script", "the translation is in Hangul letters, not in those of en")


def test_a_language_that_nothing_is_known_of_is_never_warned_of(to_korean: Translator) -> None:
    check = LanguageCheck(to_korean.tokenizer, "x-toy", "und")
    for line in ("Das Dokument speichern, bitte sofort.", "Save the document as soon as you can."):
        assert list(check.flags(line, to_korean.tokenizer.encode([line], "source")[0], line)) == []


@pytest.mark.parametrize(("tag", "line"), [("nb", "Hunden løber hurtigt gennem den grønne skov i dag"), ("pt-BR", "")])
def test_close_languages_are_not_distinguished(to_korean: Translator, tag: str, line: str) -> None:
    check = LanguageCheck(to_korean.tokenizer, tag, "ko")
    assert not [flag for flag in check.flags(line, range(4, 4 + len(line)), "") if flag.kind == "language"]


# --- empty ---------------------------------------------------------------------------------------------------------


def mute_below(least: int) -> FakeEngine:
    """An engine that says nothing, unless it has to say `least` tokens."""

    def answer(query: Query, options: DecodeConfig) -> list[Hypothesis]:
        return [Hypothesis(tuple(query.source) if options.min_length >= least else (), -1.0, -1.0)]

    return FakeEngine(answer)


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return learn([("the red dog", "der rote hund")] * 30, TokenizerConfig(vocab_size=272))


def test_an_empty_translation_is_searched_for_again_and_then_warned_of(tokenizer: Tokenizer) -> None:
    mute, shy = (Translator(tokenizer, mute_below(least), DecodeConfig(), max_source_tokens=40) for least in (99, 2))
    assert (mute.translate("the dog").text, kinds(mute.translate("the dog"))) == ("", ["empty"])
    assert (shy.translate("the dog").text, kinds(shy.translate("the dog"))) == ("the dog", [])
    for line in ("", "  ", "…", "12"):
        assert kinds(mute.translate(line)) == []
    limited = mute.translate("the dog", max_length=1)
    assert kinds(limited) == ["empty"]


# --- line breaks inside of a str -----------------------------------------------------------------------------------


@pytest.mark.parametrize("separator", ["\n", "\r\n", "\r", "\u2028", "\u2029", "\x85", "\v", "\f", "\n\n"], ids=ascii)
def test_a_line_break_separates_sentences_and_a_line_stays_a_line(to_korean: Translator, separator: str) -> None:
    one, other = "Save the file.", "Close the window."
    whole = to_korean.translate(f"{one}{separator}{other}{separator}")
    assert whole.text == f"{to_korean.translate(one).text} {to_korean.translate(other).text}"
    assert whole.warnings[-1].text == "translated in 2 parts"
    assert to_korean.translate(separator).text == ""
