"""Minimum-Bayes-risk choice against the definition in loops."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics.chrf import CHRF

from dragoman.control.search.n_best import rank_by_utility, utilities

TEXTS = st.lists(
    st.sampled_from(["the server", "a server", "the servers", "서버", "the", "x y z"]), min_size=1, max_size=9
)


@settings(max_examples=25)  # sacrebleu is slow
@given(TEXTS)
def test_utility_is_the_mean_likeness_to_all_others(texts: list[str]) -> None:
    def likeness(index: int) -> float:
        others = texts[:index] + texts[index + 1 :]
        return sum(CHRF().sentence_score(texts[index], [other]).score for other in others) / max(len(others), 1)

    assert utilities(texts) == pytest.approx([likeness(index) for index in range(len(texts))])


@given(TEXTS)
def test_the_choice_is_the_best_and_each_text_is_listed_once(texts: list[str]) -> None:
    order, worth = rank_by_utility(texts), utilities(texts)
    assert sorted(texts[index] for index in order) == sorted(set(texts))
    assert worth[order[0]] == max(worth)
    assert [worth[index] for index in order] == sorted((worth[index] for index in order), reverse=True)


def test_what_is_drawn_often_outweighs_what_is_odd() -> None:
    assert rank_by_utility(["x y z", "the server", "a server", "the server"])[0] == 1


def test_one_text_and_texts_of_nothing() -> None:
    assert rank_by_utility(["alone"]) == [0]
    assert utilities(["alone"]) == [0.0]
    assert utilities(["", ""]) == [100.0, 100.0]
    assert rank_by_utility([]) == []
