"""Common batches: the results of all requests, the errors of one, and an end for those that nobody waits for."""

import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest

from dragoman.serve.requests.ticket import Cancelled, Expired, Ticket
from dragoman.serve.search.batcher import AHEAD, AHEAD_CALLS, Batcher, BatchReport
from dragoman.serve.search.fair import EngineCall


class Gate:
    """Work that waits until it is opened, so that what comes meanwhile is in the queue."""

    def __init__(self) -> None:
        self.opened, self.entered, self.seen = threading.Event(), threading.Event(), list[list[int]]()

    def __call__(self, jobs: Sequence[int]) -> list[int]:
        self.seen.append(list(jobs))
        self.entered.set()
        assert self.opened.wait(30)
        if any(job < 0 for job in jobs):
            raise MemoryError("too much")
        return [job * job for job in jobs]


@pytest.fixture
def reports() -> list[BatchReport]:
    return []


@pytest.fixture
def batcher(reports: list[BatchReport]) -> Iterator[Batcher]:
    made = Batcher(1, 100, on_batch=reports.append)
    yield made
    made.close()


def occupied(batcher: Batcher, gate: Gate, pool: ThreadPoolExecutor):
    found = pool.submit(batcher.search, EngineCall(Ticket("first"), "group", [1], gate, [0]))
    assert gate.entered.wait(30)
    return found


def waits_for(batcher: Batcher, tokens: int) -> None:
    while batcher.tokens != tokens:
        time.sleep(0.001)


def test_calls_that_wait_together_are_searched_together_and_get_their_own_results(batcher, reports):
    gate = Gate()
    with ThreadPoolExecutor(8) as pool:
        first = occupied(batcher, gate, pool)
        calls = [
            pool.submit(batcher.search, EngineCall(Ticket(), "group", [1, 1], gate, [n, n + 1])) for n in range(1, 6)
        ]
        waits_for(batcher, 10)
        gate.opened.set()
        assert [call.result(30) for call in calls] == [[n * n, (n + 1) ** 2] for n in range(1, 6)]
        assert first.result(30) == [0]
    assert len(gate.seen) == 2
    assert [(one.sentences, one.calls) for one in reports] in ([(1, 1), (10, 5)], [(1, 1)])


def test_workers_that_are_free_have_a_share_each():
    gate, batcher = Gate(), Batcher(3)
    with ThreadPoolExecutor(1) as pool:
        call = pool.submit(batcher.search, EngineCall(Ticket(), "group", [5] * 6, gate, [*range(6)]))
        while len(gate.seen) < 3:
            time.sleep(0.001)
        gate.opened.set()
        assert call.result(30) == [n * n for n in range(6)]
    batcher.close()
    assert len(gate.seen[0]) == 2


def test_an_error_is_that_of_the_request_at_fault_alone(batcher):
    gate = Gate()
    with ThreadPoolExecutor(4) as pool:
        occupied(batcher, gate, pool)
        bad = pool.submit(batcher.search, EngineCall(Ticket(), "group", [1, 1], gate, [-1, 2]))
        good = pool.submit(batcher.search, EngineCall(Ticket(), "group", [1], gate, [3]))
        waits_for(batcher, 3)
        gate.opened.set()
        assert good.result(30) == [9]
        with pytest.raises(MemoryError):
            bad.result(30)
    assert batcher.search(EngineCall(Ticket(), "group", [1], gate, [5])) == [25]


def test_a_busy_engine_has_its_next_batch_only_where_many_wait(batcher):
    gate, many = Gate(), 2 * AHEAD_CALLS
    with ThreadPoolExecutor(many + 2) as pool:
        first = occupied(batcher, gate, pool)
        document = pool.submit(batcher.search, EngineCall(Ticket(), "group", [20] * 100, gate, [*range(100)]))
        waits_for(batcher, 2000)
        time.sleep(0.05)
        assert AHEAD < 2000
        assert len(gate.seen) == 1
        texts = [pool.submit(batcher.search, EngineCall(Ticket(), "group", [20], gate, [n])) for n in range(many)]
        while len(gate.seen) < 2:
            time.sleep(0.001)
        time.sleep(0.05)
        assert len(gate.seen) == 2
        gate.opened.set()
        assert [text.result(30) for text in texts] == [[n * n] for n in range(many)]
        assert (first.result(30), document.result(30)[-1]) == ([0], 99**2)


def test_who_leaves_is_not_searched_for(batcher):
    gate, ticket = Gate(), Ticket()
    with ThreadPoolExecutor(4) as pool:
        occupied(batcher, gate, pool)
        call = pool.submit(batcher.search, EngineCall(ticket, "group", [1], gate, [7]))
        waits_for(batcher, 1)
        ticket.cancel()
        with pytest.raises(Cancelled):
            call.result(30)
        assert batcher.tokens == 0
        gate.opened.set()
    assert [7] not in gate.seen
    with pytest.raises(Cancelled):
        batcher.search(EngineCall(ticket, "group", [1], gate, [7]))


def test_a_deadline_ends_a_request_that_waits(batcher):
    gate = Gate()
    with ThreadPoolExecutor(4) as pool:
        occupied(batcher, gate, pool)
        with pytest.raises(Expired):
            batcher.search(EngineCall(Ticket(deadline=time.monotonic() + 0.05), "group", [1], gate, [7]))
        gate.opened.set()
    assert [7] not in gate.seen
