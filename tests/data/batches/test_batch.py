"""`collate`: the rectangle a model reads, marks and padding where they belong."""

from dragoman.data.batches.batch import Example, collate, pad, split
from dragoman.text.tokens.tokenizer import BOS, EOS, PAD


def test_outputs_are_shifted_right_by_one() -> None:
    batch = collate([Example([7, 8], [9], "a:1"), Example([5], [6, 7, 8], "a:2")])
    assert batch.src.tolist() == [[7, 8, EOS], [5, EOS, PAD]]
    assert batch.tgt_in.tolist() == [[BOS, 9, PAD, PAD], [BOS, 6, 7, 8]]
    assert batch.tgt_out.tolist() == [[9, EOS, PAD, PAD], [6, 7, 8, EOS]]
    assert batch.locations == ("a:1", "a:2")


def test_padding_does_not_count_as_target_tokens() -> None:
    assert collate([Example([7], [9], ""), Example([5], [6, 7, 8], "")]).target_tokens == 2 + 4


def test_lengths_count_eos() -> None:
    assert Example([1, 2, 3], [4], "").lengths == (4, 2)


def test_pad_is_as_wide_as_the_longest_row() -> None:
    assert pad([[5], [6, 7]]).tolist() == [[5, PAD], [6, 7]]


def test_rows_without_an_example_do_not_count_in_the_loss() -> None:
    batch = collate([Example([7, 8], [9], "a:1")], rows=2, width=4)
    assert batch.src.tolist() == [[7, 8, EOS, PAD], [EOS, PAD, PAD, PAD]]
    assert batch.tgt_in.tolist() == [[BOS, 9, PAD, PAD], [BOS, PAD, PAD, PAD]]
    assert batch.tgt_out.tolist() == [[9, EOS, PAD, PAD], [PAD, PAD, PAD, PAD]]
    assert (batch.locations, batch.target_tokens) == (("a:1",), 2)


def test_a_batch_with_empty_rows_is_cut_by_its_rows() -> None:
    first, second = split(collate([Example([7], [9], "a:1")], rows=4), 2)
    assert (first.src.size(0), first.locations, second.src.size(0), second.locations) == (2, ("a:1",), 2, ())
