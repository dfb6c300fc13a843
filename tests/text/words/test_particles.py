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
