"""Prefetched updates equal those of the stream, wherever it is stopped and resumed."""

from collections.abc import Callable
from dataclasses import asdict

import pytest
import torch

from dragoman.config import RunConfig
from dragoman.data.batches.stream import BatchStream, Update
from dragoman.errors import DataError
from dragoman.text.tokens.tokenizer import Tokenizer
from dragoman.training.update.prefetch import Prefetched

Make = Callable[[], BatchStream]


@pytest.fixture
def stream(toy_run: Callable[..., RunConfig], toy_tokenizer: Tokenizer) -> Make:
    data = toy_run().data
    return lambda: BatchStream(data, toy_tokenizer, batch_tokens=150, seed=1)


def same(one: Update, other: Update) -> bool:
    return (one.position, one.target_tokens, one.skipped) == (
        other.position,
        other.target_tokens,
        other.skipped,
    ) and all(
        a.locations == b.locations and torch.equal(a.tgt_out, b.tgt_out)
        for a, b in zip(one.batches, other.batches, strict=True)
    )


def test_prefetched_updates_are_those_of_the_stream(stream: Make) -> None:
    plain, ahead = stream(), Prefetched(stream(), pinned=False)
    for accumulate in [2] * 30 + [1, 3, 3, 1]:
        update = ahead.next_update(accumulate)
        assert same(update, plain.next_update(accumulate))
    assert update.position.epoch > 0


def test_prefetched_resumes_from_a_checkpoint(stream: Make) -> None:
    before = Prefetched(stream(), pinned=False)
    for _ in range(7):
        update = before.next_update(2)
    state, expected = asdict(update.position), before.next_update(2)
    after = Prefetched(stream(), pinned=False)
    after.next_update(2)
    after.load_state_dict(state)
    assert same(after.next_update(2), expected)


def test_prefetched_raises_what_the_stream_raises(stream: Make) -> None:
    broken = stream()

    def fail(accumulate: int) -> Update:
        raise DataError("train.tsv:7: gone")

    broken.next_update = fail  # type: ignore[method-assign]
    with pytest.raises(DataError, match=r"train\.tsv:7"):
        Prefetched(broken, pinned=False).next_update(1)
