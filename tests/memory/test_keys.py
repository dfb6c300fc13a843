"""What is compared of two sources, against a plain dynamic program and by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.memory.keys import key_of, similarity, tokens_of, with_numbers_of, without_numbers


def distance(one: list[str], other: list[str]) -> int:
    """Levenshtein 1966, row by row."""
    row = list(range(len(other) + 1))
    for number, token in enumerate(one, 1):
        last, row[0] = row[0], number
        for at, against in enumerate(other, 1):
            last, row[at] = row[at], min(row[at] + 1, row[at - 1] + 1, last + (token != against))
    return row[-1]


@given(st.lists(st.sampled_from("abc"), max_size=8), st.lists(st.sampled_from("abc"), max_size=8))
def test_similarity_is_one_less_the_distance_by_the_longer_length(one: list[str], other: list[str]) -> None:
    expected = 1 - distance(one, other) / max(len(one), len(other), 1)
    assert similarity(one, other) == pytest.approx(expected)
    assert similarity(one, other, min(1, expected + 0.01)) == (1 if expected == 1 else 0)


def test_tokens_are_words_or_characters_by_script() -> None:
    assert tokens_of("Open the file, 12.5 GB!") == ["open", "the", "file", ",", "12", ".", "5", "gb", "!"]
    assert tokens_of("파일을 열기") == ["파", "일", "을", "열", "기"]
    assert tokens_of("GPU를") == ["gpu", "를"]
    assert tokens_of("ファイル") == list("ファイル")


def test_a_key_forgets_spaces_and_composition_only() -> None:
    assert key_of("  a\u0301\tb\n c ") == "á b c"
    assert key_of("File") != key_of("file")
    assert without_numbers("3 of 1,200 on 2024-01-02") == "0 of 0 on 0"


def test_a_particle_agrees_with_the_number_that_is_new() -> None:
    assert with_numbers_of("Delete row 4.", "Delete row 3.", "행 3을 삭제하세요.", ("en", "ko")) == "행 4를 삭제하세요."
    assert with_numbers_of("Use 6.", "Use 5.", "5는 쓰세요.", ("en", "ko")) == "6은 쓰세요."
    dogs = with_numbers_of("4 dogs, 2 cats", "3 dogs, 2 cats", "개 3마리와 고양이 2은", ("en", "ko"))
    assert dogs == "개 4마리와 고양이 2은"


@pytest.mark.parametrize(
    ("new", "source", "target", "expected"),
    [
        ("Page 7 of 9", "Page 1 of 2", "2쪽 중 1쪽", "9쪽 중 7쪽"),
        ("Page 2 of 1", "Page 1 of 2", "2쪽 중 1쪽", "1쪽 중 2쪽"),
        ("4 GB", "3 GB", "세 기가바이트", None),
        ("4 + 4", "3 + 3", "3 + 3", None),
        ("5 and 5", "5 and 3", "5와 3", "5와 5"),
        ("1,500 won", "1,200 won", "1,200원", "1,500원"),
    ],
)
def test_numbers_are_adapted_where_each_is_once_on_both_sides(
    new: str, source: str, target: str, expected: str | None
) -> None:
    assert with_numbers_of(new, source, target, ("en", "ko")) == expected


@pytest.mark.parametrize(
    ("new", "source", "target", "language", "expected"),
    [
        ("4번째 시도", "3번째 시도", "3rd attempt", "en", None),
        ("파일 5개를 삭제했습니다.", "파일 1개를 삭제했습니다.", "Deleted 1 file.", "en", None),
        ("파일 1개를 삭제했습니다.", "파일 5개를 삭제했습니다.", "Deleted 5 files.", "en", None),
        ("파일 6개를 삭제했습니다.", "파일 5개를 삭제했습니다.", "Deleted 5 files.", "en", "Deleted 6 files."),
        ("1단계", "2단계", "Step 2", "en", "Step 1"),
        ("파일 21개 중 1쪽", "파일 21개 중 2쪽", "Page 2, 21 files", "en", "Page 1, 21 files"),
        ("메모리 2GB", "메모리 1GB", "1GB of memory", "en", "2GB of memory"),
        ("메모리 2 GB", "메모리 1 GB", "1 GB of memory", "en", "2 GB of memory"),
        ("5 files", "2 files", "2 файла", "ru", None),
        ("105 files", "5 files", "5 файлов", "ru", None),
        ("205 files", "105 files", "105 файлов", "ru", "205 файлов"),
        ("2 files", "1 files", "1 tệp", "vi", "2 tệp"),
        ("16비트 값", "8비트 값", "an 8-bit value", "en", None),
        ("line 1", "line 3", "3:e raden", "sv", None),
        ("sor 6", "sor 5", "5-ös sor", "hu", None),
        ("at 6", "at 3", "3'te", "tr", None),
        ("step 4", "step 3", "Schritt 3: öffnen", "de", "Schritt 4: öffnen"),
        ("0 files", "5 files", "5 fichiers", "fr", None),
        ("2 gigabytes", "1 gigabytes", "1GB", "ko", "2GB"),
    ],
)
def test_numbers_are_not_adapted_where_the_word_after_them_may_be_another(
    new: str, source: str, target: str, language: str, expected: str | None
) -> None:
    assert with_numbers_of(new, source, target, ("en", language)) == expected


@pytest.mark.parametrize(
    ("new", "source", "target", "pair", "expected"),
    [
        ("Size: 1.5 GB", "Size: 2 GB", "Größe: 2 GB", ("en", "de"), None),  # 1,5
        ("It weighs 1,000 kg", "It weighs 900 kg", "Es wiegt 900 kg", ("en", "de"), None),  # 1.000
        ("Version 2.4", "Version 2.3", "Version 2.3", ("en", "de"), "Version 2.4"),
        ("Größe: 1,5 GB", "Größe: 2 GB", "Size: 2 GB", ("de", "en"), None),
        ("Größe: 1,5 GB", "Größe: 2 GB", "Taille : 2 GB", ("de", "fr"), None),
        ("Size: 1.5 GB", "Size: 2 GB", "크기: 2 GB", ("en", "ko"), "크기: 1.5 GB"),
        ("Size: 3 GB", "Size: 1.5 GB", "Größe: 1.5 GB", ("en", "de"), "Größe: 3 GB"),
    ],
)
def test_a_number_that_the_target_writes_otherwise_is_not_adapted(
    new: str, source: str, target: str, pair: tuple[str, str], expected: str | None
) -> None:
    assert with_numbers_of(new, source, target, pair) == expected
