"""`pack`: every index exactly once, within the budget, the same for the same seed."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.data.batches.batching import bucket_width, pack

LENGTHS = st.lists(st.tuples(st.integers(1, 60), st.integers(1, 60)), max_size=80)


@given(lengths=LENGTHS, budget=st.integers(1, 400), seed=st.integers(0, 9))
def test_every_pair_is_in_exactly_one_batch(lengths: list[tuple[int, int]], budget: int, seed: int) -> None:
    batches = pack(lengths, budget, random.Random(seed))
    assert sorted(index for batch in batches for index in batch) == list(range(len(lengths)))
    assert all(batches)


@given(lengths=LENGTHS, budget=st.integers(1, 400))
def test_a_batch_with_its_padding_fits_the_budget_unless_it_is_one_pair(
    lengths: list[tuple[int, int]], budget: int
) -> None:
    for batch in pack(lengths, budget, random.Random(0)):
        area = len(batch) * max(max(lengths[index]) for index in batch)
        assert area <= budget or len(batch) == 1


@given(lengths=LENGTHS, budget=st.integers(1, 400), seed=st.integers(0, 9))
def test_the_same_seed_packs_the_same_batches(lengths: list[tuple[int, int]], budget: int, seed: int) -> None:
    assert pack(lengths, budget, random.Random(seed)) == pack(lengths, budget, random.Random(seed))


def test_another_seed_groups_and_orders_otherwise() -> None:
    lengths = [(5, 5)] * 40
    first, second = (pack(lengths, 20, random.Random(seed)) for seed in (1, 2))
    assert first != second
    assert sorted(map(len, first)) == sorted(map(len, second))


def test_pairs_of_like_length_share_a_batch() -> None:
    lengths = [(3, 3), (40, 40), (3, 3), (40, 40)]
    assert sorted(map(sorted, pack(lengths, 80, random.Random(0)))) == [[0, 2], [1, 3]]


def test_batches_do_not_come_in_the_order_of_their_lengths() -> None:
    lengths = [(n, n) for n in range(1, 60)]
    longest = [max(lengths[index] for index in batch) for batch in pack(lengths, 60, random.Random(3))]
    assert longest != sorted(longest)


@pytest.mark.parametrize("budget", [1, 10, 1000])
def test_no_pairs_make_no_batches(budget: int) -> None:
    assert pack([], budget, random.Random(0)) == []


def test_padded_widths_are_few_and_hardly_wider_than_the_text() -> None:
    widths = [bucket_width(length) for length in range(1, 257)]
    assert sorted(set(widths)) == [8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256]
    assert all(0 <= width - length < max(8, length / 4) for length, width in enumerate(widths, 1))
