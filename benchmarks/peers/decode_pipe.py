"""The protocol of a process that translates, shared by our systems and the peers (standard library only).

Requests are lines of JSON. `{"do": "search", "ids": …, "beam": 4, "min": 15, "max": 15, "alpha": 0.6, "batch": 1024,
"apart": false, "single": false}` translates rows of source ids without special tokens. `min` and `max` count target
tokens before EOS; `max` null means 50 more than the source has. `batch` is the budget, sentences × longest source with
EOS, for systems that sort and batch by it. `apart`, for direct CTranslate2, gives each batch one thread and runs as
many batches at once as there are threads. `single` translates one sentence after the other. The answer: `outputs`, rows
of target ids without special tokens; `tokens` of all outputs, EOS included; `seconds` in total; `latencies` of single
sentences; `peak_mb`. `{"do": "score", "sources": …, "targets": …}` answers `log_probs` of each target's tokens and EOS.
`{"do": "forget"}` resets the peak of memory.
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
Search = Callable[[Rows, "SearchOptions"], list[list[int]]]


@dataclass(frozen=True)
class SearchOptions:
    """The options of a search."""

    beam: int
    min: int
    max: int | None
    alpha: float
    batch: int
    apart: bool

    def limit(self, rows: Rows) -> int:
        """The most tokens before EOS in a translation of any of these rows."""
        return self.max or max(map(len, rows)) + EXTRA_LENGTH


@dataclass(frozen=True)
class System:
    """A loaded system: `search` translates all rows, `score` scores pairs."""

    search: Search
    score: Callable[[Rows, Rows], list[list[float]]]


def in_batches(
    search: Search,
) -> Search:
    """`search` applied to rows sorted by length, in batches within the budget."""

    def search_all(rows: Rows, options: SearchOptions) -> list[list[int]]:
        found: list[list[int]] = [[] for _ in rows]
        batch: list[int] = []
        for index in sorted(range(len(rows)), key=lambda index: len(rows[index])):
            if batch and (len(batch) + 1) * (len(rows[index]) + 1) > options.batch:
                _search_into(found, rows, batch, options)
                batch = []
            batch.append(index)
        if batch:
            _search_into(found, rows, batch, options)
        return found

    def _search_into(found: list[list[int]], rows: Rows, batch: list[int], options: SearchOptions) -> None:
        for index, output in zip(batch, search([rows[index] for index in batch], options), strict=True):
            found[index] = output

    return search_all


def until_end(tokens: Sequence[int], most: int, end: int) -> list[int]:
    """The tokens before EOS, at most `most`."""
    ids = list(tokens)
    return ids[: min(most, ids.index(end) if end in ids else len(ids))]


def serve(load: Callable[[], System]) -> None:
    """Load the system, then answer requests until the input ends. Anything else that is printed goes to stderr."""
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
    options = SearchOptions(**{key: request[key] for key in ("beam", "min", "max", "alpha", "batch", "apart")})
    outputs, latencies, start = [], [], time.perf_counter()
    for rows in [[row] for row in ids] if request["single"] else [ids]:
        before = time.perf_counter()
        outputs += system.search(rows, options)
        latencies.append(time.perf_counter() - before)
    seconds = time.perf_counter() - start
    tokens = sum(len(output) + 1 for output in outputs)
    speed = {"tokens": tokens, "seconds": seconds, "latencies": latencies if request["single"] else []}
    return speed | {"outputs": outputs, "peak_mb": _peak_mb()}


def _peak_mb() -> float:
    """The peak memory of this process, in MiB."""
    status = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in status if "VmHWM" in line) / 1024
