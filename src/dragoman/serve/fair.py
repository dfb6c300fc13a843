"""Calls that wait for the engine, and which of their sentences go into the next batch. Pure: no threads, no clock.

Turns are taken by tokens, first among keys, then among the requests of a key: the next sentence is of the key, and
there of the request, for which the fewest tokens were searched (start-time fair queueing, Goyal et al. 1996). One that
comes starts where those that are served now are. So a long text gets its share of each batch and no more while others
wait, and nobody waits for all of it.
"""

import heapq
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from dragoman.serve.ticket import Ticket


@dataclass(eq=False)
class Call:
    """What a request asks of an engine at once: jobs, each a sentence, of `sizes` tokens.

    Calls with the same `group` may share a batch. One that is `whole` has a batch of its own.
    """

    ticket: Ticket
    group: Hashable
    sizes: Sequence[int]
    work: Callable[[Sequence[Any]], Sequence[Any]]
    """From jobs of any calls of the group to a result for each."""
    jobs: Sequence[Any]
    whole: bool = False
    taken: int = 0
    """Jobs that are no longer in the queue, from the first on."""
    number: int = 0

    @property
    def waiting(self) -> int:
        """Tokens in the queue."""
        return sum(self.sizes[self.taken :])


@dataclass(frozen=True, slots=True)
class Part:
    """Jobs `begin` to before `end` of a call, which are searched in one batch."""

    call: Call
    begin: int
    end: int


@dataclass(eq=False)
class _Line:
    """The calls of one key, in order of arrival."""

    number: int
    served: float
    clock: float = 0.0
    calls: dict[Call, None] = field(default_factory=dict)


class FairQueue:
    """Calls in order of their turns. `tokens` is the number of tokens that wait."""

    def __init__(self) -> None:
        self.tokens = 0
        self._lines: dict[str, _Line] = {}
        self._clock, self._number = 0.0, count()

    def __bool__(self) -> bool:
        return bool(self._lines)

    def add(self, call: Call) -> None:
        """Put a call into the line of its key."""
        call.number = next(self._number)
        line = self._lines.setdefault(call.ticket.key, _Line(call.number, self._clock))
        call.ticket.served = max(call.ticket.served, line.clock)
        line.calls[call] = None
        self.tokens += call.waiting

    def remove(self, call: Call) -> None:
        """Drop what still waits of a call."""
        line = self._lines.get(call.ticket.key)
        if line and call in line.calls:
            self.tokens -= call.waiting
            call.taken = len(call.sizes)
            self._leave(call, line)

    def take(self, budget: int) -> list[Part]:
        """The next batch, of about `budget` tokens and at least one job; empty if nothing waits."""
        if not self._lines:
            return []
        line = min(self._lines.values(), key=lambda each: (each.served, each.number))
        first = min(line.calls, key=lambda each: (each.ticket.served, each.number))
        if first.whole:
            return [self._take_rest(first, line)]
        begins: dict[Call, int] = {}
        turns = [(each.served, each.number, each, _turns(each, first.group)) for each in self._lines.values()]
        turns = [each for each in turns if each[3]]
        heapq.heapify(turns)
        total = 0
        while turns:
            _, _, line, calls = turns[0]
            call = calls[0][2]
            size = call.sizes[call.taken]
            if begins and total + size > budget:
                break
            begins.setdefault(call, call.taken)
            self._charge(call, line, size)
            call.taken, total = call.taken + 1, total + size
            if call.taken < len(call.sizes):
                heapq.heapreplace(calls, (call.ticket.served, call.number, call))
            else:
                heapq.heappop(calls)
                self._leave(call, line)
            if calls:
                heapq.heapreplace(turns, (line.served, line.number, line, calls))
            else:
                heapq.heappop(turns)
        return [Part(call, begin, call.taken) for call, begin in begins.items()]

    def _take_rest(self, call: Call, line: _Line) -> Part:
        self._charge(call, line, call.waiting)
        part = Part(call, call.taken, len(call.sizes))
        call.taken = part.end
        self._leave(call, line)
        return part

    def _charge(self, call: Call, line: _Line, size: int) -> None:
        self._clock, line.clock = max(self._clock, line.served), max(line.clock, call.ticket.served)
        line.served += size
        call.ticket.served += size
        self.tokens -= size

    def _leave(self, call: Call, line: _Line) -> None:
        del line.calls[call]
        if not line.calls:
            del self._lines[call.ticket.key]


def _turns(line: _Line, group: Hashable) -> list[tuple[float, int, Call]]:
    """The calls of a group as a heap, the next one first."""
    found = [(call.ticket.served, call.number, call) for call in line.calls if call.group == group]
    heapq.heapify(found)
    return found
