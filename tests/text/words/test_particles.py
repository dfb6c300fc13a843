"""Korean particles: chains, agreement, words that only look like a noun with a particle."""

import pytest

from dragoman.text.words.particles import OTHER_WORDS, is_particles, particles_start, with_particles


@pytest.mark.parametrize(
    ("noun", "rest"),
    [
        ("표", ""),
        ("표", "가"),
        ("셀", "이"),
        ("셀", "로"),
        ("칸", "으로"),
        ("서버", "들에게만"),
        ("서버", "로부터의"),
        ("파일", "이나"),
        ("함수", "나"),
        ("값", "이며"),
        ("서버", "에서만은"),
        *(
            ("서버", rest)
            for rest in "예요 라서 니까 죠 네요 고 며 지만 므로 라며 여야 인가요 입니까 이고 한텐".split()
        ),
        *(("파일", rest) for rest in "이에요 입니까 인가요 이라서 이니까 이죠 이네요 일까요 이어야".split()),
    ],
)
def test_a_chain_that_agrees(noun: str, rest: str) -> None:
    assert is_particles(noun, rest)


@pytest.mark.parametrize(
    ("noun", "rest"),
    [
        ("표", "시"),
        ("표", "이"),
        ("셀", "가"),
        ("셀", "으로"),
        ("서버", "를을"),
        ("서버", "은는"),
        ("복사", "하고"),
        ("색", "인을"),
        ("문", "의를"),
        ("로그", "인이"),
        ("플러그", "인"),
        ("차", "고"),
        ("차", "니까"),
        ("무기", "고"),
        ("가지", "고"),
        ("자사", "고"),
        ("아이", "고"),
        ("다리", "고"),
        ("서버", "이에요"),
        ("파일", "예요"),
        ("파일", "라서"),
    ],
)
def test_no_chain(noun: str, rest: str) -> None:
    assert not is_particles(noun, rest)


def test_a_word_of_the_list_is_no_shorter_noun_even_with_particles_of_its_own() -> None:
    for word in OTHER_WORDS:
        for at in range(1, len(word)):
            assert not is_particles(word[:at], word[at:])
            assert not is_particles(word[:at], word[at:] + "까지")


@pytest.mark.parametrize(
    ("noun", "rest", "written"),
    [
        ("칸", "를", "칸을"),
        ("도표", "을", "도표를"),
        ("글월", "으로", "글월로"),
        ("칸", "로부터의", "칸으로부터의"),
        ("칸", "들은", "칸들은"),
        ("칸", "와의", "칸과의"),
        ("칸", "합니다", "칸합니다"),
        ("grid", "를", "grid를"),
        ("칸", "", "칸"),
        ("파일", "예요", "파일이에요"),
        ("서버", "이에요", "서버예요"),
        ("책", "여야", "책이어야"),
        ("서버", "이어야", "서버여야"),
        ("서버", "이라서", "서버라서"),
        ("책", "죠", "책이죠"),
    ],
)
def test_particles_take_the_shape_that_agrees(noun: str, rest: str, written: str) -> None:
    assert with_particles(noun, rest) == written


@pytest.mark.parametrize(
    ("word", "noun"),
    [
        ("셀을", "셀"),
        ("사용자들에게", "사용자"),
        ("결과", "결과"),
        ("결과를", "결과"),
        ("표시합니다", "표시합니다"),
        ("GPU를", "GPU"),
        ("GPU", "GPU"),
        ("을", "을"),
        ("", ""),
    ],
)
def test_where_the_particles_of_a_word_begin(word: str, noun: str) -> None:
    assert word[: particles_start(word)] == noun
