"""Rows that hold several pairs: every pair once, none in two rows, the ids of pairs side by side."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.data.batches.batch import Example, collate
from dragoman.data.batches.rows import NumberedText, PackedRows, pack_rows, row_width
from dragoman.text.tokens.marks import Marks
from dragoman.text.tokens.tokenizer import BOS, EOS, PAD

LENGTHS = st.lists(st.tuples(st.integers(1, 40), st.integers(1, 40)), max_size=60)


@given(LENGTHS, st.integers(1, 100), st.sampled_from([4, 8, 16]), st.integers(0, 3))
def test_every_pair_is_in_one_row_that_is_wide_enough(
    lengths: list[tuple[int, int]], budget: int, width: int, seed: int
) -> None:
    groups = list(pack_rows(lengths, budget, width, random.Random(seed)))
    assert sorted(index for group in groups for row in group.rows for index in row) == list(range(len(lengths)))
    for group in groups:
        assert len(group.rows) == max(1, budget // group.width), "the shape does not depend on the pairs"
        assert any(group.rows)
        for row in group.rows:
            for side in (0, 1):
                assert sum(lengths[index][side] for index in row) <= group.width
            assert group.width == width or all(max(lengths[index]) > group.width // 2 for index in row)


def test_rows_are_nearly_full() -> None:
    rng = random.Random(1)
    lengths = [(length, max(1, round(length * rng.uniform(0.7, 1.3)))) for length in rng.choices(range(2, 60), k=20000)]
    groups = list(pack_rows(lengths, 4096, 128, rng))
    positions = sum(len(group.rows) * group.width for group in groups)
    assert sum(max(map(sum, zip(*[lengths[i] for i in row], strict=True))) for g in groups for row in g.rows) > 0.9 * (
        positions
    )


def test_the_next_pairs_are_taken_in_the_order_that_the_seed_gives() -> None:
    lengths = [(5, 5)] * 300
    groups = list(pack_rows(lengths, 256, 128, random.Random(7)))
    order = list(range(300))
    random.Random(7).shuffle(order)
    taken = [index for group in groups for row in group.rows for index in row]
    assert sorted(taken[:50]) == sorted(order[:50]), "two rows of 25"


@pytest.mark.parametrize(("longest", "width"), [(20, 64), (63, 64), (64, 128), (200, 128)])
def test_short_texts_have_narrow_rows(longest: int, width: int) -> None:
    assert row_width(longest) == width


def test_a_row_is_the_ids_of_its_pairs_side_by_side() -> None:
    pairs = [
        Example([5, 6], [7], "a.tsv:3"),
        Example([8], [9, 10], "b.tsv:1", Marks((70_000,), (12, 13))),
        Example([14], [15], "a.tsv:9"),
    ]
    text = NumberedText(pairs)
    batch = text.batch(PackedRows(8, ((0, 1), (), (2,))))
    assert batch.src.tolist() == [
        [5, 6, EOS, 70_000, 8, EOS, PAD, PAD],
        [PAD] * 8,
        [14, EOS, *[PAD] * 6],
    ]
    assert batch.tgt_in.tolist()[0] == [BOS, 7, BOS, 12, 13, 9, 10, PAD]
    assert batch.tgt_out.tolist()[0] == [7, EOS, PAD, PAD, 9, 10, EOS, PAD]
    assert batch.locations == ("a.tsv:3", "b.tsv:1", "a.tsv:9")
    assert batch.lengths == tuple(pair.lengths for pair in pairs)
    assert batch.target_tokens == sum(pair.target_tokens for pair in pairs)


def test_a_pair_alone_in_a_row_is_what_a_padded_batch_has() -> None:
    pair = Example([5, 6], [7, 8, 9], "", Marks((11,), (12,)))
    row, alone = NumberedText([pair]).batch(PackedRows(16, ((0,),))), collate([pair], width=16)
    for ours, theirs in zip(row.tensors, alone.tensors, strict=True):
        assert ours.equal(theirs)
