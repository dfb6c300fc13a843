"""Whose sentences go into the next batch: a share for each sender, whatever others have sent; an end for every wait."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.serve.requests.ticket import Ticket
from dragoman.serve.search.fair import SHORT, WINDOW, BatchPart, EngineCall, FairQueue


def call(
    key: str, sizes: list[int], group: object = 0, whole: bool = False, ticket: Ticket | None = None
) -> EngineCall:
    return EngineCall(ticket or Ticket(key), group, sizes, lambda jobs: jobs, sizes, whole)


def queue_of(*calls: EngineCall) -> FairQueue:
    queue = FairQueue()
    for each in calls:
        queue.add(each)
    return queue


def tokens(parts: list[BatchPart], of: EngineCall) -> int:
    return sum(part.tokens for part in parts if part.call is of)


def lengths(parts: list[BatchPart]) -> list[int]:
    return sorted(part.call.sizes[job] for part in parts for job in part.jobs)


def test_a_short_text_waits_for_one_batch_and_not_for_the_long_one_before_it():
    long, short = call("a", [20] * 1000), call("b", [20])
    queue = queue_of(long)
    queue.take(200)
    queue.add(short)
    assert tokens(queue.take(200), short) == 20


def test_keys_share_a_batch_equally_however_many_requests_each_has():
    many, one = [call("greedy", [10] * 50) for _ in range(20)], call("modest", [10] * 500)
    queue = queue_of(*many, one)
    parts = [part for _ in range(10) for part in queue.take(200)]
    assert tokens(parts, one) == 1000  # half of ten batches


def test_long_requests_of_one_key_share_its_part():
    first, second = call("a", [10] * 200), call("a", [10] * 200)
    queue = queue_of(first, second)
    parts = [part for _ in range(15) for part in queue.take(200)]
    assert abs(tokens(parts, first) - tokens(parts, second)) <= SHORT


@pytest.mark.parametrize("keys", [1, 1000], ids=["one key", "many keys"])
def test_a_long_text_has_its_share_while_short_ones_keep_coming(keys):
    """More of them than can be searched: with 10 that always wait, the long one has about an eleventh."""
    long, number = call("long", [20] * 1000, ticket=Ticket("0")), itertools.count()
    queue, had, rounds = queue_of(long), 0, 400
    for _ in range(rounds):
        while queue.tokens - long.tokens < 10 * 20:
            queue.add(call(str(next(number) % keys), [20]))
        had += tokens(queue.take(100), long)
    assert had > rounds * 100 / 22


@pytest.mark.parametrize("keys", [1, 1000], ids=["one key", "many keys"])
def test_a_sentence_that_is_searched_again_is_not_behind_those_that_came_later(keys):
    number = itertools.count(1)
    first = call("0", [20])
    queue = queue_of(first, *(call(str(next(number) % keys), [20]) for _ in range(9)))
    searched: set[EngineCall] = set()
    while first not in searched:
        searched |= {part.call for part in queue.take(100)}
    again = call("0", [20], "retry", ticket=first.ticket)
    queue.add(again)
    for _ in range(10):
        queue.add(call(str(next(number) % keys), [20]))
    assert again in {part.call for _ in range(2) for part in queue.take(100)}


def test_who_waits_is_in_one_of_the_next_batches_though_its_length_is_that_of_no_other():
    odd = call("a", [90])
    queue = queue_of(call("a", [10]), odd)
    for n in range(100):
        for _ in range(20):
            queue.add(call("a", [10 + n % 3]))
        if tokens(queue.take(100), odd):
            break
    assert n < 20


def test_a_batch_is_of_sentences_about_as_long_as_the_one_whose_turn_it_is():
    sizes = [12, 50, 11, 52, 13, 49, 12, 51]
    queue = queue_of(*(call("a", [size]) for size in sizes))
    batches = [lengths(queue.take(64)) for _ in range(5)]
    assert batches[0] == [11, 12, 12, 13]
    assert [len(batch) for batch in batches[1:]] == [1] * 4


@given(st.lists(st.integers(1, 60), min_size=1, max_size=40), st.integers(60, 200))
def test_a_batch_has_no_more_than_the_budget_with_its_padding_and_the_first_is_in_it(sizes, budget):
    calls = [call("a", [size]) for size in sizes]
    queue = queue_of(*calls)
    for first in calls:
        if first.waiting:
            parts = queue.take(budget)
            assert first in {part.call for part in parts}
            assert len(lengths(parts)) * max(lengths(parts)) <= budget
    assert not queue


def test_only_the_next_in_turn_are_looked_at_for_their_length():
    budget = 100
    others = [call("a", [50]) for _ in range(WINDOW * budget // 50)]
    late = call("a", [10])
    queue = queue_of(call("a", [10]), *others, late)
    assert tokens(queue.take(budget), late) == 0


def test_only_calls_of_one_group_share_a_batch_and_a_whole_call_has_its_own():
    sampled, one, other = call("a", [5] * 40, "sample", whole=True), call("b", [5], "x"), call("c", [5], "y")
    queue = queue_of(sampled, one, other)
    batches = [queue.take(20) for _ in range(3)]
    assert [[(part.call, len(part.jobs)) for part in batch] for batch in batches] == [
        [(sampled, 40)],
        [(one, 1)],
        [(other, 1)],
    ]
    assert not queue
    assert queue.tokens == 0


rows_of_calls = st.lists(
    st.tuples(st.sampled_from("abc"), st.lists(st.integers(1, 60), min_size=1, max_size=9), st.booleans())
)


@pytest.mark.slow
@given(rows_of_calls, st.integers(1, 100))
def test_every_job_is_taken_once_and_what_is_removed_never(rows, budget):
    calls = [call(key, sizes) for key, sizes, _ in rows]
    queue = queue_of(*calls)
    removed = {each for each, row in zip(calls, rows, strict=True) if row[2]}
    for each in removed:
        queue.remove(each)
    seen: dict[EngineCall, list[int]] = {each: [] for each in calls}
    while parts := queue.take(budget):
        for part in parts:
            seen[part.call] += part.jobs
    assert queue.tokens == 0
    assert {each: sorted(jobs) for each, jobs in seen.items()} == {
        each: [] if each in removed else list(range(len(each.sizes))) for each in calls
    }


@pytest.mark.slow
@given(rows_of_calls, st.integers(1, 100))
def test_the_same_calls_make_the_same_batches(rows, budget):
    def batches() -> list[list[tuple[int, tuple[int, ...]]]]:
        calls = [call(key, sizes) for key, sizes, _ in rows]
        queue = queue_of(*calls)
        taken = iter(lambda: queue.take(budget), [])
        return [[(calls.index(part.call), part.jobs) for part in parts] for parts in taken]

    assert batches() == batches()
