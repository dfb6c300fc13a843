"""Calls that wait for the engine, and which of their sentences go into the next batch. Pure: no threads, no clock.

Turns are taken by tokens, first among keys, then among the requests of a key: the next sentence is that of the key,
and there of the request, which is furthest behind its equal share of what was searched while it waited (fair queueing,
Demers et al. 1989). One that comes starts level with the others. So a long text gets its share and no more while
others wait, and what waits gets ahead of those that come later: nobody waits for ever. The first `SHORT` tokens of a
request are free: a short text keeps its turn when one of its sentences is searched again.

A batch is the sentence whose turn it is and, of those next in turn, the ones that are about as long: a batch lasts as
long as its longest sentence.
"""

import heapq
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from dragoman.serve.requests.ticket import Ticket

# Tokens of a short request; and how many batches of those next in turn a batch is chosen from.
SHORT, WINDOW = 256, 8
UNBOUNDED = 1 << 30


@dataclass(eq=False)
class EngineCall:
    """What a request asks of an engine at once: jobs, each a sentence, of `sizes` tokens.

    Calls with the same `group` may share a batch, of at most `budget` tokens with its padding, or of one job. One that
    is `whole` has a batch of its own.
    """

    ticket: Ticket
    group: Hashable
    sizes: Sequence[int]
    work: Callable[[Sequence[Any]], Sequence[Any]]
    """From jobs of any calls of the group to a result for each."""
    jobs: Sequence[Any]
    whole: bool = False
    budget: int = UNBOUNDED
    waiting: list[int] = field(default_factory=list)
    """The jobs that are in the queue, by number."""

    @property
    def tokens(self) -> int:
        """Tokens in the queue."""
        return sum(self.sizes[n] for n in self.waiting)


@dataclass(frozen=True, slots=True)
class BatchPart:
    """The jobs of a call, by number, that are searched in one batch."""

    call: EngineCall
    jobs: tuple[int, ...]

    @property
    def tokens(self) -> int:
        return sum(self.call.sizes[n] for n in self.jobs)


@dataclass(eq=False)
class _Queue:
    """The calls of one key. `clock` is what each of its requests would have had of an equal share so far."""

    number: int
    served: float
    clock: float
    calls: dict[EngineCall, None] = field(default_factory=dict)

    @property
    def first(self) -> EngineCall:
        return min(self.calls, key=lambda call: (call.ticket.served, call.ticket.number))


@dataclass(frozen=True, slots=True)
class _NextJob:
    call: EngineCall
    line: _Queue
    job: int
    size: int


class FairQueue:
    """Calls in order of their turns. `tokens` is the number of tokens that wait."""

    def __init__(self) -> None:
        self.tokens = 0
        self._lines: dict[str, _Queue] = {}
        self._clock, self._past, self._numbers = 0.0, 0.0, count(1)

    def __bool__(self) -> bool:
        return bool(self._lines)

    @property
    def calls(self) -> int:
        return sum(len(line.calls) for line in self._lines.values())

    def add(self, call: EngineCall) -> None:
        """Put a call into the line of its key."""
        ticket = call.ticket
        is_new = not ticket.number
        if is_new:
            ticket.number, ticket.began = next(self._numbers), self._clock
        start = ticket.began if ticket.used < SHORT else self._clock
        line = self._lines.setdefault(ticket.key, _Queue(ticket.number, start, self._past))
        if is_new or ticket.used >= SHORT:
            ticket.served = max(ticket.served, line.clock)
        call.waiting = list(range(len(call.sizes)))
        line.calls[call] = None
        self.tokens += call.tokens

    def remove(self, call: EngineCall) -> None:
        """Drop what still waits of a call."""
        line = self._lines.get(call.ticket.key)
        if line and call in line.calls:
            self.tokens -= call.tokens
            call.waiting = []
            self._leave(call, line)

    def take(self, budget: int) -> list[BatchPart]:
        """The next batch, of at most `budget` tokens with its padding, or one job; empty if nothing waits."""
        if not self._lines:
            return []
        line = min(self._lines.values(), key=lambda line: (line.served, line.number))
        first = line.first
        budget = min(budget, first.budget)
        if first.whole:
            chosen = [_NextJob(first, line, job, first.sizes[job]) for job in first.waiting]
        else:
            chosen = _alike(self._next_in_turn(first.group, WINDOW * budget), budget)
        jobs: dict[EngineCall, list[int]] = {}
        for candidate in chosen:
            jobs.setdefault(candidate.call, []).append(candidate.job)
            self._charge(candidate)
        for call, taken in jobs.items():
            gone = set(taken)
            call.waiting = [job for job in call.waiting if job not in gone]
            if not call.waiting:
                self._leave(call, self._lines[call.ticket.key])
        return [BatchPart(call, tuple(sorted(taken))) for call, taken in jobs.items()]

    def _next_in_turn(self, group: Hashable, most: int) -> list[_NextJob]:
        """The jobs of a group in order of their turns, about `most` tokens of them."""
        turns = [(line.served, line.number, line, _turns(line, group)) for line in self._lines.values()]
        turns = [turn for turn in turns if turn[3]]
        heapq.heapify(turns)
        candidates, total = list[_NextJob](), 0
        while turns and total < most:
            served, number, line, calls = turns[0]
            served_of_call, place, call, used, at = calls[0]
            size = call.sizes[call.waiting[at]]
            candidates.append(_NextJob(call, line, call.waiting[at], size))
            total += size
            if at + 1 < len(call.waiting):
                heapq.heapreplace(calls, (served_of_call + _charged(used, size), place, call, used + size, at + 1))
            else:
                heapq.heappop(calls)
            if calls:
                heapq.heapreplace(turns, (served + size, number, line, calls))
            else:
                heapq.heappop(turns)
        return candidates

    def _charge(self, job: _NextJob) -> None:
        ticket, line = job.call.ticket, job.line
        self._clock += job.size / len(self._lines)
        line.clock += job.size / len(line.calls)
        line.served += job.size
        ticket.served += _charged(ticket.used, job.size)
        ticket.used += job.size
        self.tokens -= job.size

    def _leave(self, call: EngineCall, line: _Queue) -> None:
        del line.calls[call]
        if not line.calls:
            del self._lines[call.ticket.key]
            self._past = max(self._past, line.clock)  # its requests come back, and clocks never go backwards


_Turn = tuple[float, tuple[int, int], EngineCall, int, int]


def _turns(line: _Queue, group: Hashable) -> list[_Turn]:
    """The calls of a group as a heap, the next one first: its turn, what its request has used, its next job."""
    calls = (call for call in line.calls if call.group == group)
    turns = [(call.ticket.served, (call.ticket.number, n), call, call.ticket.used, 0) for n, call in enumerate(calls)]
    heapq.heapify(turns)
    return turns


def _charged(used: int, size: int) -> int:
    """What a job of this size counts for the turns of a request that has used so much."""
    return min(size, max(0, used + size - SHORT))


def _alike(candidates: Sequence[_NextJob], budget: int) -> list[_NextJob]:
    """The first of the candidates, and those most like it in length, the earlier ones of two."""
    first, longest = candidates[0].size, 0
    chosen = list[_NextJob]()
    for candidate in sorted(candidates, key=lambda job: abs(job.size - first)):
        longest = max(longest, candidate.size)
        if chosen and (len(chosen) + 1) * longest > budget:
            break
        chosen.append(candidate)
    return chosen
