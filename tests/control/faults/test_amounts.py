"""Amounts: compared by value, with sign and power of ten; forgiven where the other side has them in words."""

import pytest

from dragoman.config import DecodeConfig
from dragoman.control.faults.amounts import compare
from dragoman.control.faults.faults import Requirements
from dragoman.text.words.amounts import find_amounts
from dragoman.text.words.number_words import months, spoken

EN_KO = ("en", "ko")


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("2 million people", [2_000_000]),
        ("200만 명", [2_000_000]),
        ("1억 2천만 원", [120_000_000]),
        ("4천 5백만 주, 7억 9천 9백만", [45_000_000, 799_000_000]),
        ("5만 8,000명", [58_000]),
        ("1조 2,000억", [1_200_000_000_000]),
        ("5 hundred thousand and 2 dozen", [500_000, 24]),
        ("a 12-billion-dollar plan, 2.5 billion", [12_000_000_000, 2_500_000_000]),
        ("-5°C, −7, -$3, 2-4, a-5, 3 - 1", [-5, -7, -3, 2, 4, 5, 3, 1]),
        ("5만큼, 3조각, Vue 2 경험", [5, 3, 2]),
        ("3천 5개", [3000, 5]),
        ("10K views, 10k users, 5Kbps", [10_000, 10_000, 5]),
        ("$5B, $1.2T and US$3B, 5B pencils, vitamin 3B", [5 * 10**9, 12 * 10**11, 3 * 10**9, 5, 3]),
    ],
)
def test_an_amount_has_the_value_of_its_powers_and_sign(text: str, values: list[int]) -> None:
    assert [amount.value for amount in find_amounts(text)] == values


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("two hundred and five", {205}),
        ("once every twenty-four hours", {1, 24}),
        ("half a million, three decades", {500_000, 30}),
        ("a million and a half, two and a half billion", {1_500_000, 2_500_000_000}),
        ("a quarter of a million, three quarters of a million, half-dozen", {250_000, 750_000, 6}),
        ("이삼 일, 삼백이십 명, 스물한 명", {2, 3, 320, 21}),
        ("the twenty-first century, twenty one-way tickets", {21, 20, 1}),
        ("이백만 명이 두 번, 열두 시에", {2_000_000, 2, 12}),
        ("천 명", {1000}),
        ("오억 원과 삼일", {500_000_000, 3}),
        ("three million and five million copies", {3_000_000, 5_000_000}),
        ("two hundred thousand and three hundred thousand", {200_000, 300_000}),
        ("one millionth", {1_000_000}),
        ("아홉시반, 사륜구동, 십일번, 십일만원", {9, 30, 4, 11, 110_000}),
        ("십일 동안", {11, 10}),
        ("한두 명과 두세 개, 서너 번, 예닐곱 명", {1, 2, 3, 4, 6, 7}),
        ("대여섯 번, 사나흘", {5, 6, 3, 4}),
        ("quarter past three", {15, 3}),
        ("World War I and Elizabeth I", {1}),
        ("It tripled and quadrupled.", {3, 4}),
        ("반값에 절반", {50}),
    ],
)
def test_numbers_in_words_are_read(text: str, values: set[int]) -> None:
    assert values <= set(spoken(text))


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("the twenty-first century", {20, 1}),
        ("half a million", {1_000_000}),
        ("이십일 명", {20}),
        ("스물한 명", {20, 1}),
        ("two hundred people", {2}),
        ("teenagers in their teens", {10}),
    ],
)
def test_a_part_of_a_number_in_words_is_no_number(text: str, values: set[int]) -> None:
    assert not values & set(spoken(text))


def test_a_syllable_of_another_word_is_no_number() -> None:
    assert not spoken("한국의 이야기")
    assert months("Room 12 may have visitors on 5 March.") == [3]


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("2 million", "200만"),
        ("It opens at 9:00.", "9시에 엽니다."),
        ("two dogs", "개 2마리"),
        ("15 May 2024", "2024년 5월 15일"),
        ("-5 degrees", "영하 5도"),
        ("at 3 p.m.", "오후 3시"),
        ("Only 5 are left.", "5만 남았습니다."),
        ("3, 5 and 7", "3, 5, 7"),
        ("half an hour", "30분"),
        ("It costs 12,000 won.", "만 2천 원입니다."),
        ("It is 5,500 won.", "5천 5백 원이다."),
        ("150,000 people", "십오만 명"),
        ("The COVID-19 vaccine is safe.", "코로나19 백신은 안전하다."),
        ("half a million people", "50만 명"),
        ("half a million people", "500,000명"),
        ("teenagers", "10대"),
        ("I'm three months old.", "나는 3개월이다."),
        ("It is 2.0 at most.", "최대 이점영이다."),
        ("It leaves at 7:30pm.", "19시 30분에 출발한다."),
        ("Half a million people came.", "오십만 명이 왔다."),
        ("Three hundred and twenty people", "삼백이십 명"),
        ("One and a half million won", "150만 원"),
        ("He is in his thirties.", "그는 삼십 대이다."),
        ("The donkeys were thirty thousand five hundred.", "나귀가 삼만 오백이라."),
        ("A teenager ate 10 apples.", "10대가 사과 열 개를 먹었다."),
        ("It is the twenty-first century.", "21세기입니다."),
        ("On May 5, 2024, 300 people came.", "2024년 5월 5일에 300명이 왔다."),
        ("COVID-19 and COVID-19", "코로나19와 코로나19"),
        ("5 apples and 5 pears", "사과와 배 다섯 개씩"),
        ("This is a thirty-second video.", "이것은 30초짜리 비디오입니다."),
        ("thirty third parties", "제3자 30명"),
        ("The house costs 850 million won.", "그 집은 8억 5천만 원이에요."),
        ("The rescue team arrived at the scene.", "구조대가 현장에 도착했다."),
        ("It is fifteen thousand won.", "만 오천 원입니다."),
        ("A hundred and twenty-five people came.", "125명이 왔다."),
        ("The company earned $2.375 billion.", "그 회사는 23억 7,500만 달러를 벌었다."),
        ("The loss is 125.5 million won.", "손실은 1.255억 원이다."),
        ("20,000 to 30,000 people came.", "2~3만 명이 왔다."),
        ("Between 200,000 and 300,000 won", "20~30만 원"),
        ("20-30 million won", "2,000만~3,000만 원"),
        ("3 or 4 thousand people", "3천 명이나 4천 명"),
        ("Two or three million people came.", "이삼백만 명이 왔다."),
        ("The Republic of Korea is a democracy (1).", "제1조 대한민국은 민주 국가이다."),
        ("Article 1. The Republic of Korea is a democracy.", "제1조 대한민국은 민주 국가이다."),
        ("Article 2 Processing of Personal Data", "제2조 개인정보의 처리"),
        ("The leader of group 2 spoke.", "2조 대표가 말했다."),
        ("two dozen eggs and 2 dozen roses", "달걀 스물네 개와 장미 24송이"),
    ],
)
def test_equal_amounts_have_no_warning(source: str, target: str) -> None:
    for ours, theirs, languages in ((source, target, EN_KO), (target, source, EN_KO[::-1])):
        assert not Requirements.of(ours, DecodeConfig(), languages=languages).faults(theirs).flags


@pytest.mark.parametrize(
    ("source", "target", "says"),
    [
        ("244890 people came.", "244890만 명이 왔다.", "244890"),
        ("5 people came.", "5억 명이 왔다.", "500000000"),
        ("It costs 300 dollars.", "가격은 300만 달러입니다.", "3000000"),
        ("temperature -5", "온도 5", "-5"),
        ("Pay before 15 May 2024.", "15월 2024일 전에 내세요.", "lacks 5"),
        ("up to 10 books", "최대 여섯 시", "lacks 10"),
        ("3 dogs", "개 마리", "lacks 3"),
        ("Choose 3, 5 or 7.", "5, 3, 7 중에서 고르세요.", "order"),
        ("The house is old.", "그 집은 300년 됐다.", "300"),
        ("It costs 5,000 won.", "만 5천 원이에요.", "15000"),
        ("It is the twenty-first century.", "20세기입니다.", "20"),
        ("20 people came.", "이십일 명이 왔다.", "20"),
        ("20 people came.", "스물한 명이 왔다.", "20"),
        ("half a million people", "100만 명", "1000000"),
        ("A teenager ate 10 apples.", "십대가 사과를 먹었다.", "lacks 10"),
        ("Two hundred people came.", "2명이 왔다.", "another 2"),
        ("Only 68 people remember.", "68만 명만 기억합니다.", "680000"),
        ("Thirty-five million won was lost.", "육백만 원을 잃었다.", "lacks 35000000"),
        ("십만 명이 모였다.", "A thousand people gathered.", "lacks 100000"),
        ("We met on 25 Dec 2024.", "25년 12월 2024일에 만났다.", "order"),
    ],
)
def test_another_amount_has_a_warning(source: str, target: str, says: str) -> None:
    languages = EN_KO if source.isascii() else EN_KO[::-1]
    flags = Requirements.of(source, DecodeConfig(), languages=languages).faults(target).flags
    assert [flag.kind for flag in flags] == ["number"]
    assert says in flags[0].text


def test_a_number_in_words_may_be_repeated_in_digits() -> None:
    faults = Requirements.of("our or a third party's rights", DecodeConfig(), languages=EN_KO).faults("제3자, 제3자")
    assert not faults.flags


def test_without_known_words_a_small_number_may_be_missing() -> None:
    assert not compare(find_amounts("3 dogs"), [], "3 dogs", "drei Hunde", ("en", "de")).lost
    assert compare(find_amounts("30 dogs"), [], "30 dogs", "Hunde", ("en", "de")).lost


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("2-3 people", "두세 명"),
        ("1-2 hours", "한두 시간"),
        ("3-4 days", "사나흘"),
        ("Meet at quarter past three.", "3시 15분에 만나요."),
        ("During World War I", "제1차 세계 대전 때"),
        ("Part I of the book", "책의 1부"),
        ("It tripled.", "3배로 늘었다."),
        ("At 12:30 a.m.", "0시 30분에"),
        ("10K views", "조회수 1만 회"),
        ("A $5B deal", "50억 달러 거래"),
        ("A 5K run and 14K gold", "5킬로 달리기와 14K 금"),
        ("My 401k plan", "내 401(k) 플랜"),
        ("24K gold", "24금"),
        ("Wait a quarter of an hour.", "15분 기다려."),
    ],
)
def test_a_number_in_another_form_is_the_same(source: str, target: str) -> None:
    for text, other, languages in ((source, target, EN_KO), (target, source, ("ko", "en"))):
        assert not Requirements.of(text, DecodeConfig(), languages=languages).faults(other).flags


@pytest.mark.parametrize(
    ("source", "target"), [("I ran a 5k yesterday.", "어제 5km를 뛰었다."), ("64K of memory", "64KB 메모리")]
)
def test_a_translation_may_say_what_k_is_of(source: str, target: str) -> None:
    assert not Requirements.of(source, DecodeConfig(), languages=EN_KO).faults(target).flags


@pytest.mark.parametrize(
    ("source", "target"),
    [("When I arrived, he left.", "내가 도착했을 때 1명이 떠났다."), ("We have 10K users.", "사용자가 10명 있습니다.")],
)
def test_a_number_that_is_another_is_a_fault(source: str, target: str) -> None:
    assert Requirements.of(source, DecodeConfig(), languages=EN_KO).faults(target).flags


def test_a_number_that_nobody_writes_is_compared_too() -> None:
    source = f"2~{'9' * 5000}만 원"
    assert Requirements.of(source, DecodeConfig(), languages=("ko", "en")).faults("x").missing_numbers[2] == 1
