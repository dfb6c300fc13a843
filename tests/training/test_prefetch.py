"""Drawn ahead = drawn when asked for, wherever it is stopped."""

from collections.abc import Callable

import pytest
import torch

from dragoman.config import RunConfig
from dragoman.data.batch import Batch
from dragoman.data.stream import BatchStream
from dragoman.errors import DataError
from dragoman.text.tokenizer import Tokenizer
from dragoman.training.prefetch import Prefetched

Make = Callable[[], BatchStream]


@pytest.fixture
def stream(toy_run: Callable[..., RunConfig], toy_tokenizer: Tokenizer) -> Make:
    data = toy_run().data
    return lambda: BatchStream(data, toy_tokenizer, batch_tokens=150, seed=1)


def same(one: list[Batch], other: list[Batch]) -> bool:
    return [batch.locations for batch in one] == [batch.locations for batch in other] and all(
        torch.equal(a.tgt_out, b.tgt_out) for a, b in zip(one, other, strict=True)
    )


def test_it_gives_what_the_stream_gives_and_stands_where_it_stands(stream: Make) -> None:
    plain, ahead = stream(), Prefetched(stream(), pinned=False)
    for accumulate in [2] * 30 + [1, 3, 3, 1]:
        assert same(ahead.next_update(accumulate), plain.next_update(accumulate))
        assert (ahead.state_dict(), ahead.update_tokens) == (plain.state_dict(), plain.update_tokens)
    assert ahead.position.epoch > 0


def test_it_goes_on_from_a_checkpoint(stream: Make) -> None:
    before = Prefetched(stream(), pinned=False)
    for _ in range(7):
        before.next_update(2)
    state, expected = before.state_dict(), before.next_update(2)
    after = Prefetched(stream(), pinned=False)
    after.next_update(2)
    after.load_state_dict(state)
    assert after.state_dict() == state
    assert same(after.next_update(2), expected)


def test_what_goes_wrong_in_its_thread_is_told(stream: Make) -> None:
    broken = stream()

    def fail(accumulate: int) -> list[Batch]:
        raise DataError("train.tsv:7: gone")

    broken.next_update = fail  # type: ignore[method-assign]
    with pytest.raises(DataError, match=r"train\.tsv:7"):
        Prefetched(broken, pinned=False).next_update(1)
