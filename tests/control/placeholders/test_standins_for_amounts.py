"""Numbers with a power of ten in words: where a translation has another, it is searched again with a number to copy."""

import re
from collections.abc import Callable

import pytest

from dragoman.config import DecodeConfig, TokenizerConfig
from dragoman.control.faults.faults import Requirements
from dragoman.control.placeholders.standins import SourceVariant, variants
from dragoman.decode.hypothesis import Hypothesis
from dragoman.engine import Query
from dragoman.text.tokens.tokenizer import learn
from dragoman.translator import Translator
from stand_ins import FakeEngine

KOREAN = {
    "이 차는 3천5백만 원이에요.": "35 million",
    "올해 매출은 2억 3천만 원입니다.": "230 million",
    "콘서트에 3만 5천 명이 모였다.": "35,000",
    "월마트는 1억 명 이상의 미국인들이 매주 가게를 방문한다고 추정합니다.": "100 million",
}
ENGLISH = {
    "This car costs 35 million won.": "3,500만 원",
    "Sales this year are 230 million won.": "2억 3,000만 원",
    "The airline expects to save $16 million a year.": "1,600만 달러",
}


def first(source: str, languages: tuple[str, str] | None) -> SourceVariant:
    requirements = Requirements.of(source, DecodeConfig(), languages=languages)
    return next(variants(requirements, requirements.numbers))


@pytest.mark.parametrize(
    ("source", "languages", "shown", "translation", "restored"),
    [
        ("차는 3천5백만 원", ("ko", "en"), "차는 2,900 원", "The car is 2900 won.", "The car is 35 million won."),
        ("1.5만 명과 20억 원", ("ko", "en"), "2,900 명과 3,800 원", "3,800 for 2,900", "2 billion for 15,000"),
        ("It lost $2.5 million.", ("en", "ko"), "It lost $2,900.", "2,900달러를 잃었다.", "250만 달러를 잃었다."),
        ("About 3 million came", ("en", "ko"), "About 2,900 came", "약 2,900이 왔다", "약 300만이 왔다"),
        ("About 3 million saw it", ("en", "ko"), "About 2,900 saw it", "2,900여 명을", "300만여 명을"),
        ("borrowed thirty-five million won", ("en", "ko"), "borrowed 2,900 won", "2,900원을", "3,500만 원을"),
        ("이천오백만 원이에요", ("ko", "en"), "2,900 원이에요", "It's 2,900 won", "It's 25 million won"),
        ("It lost $2.5 million.", ("en", "ko"), "It lost $2,900.", "$2900을 잃었다.", "$250만을 잃었다."),
        ("$2.375 billion", ("en", "ko"), "$2,900", "2,900달러", "23억 7,500만 달러"),
        ("20~30만 원", ("ko", "en"), "2,900~3,800 원", "2,900 to 3,800 won", "200,000 to 300,000 won"),
        ("20-30 million", ("en", "ko"), "2,900-3,800", "2,900~3,800명", "2,000만~3,000만 명"),
        ("20 or 30 million", ("en", "ko"), "31 or 42 million", "31 또는 42백만", None),
        ("2,900 of 3 million", ("en", "ko"), "31 of 3,800", "3,800 중 31", "300만 중 2,900"),
        ("costs 3 million", ("en", "ko"), "costs 2,900", "2,900억 원", None),  # it multiplied the stand-in
        ("costs 3 million", ("en", "ko"), "costs 2,900", "비싸다", None),
        ("costs 3 million", ("en", "de"), "costs 31 million", "31 Millionen", "3 Millionen"),
        ("costs 3 million", None, "costs 31 million", "31 Millionen", "3 Millionen"),
    ],
)
def test_an_amount_is_written_in_the_way_of_the_target(
    source: str, languages: tuple[str, str] | None, shown: str, translation: str, restored: str | None
) -> None:
    variant = first(source, languages)
    assert variant.text == shown
    assert variant.restored(translation) == restored


def test_a_letter_may_be_a_name_and_is_only_reported() -> None:
    requirements = Requirements.of("the 10k club", DecodeConfig(), languages=("en", "ko"))
    faults = requirements.faults("클럽")
    assert faults.flags
    assert faults.count == 0
    assert Requirements.of("3 million", DecodeConfig(), languages=("en", "ko")).faults("클럽").count
    assert Requirements.of("3 million", DecodeConfig(), languages=("en", "de")).faults("Klub").count == 0


def translator(translate: Callable[[str], str]) -> Translator:
    """A translator that says what `translate` makes of a text."""
    letters = " ".join("It lost million won 0 1 2 3 4 5 6 7 8 9 . ,".replace(" ", ""))
    tokenizer = learn([(letters, "만 원")] * 40, TokenizerConfig(vocab_size=284))

    def say(query: Query, options: DecodeConfig) -> list[Hypothesis]:
        [text] = tokenizer.decode([list(query.source)], "source")
        [ids] = tokenizer.encode([translate(text)], "target")
        return [Hypothesis(tuple(ids), -1.0, -1.0)]

    return Translator(tokenizer, FakeEngine(say), DecodeConfig(), language="en", target_language="ko")


def test_a_model_that_copies_numbers_and_multiplies_wrongly_is_corrected() -> None:
    found = translator(lambda text: text.replace("million", "만")).translate("It lost 2.5 million won")
    assert "250만 won" in found.text
    assert not found.warnings


def test_a_model_that_copies_no_number_is_left_alone_and_reported() -> None:
    found = translator(lambda text: re.sub(r"[\d.,]+", "7", text)).translate("It lost 2.5 million won")
    assert found.text == "It lost 7 million won"
    assert [flag.kind for flag in found.warnings] == ["number"]


def test_years_stay_where_amounts_are_replaced() -> None:
    seen = []

    def translate(text: str) -> str:
        seen.append(text)
        return text.replace("million", "만")

    found = translator(translate).translate("It lost 2.5 million in 2019")
    assert "It lost 2,900 in 2019" in seen
    assert found.text == "It lost 250만 in 2019"


@pytest.mark.parametrize("digits", ["9" * 30, "1" + "0" * 40, f"{'9' * 30}.5"])
def test_what_no_sum_reaches_is_reported(digits: str) -> None:
    for text in (f"It lost {digits} million", f"It lost {digits}만"):
        assert translator(lambda line: line.replace("9", "7")).translate(text).text


@pytest.mark.parametrize(("model", "cases"), [("ko-en", KOREAN), ("en-ko", ENGLISH)])
def test_the_bundled_models_keep_amounts(model: str, cases: dict[str, str]) -> None:
    found = Translator.load(model, threads=1).translate([*cases])
    for translation in found:  # the warning compares values: "thirty-five thousand" is right too
        assert "number" not in {flag.kind for flag in translation.warnings}, translation
    assert any(amount in translation.text for translation, amount in zip(found, cases.values(), strict=True))
