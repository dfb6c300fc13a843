"""Whose sentences go into the next batch: everyone's share, whatever others have sent."""

from hypothesis import given
from hypothesis import strategies as st

from dragoman.serve.fair import Call, FairQueue, Part
from dragoman.serve.ticket import Ticket


def call(key: str, sizes: list[int], group: object = 0, whole: bool = False) -> Call:
    return Call(Ticket(key), group, sizes, lambda jobs: jobs, sizes, whole)


def tokens(parts: list[Part], of: Call) -> int:
    return sum(sum(part.call.sizes[part.begin : part.end]) for part in parts if part.call is of)


def test_a_short_text_waits_for_one_batch_and_not_for_the_long_one_before_it():
    queue, long, short = FairQueue(), call("a", [20] * 1000), call("b", [20])
    queue.add(long)
    queue.take(200)
    queue.add(short)
    assert tokens(queue.take(200), short) == 20


def test_keys_share_a_batch_equally_however_many_requests_each_has():
    queue = FairQueue()
    many, one = [call("greedy", [10] * 50) for _ in range(20)], call("modest", [10] * 500)
    for each in [*many, one]:
        queue.add(each)
    parts = [part for _ in range(10) for part in queue.take(200)]
    assert tokens(parts, one) == 1000  # half of ten batches


def test_requests_of_one_key_share_its_part():
    queue, first, second = FairQueue(), call("a", [10] * 100), call("a", [10] * 100)
    queue.add(first)
    queue.add(second)
    parts = queue.take(200)
    assert tokens(parts, first) == tokens(parts, second) == 100


def test_only_calls_of_one_group_share_a_batch_and_a_whole_call_has_its_own():
    queue = FairQueue()
    sampled, one, other = call("a", [5] * 40, "sample", whole=True), call("b", [5], "x"), call("c", [5], "y")
    for each in (sampled, one, other):
        queue.add(each)
    batches = [queue.take(20) for _ in range(3)]
    assert [[(part.call, part.end - part.begin) for part in batch] for batch in batches] == [
        [(sampled, 40)],
        [(one, 1)],
        [(other, 1)],
    ]
    assert not queue
    assert queue.tokens == 0


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.lists(st.integers(1, 60), min_size=1, max_size=9), st.booleans())),
    st.integers(1, 100),
)
def test_every_job_is_taken_once_in_order_and_what_is_removed_never(rows, budget):
    queue, calls = FairQueue(), [call(key, sizes) for key, sizes, _ in rows]
    for each in calls:
        queue.add(each)
    removed = {each for each, row in zip(calls, rows, strict=True) if row[2]}
    for each in removed:
        queue.remove(each)
    seen: dict[Call, list[int]] = {each: [] for each in calls}
    while parts := queue.take(budget):
        assert sum(tokens([part], part.call) for part in parts) <= max(budget, 60)
        for part in parts:
            seen[part.call] += range(part.begin, part.end)
    assert queue.tokens == 0
    assert seen == {each: [] if each in removed else list(range(len(each.sizes))) for each in calls}
