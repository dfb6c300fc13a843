"""Segmentation: nothing is lost, everything fits, sentences stay whole where they can."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from costs import slowness
from dragoman.text.segment import Count, Segment, divide, sentences, separator
from dragoman.text.words.normalise import normalise
from suites import cases


def segments(text: str, language: str, longest: int, count: Count) -> list[Segment]:
    return [Segment.of(part) for part in divide(text, language, longest, count)]


def words(text: str) -> int:
    return len(text.split())


def texts(text: str, longest: int, language: str = "en") -> list[str]:
    return [segment.text for segment in segments(text, language, longest, words)]


TEXT = st.text(alphabet='ab .,;?!"”」가라고말。、한\u0301👩\u200d1-', max_size=80).map(normalise)


@settings(deadline=None, max_examples=300)
@given(TEXT, st.integers(2, 9), st.sampled_from(["ko", "en", "ja", "tlh"]))
def test_the_segments_put_together_are_the_text_and_each_fits(text: str, longest: int, language: str) -> None:
    found = segments(text, language, longest, len)
    assert "".join(segment.text + segment.separator for segment in found) == text
    assert all(len(segment.text) <= longest for segment in found)
    assert {segment.separator for segment in found} <= {"", " "}
    assert all(segment.text and segment.text == segment.text.strip() for segment in found)


def test_a_character_of_too_many_tokens_is_a_segment_of_its_own() -> None:
    found = segments("한국 말", "ko", 1, lambda text: len(text.strip().encode()))
    assert [(segment.text, segment.separator) for segment in found] == [("한", ""), ("국", " "), ("말", "")]


@pytest.mark.parametrize(
    ("language", "parts"),
    [
        ("ko", ['그는 "가자!"라고 말했다. ', "나는 웃었다."]),
        ("ko", ["그는 “왜 그래? 어디 아파?”라고 물었다. ", "그녀는 “아니요.” 하고 답했다."]),
        ("ko", ["그는 '정말?' 하고 물었다. ", "아무도 몰랐다."]),
        ("ko", ['"가자!"는 말에 그는 일어났다. ', '"그래." ', "그녀가 말했다."]),
        ("ko", ["“간다.” ", "하지만 그는 가지 않았다."]),
        ("ko", ["가격은 3.5달러이다. ", "1. 첫째는 이것이다."]),
        ("en", ["Dr. Smith came at 5 p.m. today. ", 'He said "Go!" and left. ', "Why?"]),
        ("en", ["Its extension is .BAK. ", "See notes.txt!"]),
        ("ja", ["彼は「行こう！」と言った。", "私は学生です。"]),
        ("zh", ["他说：“走吧！”然后离开了。", "你好。"]),
        ("pt-BR", ["O Sr. Silva chegou. ", "Ele saiu."]),
        ("fr", ["Les fruits, c. à d. les pommes. ", "On part en 52 av. J.-C. environ. ", "M. Dupont rit."]),
        ("fr", ["Il habite au bloc M. ", "Il est parti. ", "Il a gagné 5 M. ", "Elle aussi."]),
        ("en", ["He left.", "-She stayed."]),
        ("fr", ["On part tôt, c.-à-d. à 5 h. ", "Voilà."]),
        ("ru", ["Он купил фрукты, т. е. яблоки. ", "Да."]),
        ("pl", ["Lubi m. in. jabłka, np. małe. ", "Tak."]),
        ("en", ["It is approx. as long. ", "I have plan B. ", "He came in. ", "then he left."]),
        ("tlh", ["Heghlu'meH QaQ jajvam. ", "Qapla'!"]),
        ("ko", ["계약 기간은 2024. 1. 1.부터 2024. 12. 31.까지로 한다. ", "본 계약은 '24. 3. 5. 체결되었다."]),
        ("ko", ["접수기간: 2023. 5. 1.(월) ~ 5. 31.(수)"]),
        ("ko", ["회의는 내일 시작합니다.", "자료는 첨부했어요!", "확인 부탁드립니다."]),
        ("ko", ["비밀번호를 잊으셨나요?를 누르세요. ", "그는 가자!라고 말했다. ", "왜 안 돼?라는 질문이다."]),
        ("ko", ["무엇인가?에 대한 답이다. ", "곧 갑니다.라고 말했다. ", "야후!코리아와 네이버가 있다."]),
        ("ko", ["초.중.고 학생이 수요.공급을 배운다. ", "캐나다.미국에 갔다."]),
        ("ko", ['"그래?" 하더니 갔다. ', '"됐어." 하자 그는 갔다. ', '"응." 하니 좋다.']),
        (
            "en",
            [
                "I spoke with Ms. Johnson. ",
                "It opens Mon. through Fri. from 9 a.m. today. ",
                "He sat. ",
                "then he ate.",
            ],
        ),
        (
            "en",
            [
                "It takes approx. 5 minutes, max. 3 hrs. in Apt. 3, incl. 3 meals. ",
                "See ch. 3. ",
                "Add 2 tbsp. of oil.",
            ],
        ),
        ("de", ["Der 2. Weltkrieg war im 20. Jahrhundert. ", "Er kam am 20. ", "Er ist 20. ", "Die 2. und 3. Woche."]),
        ("fr", ["Dr. Martin est à St. Pierre. ", "Il rit."]),
        ("es", ["D. Juan y Dña. Ana. ", "Toma vitamina D. ", "El sol ayuda."]),
        ("ru", ["Рис. 3 есть. ", "Им. Пушкина. ", "Помоги им. ", "Иван ушёл."]),
    ],
)
def test_sentences_and_their_quotations_stay_whole(language: str, parts: list[str]) -> None:
    assert sentences("".join(parts), language) == parts


def test_what_has_no_letters_is_no_sentence_of_its_own() -> None:
    assert sentences("Yes. 3. 4. And so on. 5.", "en") == ["Yes. ", "3. 4. And so on. 5."]


def test_a_sentence_too_long_is_cut_at_a_clause_near_its_middle() -> None:
    text = "one two three, four five six; seven eight nine ten, eleven twelve"
    assert texts(text, 6) == ["one two three, four five six;", "seven eight nine ten, eleven twelve"]
    assert texts(text, 12) == [text]


def test_cut_is_at_a_space_without_clauses_and_in_a_word_without_spaces() -> None:
    assert texts("one two three four", 2) == ["one two", "three four"]
    assert [segment.text for segment in segments("abcdefgh", "en", 4, len)] == ["abcd", "efgh"]
    assert texts("about 1,000,000 and 2,000,000 dollars", 4) == ["about 1,000,000", "and 2,000,000 dollars"]


@pytest.mark.parametrize("unit", ["e\u0301\u0323", "👩\u200d👩\u200d👧", "👍🏽", "नि"], ids=ascii)
def test_cut_separates_no_accent_and_no_joined_emoji(unit: str) -> None:
    found = segments(unit * 40, "en", 25, len)
    assert len(found) > 3
    assert all(segment.text == unit * (len(segment.text) // len(unit)) for segment in found)


@pytest.mark.slow
@pytest.mark.parametrize(
    "unit",
    cases(["x", ".", '"', "1. ", "가", "\u0301", "ab. ", '그는 "가자!"라고 했다. ', ", "], quick=["ab. "]),
    ids=ascii,
)
def test_a_megabyte_on_a_line_is_cut_in_seconds(unit: str) -> None:
    text = normalise(unit * (1_000_000 // len(unit)))
    start = time.process_time()
    found = segments(text, "ko", 200, len)
    assert time.process_time() - start < 20 * slowness()
    assert "".join(segment.text + segment.separator for segment in found) == text
    assert max(len(segment.text) for segment in found) <= 200


@pytest.mark.parametrize(
    ("source", "translation", "expected"),
    [
        (Segment("Hello.", " "), "안녕.", " "),
        (Segment("你好。", ""), "Hello.", " "),
        (Segment("你好。", ""), "こんにちは。", ""),
        (Segment("长长的字", ""), "a long word", " "),
        (Segment("xxxx", ""), "xxxx", ""),
        (Segment("xxxx", ""), "", ""),
    ],
)
def test_between_translations_are_the_separators_of_their_sources(
    source: Segment, translation: str, expected: str
) -> None:
    assert separator(source, translation) == expected


def test_no_symbol_of_a_placeholder_is_cut() -> None:
    for before in range(12):
        text = "가" * before + "⟦12⟧" * 6
        parts = segments(text, "ko", 5, lambda part: len(part.replace("⟦12⟧", "x")))
        assert "".join(part.text + part.separator for part in parts) == text
        assert all(part.text.count("⟦") == part.text.count("⟧") for part in parts)
