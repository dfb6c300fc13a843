"""Faults are found where they are, and nowhere else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.control.faults.faults import detect_fault, is_copy, longest_repeated_span, max_consecutive_repeats


def kind(source_ids: list[int], target_ids: list[int], text: str = "") -> str | None:
    flag = detect_fault(source_ids, text, target_ids)
    return flag and flag.kind


SENTENCE = list(range(100, 130))


@pytest.mark.parametrize(
    "target_ids",
    [
        [7] * 8,
        [1, 2, 3, *[7] * 12],
        [7, 8] * 9,
        [*SENTENCE[:10], *[4, 5, 6, 7] * 6],
        [*SENTENCE, *SENTENCE],
        [*SENTENCE, 1, *SENTENCE, 2, *SENTENCE],
    ],
    ids=["a word", "at the end", "two words", "a clause", "a sentence twice", "a sentence thrice"],
)
def test_a_translation_that_repeats_what_its_source_says_once_is_a_loop(target_ids: list[int]) -> None:
    assert kind(SENTENCE, target_ids) == "loop"


@pytest.mark.parametrize(
    ("source_ids", "target_ids"),
    [
        (SENTENCE, SENTENCE[::-1]),
        ([5, 1] * 8, [9] * 9),
        ([*SENTENCE, *SENTENCE], [*SENTENCE, *SENTENCE]),
        ([1, 2, 3], [7, 7, 7, 8, 9]),
        (SENTENCE, [*range(40, 52), *range(10), *range(40, 52), *range(20, 30), *range(40, 52)]),
    ],
    ids=["a sentence", "a chorus", "a sentence twice in both", "emphasis", "a long name three times"],
)
def test_what_is_repeated_for_a_reason_is_no_loop(source_ids: list[int], target_ids: list[int]) -> None:
    assert kind(source_ids, target_ids) is None


def test_laughter_may_be_one_token_in_one_language_and_many_in_the_other() -> None:
    assert kind([3, 4], [9] * 12, text="ㅋㅋㅋㅋㅋㅋ 웃겨") is None
    assert kind([3, 4], [9] * 12, text="웃겨 죽겠다") == "loop"


@pytest.mark.parametrize(
    ("source_ids", "target_ids", "expected"),
    [(40, 6, "length"), (3, 40, "length"), (40, 15, None), (3, 25, None), (30, 75, None), (1, 1, None), (3, 0, None)],
)
def test_lengths_far_apart_are_a_fault(source_ids: int, target_ids: int, expected: str | None) -> None:
    assert kind(list(range(source_ids)), list(range(target_ids))) == expected


@given(st.lists(st.integers(0, 2), max_size=30))
def test_the_longest_repeats_are_those_of_plain_counting(items: list[int]) -> None:
    blocks = [items[i : i + n] for n in range(1, 5) for i in range(len(items) - n + 1)]
    in_a_row = max((k for block in blocks for k in range(1, 31) if has(items, block * k)), default=1)
    assert max_consecutive_repeats(items) == in_a_row
    stretches = [
        n
        for n in range(4, len(items) + 1)
        for i in range(len(items) - n + 1)
        if all(has(items[: j + 3], items[j : j + 4]) for j in range(i, i + n - 3))
    ]
    assert longest_repeated_span(items) == max(stretches, default=0)


def has(items: list[int], block: list[int]) -> bool:
    return any(items[i : i + len(block)] == block for i in range(len(items) - len(block) + 1))


@pytest.mark.parametrize(
    ("source", "translation"),
    [
        ("the dog sees a small bird", "The dog sees a  small bird"),
        ("the dog sees a small bird today.", "the dog sees a small bird today!"),
        ("나는 오늘 학교에 가지 않았다.", "나는 오늘 학교에 가지 않았다."),
        ("我昨天没有去学校因为我生病了。", "我昨天没有去学校因为我生病了。"),
        ("Der Hund sieht heute einen kleinen Vogel", "Der Hund sieht heute einen kleinen Vogel"),
        ("Hello {name}!", "Hello {name}!"),
        ("Good morning, X1.", "Good morning, X1."),
        ("मैं आज स्कूल नहीं गया क्योंकि बीमार था", "मैं आज स्कूल नहीं गया क्योंकि बीमार था"),
    ],
)
def test_a_source_repeated_as_its_translation_is_a_copy(source: str, translation: str) -> None:
    assert is_copy(source, translation)


@pytest.mark.parametrize(
    ("source", "translation"),
    [
        ("", ""),
        ("OK", "OK"),
        ("Kim Min-su, Park Ji-hoon, Lee So-ra, Choi Woo", "Kim Min-su, Park Ji-hoon, Lee So-ra, Choi Woo"),
        ("3.14 2,000 15:30 2026-01-01 17", "3.14 2,000 15:30 2026-01-01 17"),
        ("https://example.org/a/long/path?of=words me@example.org a.txt /usr/bin", "https://example.org/a/long/path"),
        ("pip install dragoman", "pip install dragoman"),
        ("Yahoo!", "Yahoo!"),
        ("Acme Inc.", "Acme Inc."),
        ("Contoso {version}", "Contoso {version}"),
        ("김민수, 박지훈, 이소라", "김민수, 박지훈, 이소라"),
        ("北京市海淀区", "北京市海淀区"),
        ("나는 오늘 학교에 가지 않았다.", "I did not go to school today."),
        ("the dog sees a small bird", "the hund sieht a kleinen bird"),
    ],
)
def test_names_numbers_addresses_and_translations_are_no_copies(source: str, translation: str) -> None:
    assert not is_copy(source, translation)
