"""Sentences divided among threads: all of them, in groups of like length, none of which is long waited for."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.engine.ctranslate2 import balanced_groups


@given(st.lists(st.integers(1, 60), max_size=200), st.integers(1, 8), st.integers(16, 512))
def test_everyone_is_in_one_group_with_those_of_like_length(lengths: list[int], threads: int, most: int) -> None:
    groups = balanced_groups(lengths, threads, most)
    assert sorted(index for group in groups for index in group) == list(range(len(lengths)))
    assert all(groups)
    descending = [max(lengths[index] for index in group) for group in groups]
    assert descending == sorted(descending, reverse=True)
    for longer, shorter in pairwise(groups):
        assert min(lengths[index] for index in longer) >= max(lengths[index] for index in shorter)


@given(st.lists(st.integers(1, 60), min_size=1, max_size=200), st.integers(1, 8), st.integers(16, 512))
def test_no_group_is_much_larger_than_another(lengths: list[int], threads: int, most: int) -> None:
    groups = balanced_groups(lengths, threads, most)
    share = sum(lengths) / (threads * -(-sum(lengths) // (threads * most)))
    assert share <= most
    assert all(sum(lengths[index] for index in group) < share + max(lengths) for group in groups)


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_every_thread_has_one(threads: int) -> None:
    assert len(balanced_groups([10] * 64, threads, 192)) % threads == 0
    assert len(balanced_groups([10] * 4, threads, 192)) == threads


def test_padding_makes_no_group_much_larger_than_asked_for() -> None:
    lengths = [10] * 400 + [500] + [9000]
    for group in balanced_groups(lengths, 1, 4096):
        assert len(group) == 1 or len(group) * max(lengths[n] for n in group) <= 2 * 4096
