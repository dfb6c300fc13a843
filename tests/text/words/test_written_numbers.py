"""How numbers are written, and that they are read again as the same."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.text.words.amounts import find_amounts
from dragoman.text.words.number_words import large_numbers, written


@pytest.mark.parametrize(
    ("value", "english", "korean"),
    [
        (7, "7", "7"),
        (9_500, "9,500", "9,500"),
        (38_000, "38,000", "38,000"),
        (50_000, "50,000", "5만"),
        (1_200_000, "1.2 million", "120만"),
        (1_253_000, "1,253,000", "1,253,000"),
        (35_000_000, "35 million", "3,500만"),
        (230_000_000, "230 million", "2억 3,000만"),
        (1_255_000_000, "1.255 billion", "12억 5,500만"),
        (12_345_600_000_000, "12.3456 trillion", "12조 3,456억"),
        (9_876_543_210, "9,876,543,210", "98억 7,654만 3,210"),
        (10**13, "10 trillion", "10조"),
        (-20_000, "-20,000", "-2만"),
    ],
)
def test_a_number_is_written_as_newspapers_write_it(value: int, english: str, korean: str) -> None:
    assert (written(value, "en"), written(value, "ko")) == (english, korean)


round_numbers = st.tuples(st.integers(1, 9999), st.integers(0, 11)).map(lambda pair: pair[0] * 10 ** pair[1])


@given(round_numbers | st.integers(-(10**15), 10**15), st.sampled_from(["en", "ko"]))
def test_what_is_written_is_read_as_the_same_number(value: int, language: str) -> None:
    for text in (f"It costs {written(value, language)} won.", f"모두 {written(value, language)} 원이다."):
        assert [amount.value for amount in find_amounts(text)] == [value]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("I borrowed thirty-five million won.", {"thirty-five million": 35_000_000}),
        ("one hundred and twenty-five thousand people", {"one hundred and twenty-five thousand": 125_000}),
        ("a hundred thousand people", {"a hundred thousand": 100_000}),
        ("one hundred and three thousand", {"one hundred and three thousand": 103_000}),
        ("삼천오백만 원을 빌렸다", {"삼천오백만": 35_000_000}),
        ("이억 삼천만 원과 십만여 명", {"이억 삼천만": 230_000_000, "십만": 100_000}),
        ("만 이천 원, 이천 오백 원", {"만 이천": 12_000, "이천 오백": 2500}),
    ],
)
def test_large_numbers_in_words_are_found(text: str, found: dict[str, int]) -> None:
    assert {text[begin:end]: value for begin, end, value in large_numbers(text)} == found


@pytest.mark.parametrize(
    "text",
    [
        "millions of people, a thousand times, one in a million",
        "several hundred thousand, three point five million, two and a half million",
        "two million and three million; two billion, one hundred million",
        "a four-thousand-year-old tree, the five thousandth visitor",
        "수백만 명, 수 백만 명, 몇 천 명, 천만의 말씀, 이만 가 볼게, 이천시에 산다, 인천 대학, 구조대가 왔다",
        "two or three million people, two to three thousand, between five and ten million, 2 or three thousand",
        "one million, two hundred and fifty thousand, seven thousand two hundred and five point five",
        "born in two thousand and five, one thousand and one nights, one in a million, ten thousand thanks",
        "이삼천 명, 일이만 원, 삼사백만 원, 이삼억 원, 천만 번 감사해요, 이 천 번",
        "백만장자가 되었다, 오만 대표팀, 오만 대사관, 이천 주민들, 이천 대학교, 이천 권역, 이만 주문할게요",
        "일 원, 이백 명, 백 번, 삼백만 개월, 조원 두 명",
    ],
)
def test_what_may_be_another_number_or_none_is_not(text: str) -> None:
    assert not large_numbers(text)


@given(st.text("twohundredmilliontyn -,andsixaforty 일이천만억원명 ", max_size=400))
def test_any_text_is_read_in_time(text: str) -> None:
    for begin, end, value in large_numbers(text):
        assert value >= 1000
        assert text[begin:end].strip() == text[begin:end] != ""
