"""What a process that translates is asked, and what it answers; shared by ours and the peers' (no import but Python's).

Requests are lines of JSON. `{"do": "search", "ids": …, "beam": 4, "min": 15, "max": 15, "alpha": 0.6, "batch": 1024,
"apart": false, "single": false}` searches for translations of rows of source ids without marks. `min` and `max` count
target tokens before the end mark; `max` null means 50 more than the source has. `batch` is the budget, sentences ×
longest source with its end mark, for whoever sorts and batches by it; `apart`, for CTranslate2 fed directly, gives each
batch one thread, and searches as many at once as there are threads, instead of each batch all of them; `single` asks
for one sentence after the other. The answer: `outputs`, rows of target ids without marks; `tokens` of all outputs, end
marks counted; `seconds`, in all; `latencies` of single sentences; `peak_mb`. `{"do": "score", "sources": …, "targets":
…}` answers `log_probs` of each target's tokens and end mark. `{"do": "forget"}` starts the peak of memory anew.
"""

import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

EXTRA_LENGTH = 50
Rows = Sequence[Sequence[int]]


@dataclass(frozen=True)
class Wish:
    """How translations are to be searched for."""

    beam: int
    min: int
    max: int | None
    alpha: float
    batch: int
    apart: bool

    def limit(self, rows: Rows) -> int:
        """The most tokens before the end mark that a translation of any of these may have."""
        return self.max or max(map(len, rows)) + EXTRA_LENGTH


@dataclass(frozen=True)
class System:
    """Something that translates, already loaded: searches for all rows at once, and scores pairs."""

    search: Callable[[Rows, Wish], list[list[int]]]
    score: Callable[[Rows, Rows], list[list[float]]]


def in_batches(search: Callable[[Rows, Wish], list[list[int]]]) -> Callable[[Rows, Wish], list[list[int]]]:
    """`search` for rows sorted by length, in batches of the wished-for size."""

    def search_all(rows: Rows, wish: Wish) -> list[list[int]]:
        found: list[list[int]] = [[] for _ in rows]
        batch: list[int] = []
        for index in sorted(range(len(rows)), key=lambda index: len(rows[index])):
            if batch and (len(batch) + 1) * (len(rows[index]) + 1) > wish.batch:
                _search_into(found, rows, batch, wish)
                batch = []
            batch.append(index)
        if batch:
            _search_into(found, rows, batch, wish)
        return found

    def _search_into(found: list[list[int]], rows: Rows, batch: list[int], wish: Wish) -> None:
        for index, output in zip(batch, search([rows[index] for index in batch], wish), strict=True):
            found[index] = output

    return search_all


def until_end(tokens: Sequence[int], most: int, end: int) -> list[int]:
    """The tokens before the end mark, `most` at the most."""
    told = list(tokens)
    return told[: min(most, told.index(end) if end in told else len(told))]


def serve(load: Callable[[], System]) -> None:
    """Load, say so, and answer until the input ends. What else is printed goes to stderr."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    system = load()
    print(json.dumps({"peak_mb": _peak_mb()}), file=answers)
    for line in sys.stdin:
        print(json.dumps(_answer(system, json.loads(line))), file=answers)


def _answer(system: System, request: dict[str, Any]) -> dict[str, Any]:
    if request["do"] == "score":
        return {"log_probs": system.score(request["sources"], request["targets"])}
    if request["do"] == "forget":
        Path("/proc/self/clear_refs").write_text("5")
        return {}
    ids = request["ids"]
    wish = Wish(**{key: request[key] for key in ("beam", "min", "max", "alpha", "batch", "apart")})
    outputs, latencies, start = [], [], time.perf_counter()
    for rows in [[row] for row in ids] if request["single"] else [ids]:
        before = time.perf_counter()
        outputs += system.search(rows, wish)
        latencies.append(time.perf_counter() - before)
    seconds = time.perf_counter() - start
    tokens = sum(len(output) + 1 for output in outputs)
    speed = {"tokens": tokens, "seconds": seconds, "latencies": latencies if request["single"] else []}
    return speed | {"outputs": outputs, "peak_mb": _peak_mb()}


def _peak_mb() -> float:
    """The most memory this process has held, in MiB."""
    status = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in status if "VmHWM" in line) / 1024
