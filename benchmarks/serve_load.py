"""The service under load: its throughput, its latency, and that every answer is the right one.

    python benchmarks/serve_load.py [--quick] [--workers N] [--model en-ko] [--lines FILE]

offline     `Translator.translate` of all lines in one call, all processors
closed      `dragoman serve`, 64 clients that each wait for their answer
one         The same load on a service that calls the engine once for each request, as LibreTranslate does
            (`serve_one_by_one.py`), with the same model and HTTP server
open        `dragoman serve`, requests at random times at 70 % of the rate of `closed`; latency from the planned time
exact       `dragoman serve --exact`, 64 clients: each answer must be the offline translation with decode.exact

Each in a process of its own, in turn within every round; medians over the rounds. Lines are those of FILE, one text
each, or else the golden sentences of the bundled model and pairs of them. `--quick` takes fewer lines and one round.
The clients run on the same machine and take their share of it, so that processor time is reported too, in milliseconds
a text: of the offline translation, of all processes of the service, of the clients.

The last line is one JSON object. `of_offline` is the rate of closed / offline, and `of_offline_cpu` the same by
processor time; `vs_one_by_one` is the rate of closed / one, `p99_over_p50` that of open, `alone_p99_over_p50` the same
of one client that waits for each answer: what the texts themselves bring. `wrong` are the answers of exact that are
lost or another translation, `differing` those of closed that are not what the usual offline call gave, whose batches
are others. `queue_…` and `search_…` are from the histograms of the service during open, of calls and of batches.
"""

import argparse
import asyncio
import itertools
import json
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from serve_client import Histograms, Load, closed_loop, open_loop, processor_seconds, started

HERE, CLIENTS, SHARE = Path(__file__).parent, 64, 0.7
OFFLINE = """
import json, sys, time
from dragoman import Translator
lines, translator = json.load(sys.stdin), Translator.load(sys.argv[1], threads=int(sys.argv[2]))
translator.translate(lines[:20])
began = time.perf_counter()
cpu = time.process_time()
found = [one.text for one in translator.translate(lines, exact=sys.argv[3] == "exact" or None)]
seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
json.dump({"seconds": seconds, "cpu": cpu, "texts": found}, sys.stdout)
"""


def golden_lines(model: str, count: int) -> list[str]:
    """Different English texts of one or two sentences."""
    from dragoman.installed import resolve_model

    path = resolve_model(model) / "golden.jsonl"
    own = [json.loads(line)["source"] for line in path.read_text(encoding="utf-8").splitlines()]
    pairs = (f"{first} {second}" for first, second in itertools.permutations(own, 2))
    return list(itertools.islice(dict.fromkeys(itertools.chain(own, pairs)), count))


def offline(model: str, threads: int, lines: Sequence[str], exact: bool = False) -> dict[str, Any]:
    """Seconds and texts of the lines, in a process of its own."""
    command = [sys.executable, "-c", OFFLINE, model, str(threads), "exact" if exact else "usual"]
    found = subprocess.run(command, input=json.dumps(lines), stdout=subprocess.PIPE, text=True, check=True)
    result: dict[str, Any] = json.loads(found.stdout)
    return result


def serve_command(arguments: argparse.Namespace, *more: str) -> list[str]:
    """`dragoman serve` on a free port."""
    command = [sys.executable, "-m", "dragoman", "serve", "-m", arguments.model, "--port", "0", *more]
    return [*command, "--workers", str(arguments.workers), "--threads", str(arguments.threads)]


def measured(command: Sequence[str], load: Callable[[str, int], Load]) -> Load:
    """A load on a server that is started for it; `load` receives its URL and process."""
    process, url = started(command)
    try:
        return load(url, process.pid)
    finally:
        process.terminate()
        process.wait()


def wrong(load: Load, expected: dict[str, str]) -> int:
    """Replies that are lost or another translation."""
    return sum(reply.status != 200 or reply.answer != expected[reply.text] for reply in load.replies)


def texts_of(arguments: argparse.Namespace, count: int) -> list[str]:
    """Up to `count` different texts."""
    if not arguments.lines:
        return golden_lines(arguments.model, count)
    read = arguments.lines.read_text(encoding="utf-8").splitlines()
    return list(dict.fromkeys(line for line in read if line.strip()))[:count]


class Measured:
    """The figures of all rounds, by their names."""

    def __init__(self, arguments: argparse.Namespace, lines: Sequence[str]) -> None:
        self.arguments, self.lines = arguments, lines
        self.figures = defaultdict[str, list[float]](list)

    def median(self, name: str, digits: int = 1) -> float:
        """Over the rounds."""
        return round(median(self.figures[name]), digits)

    def offline(self, processors: int) -> dict[str, str]:
        """The translations, in the usual batches."""
        found = offline(self.arguments.model, processors, self.lines)
        self._add(offline=len(self.lines) / found["seconds"], offline_cpu=1000 * found["cpu"] / len(self.lines))
        return dict(zip(self.lines, found["texts"], strict=True))

    def service(self, url: str, pid: int, usual: dict[str, str]) -> None:
        """Closed loop, then open loop at a share of its rate."""
        asyncio.run(closed_loop(url, self.lines[:100], CLIENTS))
        alone = asyncio.run(closed_loop(url, self.lines[:100], 1))
        own, service = time.process_time(), processor_seconds(pid)
        closed = asyncio.run(closed_loop(url, self.lines, CLIENTS))
        each = 1000 / len(self.lines)
        self._add(
            closed=closed.rate,
            client_cpu=each * (time.process_time() - own),
            closed_cpu=each * (processor_seconds(pid) - service),
            differing=sum(reply.answer != usual[reply.text] for reply in closed.replies),
            alone_p50=1000 * alone.percentile(0.5),
            alone_p99=1000 * alone.percentile(0.99),
        )
        histograms = Histograms(url)
        opened = asyncio.run(open_loop(url, self.lines, SHARE * closed.rate))
        self._add(open=opened.rate)
        for share in (0.5, 0.99):
            self._add(
                **{
                    f"p{100 * share:.0f}": 1000 * opened.percentile(share),
                    f"queue_p{100 * share:.0f}": 1000 * histograms.percentile("queue_seconds", share),
                    f"search_p{100 * share:.0f}": 1000 * histograms.percentile("batch_seconds", share),
                }
            )

    def one_by_one(self, url: str, pid: int) -> Load:
        """The closed loop on the other service."""
        found = asyncio.run(closed_loop(url, self.lines, CLIENTS))
        self._add(one=found.rate)
        return found

    def _add(self, **figures: float) -> None:
        for name, value in figures.items():
            self.figures[name].append(value)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--model", default="en-ko")
    parser.add_argument("--lines", type=Path, help="one text a line")
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--threads", type=int, default=0, help="of the engine; all processors unless given")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--quick", action="store_true")
    arguments = parser.parse_args()
    from dragoman.machine import usable_processors

    processors = usable_processors()
    arguments.threads = arguments.threads or max(1, processors // max(1, arguments.workers))
    lines = texts_of(arguments, 400 if arguments.quick else 4000)
    found, one = (
        Measured(arguments, lines),
        [sys.executable, str(HERE / "serve_one_by_one.py"), arguments.model, str(processors)],
    )
    for _ in range(1 if arguments.quick else arguments.rounds):
        usual = found.offline(processors)

        def both(url: str, pid: int, usual: dict[str, str] = usual) -> Load:
            found.service(url, pid, usual)
            return Load()

        measured(serve_command(arguments), both)
        measured(one, found.one_by_one)
        print({name: [round(figure, 1) for figure in own] for name, own in found.figures.items()}, flush=True)
    checked = lines[: max(100, len(lines) // 4)]
    texts = offline(arguments.model, 1, checked, exact=True)["texts"]
    expected = dict(zip(checked, texts, strict=True))
    exact = measured(
        serve_command(arguments, "--exact"), lambda url, pid: asyncio.run(closed_loop(url, checked, CLIENTS))
    )
    words = sorted(len(line.split()) for line in lines)
    result: dict[str, Any] = {
        "of_offline": round(found.median("closed") / found.median("offline"), 3),
        "of_offline_cpu": round(found.median("offline_cpu") / found.median("closed_cpu"), 3),
        "vs_one_by_one": round(found.median("closed") / found.median("one"), 3),
        "p99_over_p50": round(found.median("p99") / found.median("p50"), 2),
        "alone_p99_over_p50": round(found.median("alone_p99") / found.median("alone_p50"), 2),
        "wrong": wrong(exact, expected) + len(checked) - len(exact.replies),
        **{name: found.median(name) for name in found.figures},
        "checked": len(checked),
        "lines": len(lines),
        "words": {"p50": words[len(words) // 2], "p90": words[9 * len(words) // 10], "most": words[-1]},
        "workers": arguments.workers,
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
