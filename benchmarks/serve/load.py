"""The service under load: its throughput, its latency, and that every answer is the right one.

    python benchmarks/serve/load.py [--quick] [--replicas N] [--model en-ko] [--lines FILE]

offline     `Translator.translate` of the lines in one call, all processors
closed      `dragoman serve`, 64 clients that each wait for their answer
one         The same load on a service that calls the engine once for each request, as LibreTranslate does
            (`serve/one_by_one.py`), with the same model and HTTP server
open        `dragoman serve`, requests at random times at 70 % of the rate of `closed`; latency from the planned time
one open    The same requests at the same times on the service that calls the engine once for each
alone       `dragoman serve`, one client that waits for each answer
exact       `dragoman serve --exact`, 64 clients: each answer must be the offline translation with decode.exact

A shared machine is faster in one minute than in the next. So all processes are there at once, and what is compared
follows each other within seconds: in every round all of the above but `exact`, with the next 512 lines. Ratios are
those of a round; what is printed is their median over the rounds. Lines are those of FILE, one text each, or else the
golden sentences of the bundled model and pairs of them. `--quick` takes fewer lines and rounds. The clients run on the
same machine and take their share of it, so that processor time is reported too, in milliseconds a text: of the offline
translation, of all processes of the service, of the clients.

The last line is one JSON object. `of_offline` is the rate of closed / offline, and `of_offline_cpu` the same by
processor time; `vs_one_by_one` is the rate of closed / one, `p99_over_p50` that of open, `alone_p99_over_p50` the same
of one client: what the texts themselves bring. `one_p50` and `one_p99` are of one open. `p99_over_p50_of_all` is that
of all open requests of all rounds, which has the changes of the machine's speed in it. `least` and `most` are these
ratios in the lowest and the highest round. `wrong` are the answers of exact that are lost or another translation,
`differing` those of closed that are not what the usual offline call gave, whose batches are others. `queue_…` and
`search_…` are from the histograms of the service during open, of calls and of batches.
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

sys.path.insert(0, str(Path(__file__).parents[1]))
from serve.client import Histograms, Load, Reply, closed_loop, open_loop, processor_seconds, started

CLIENTS, SHARE = 64, 0.7
# Lines and rounds, of the quick run too; a round has this many lines.
LINES, QUICK_LINES, EACH, ROUNDS, QUICK_ROUNDS = 4000, 400, 512, 9, 3
OFFLINE = """
import json, sys, time
from dragoman import Translator
translator, exact = Translator.load(sys.argv[1], threads=int(sys.argv[2])), sys.argv[3] == "exact" or None
for read in sys.stdin:
    lines = json.loads(read)
    began, cpu = time.perf_counter(), time.process_time()
    found = [one.text for one in translator.translate(lines, exact=exact)]
    seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
    print(json.dumps({"seconds": seconds, "cpu": cpu, "texts": found}), flush=True)
"""


def golden_lines(model: str, count: int) -> list[str]:
    """Different English texts of one or two sentences."""
    from dragoman.installed import resolve_model

    path = resolve_model(model) / "golden.jsonl"
    own = [json.loads(line)["source"] for line in path.read_text(encoding="utf-8").splitlines()]
    pairs = (f"{first} {second}" for first, second in itertools.permutations(own, 2))
    return list(itertools.islice(dict.fromkeys(itertools.chain(own, pairs)), count))


class Offline:
    """The engine without a service, in a process of its own."""

    def __init__(self, model: str, threads: int, exact: bool = False) -> None:
        command = [sys.executable, "-c", OFFLINE, model, str(threads), "exact" if exact else "usual"]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def translate(self, lines: Sequence[str]) -> dict[str, Any]:
        """Seconds, seconds of processor time, and texts of the lines in one call."""
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(json.dumps(lines) + "\n")
        self.process.stdin.flush()
        result: dict[str, Any] = json.loads(self.process.stdout.readline())
        return result

    def close(self) -> None:
        """End the process."""
        self.process.communicate()


def offline(model: str, threads: int, lines: Sequence[str], exact: bool = False) -> dict[str, Any]:
    """Seconds and texts of the lines, in a process for this call alone."""
    engine = Offline(model, threads, exact)
    try:
        return engine.translate(lines)
    finally:
        engine.close()


def serve_command(arguments: argparse.Namespace, *more: str) -> list[str]:
    """`dragoman serve` on a free port."""
    command = [sys.executable, "-m", "dragoman", "serve", "-m", arguments.model, "--port", "0", *more]
    replicas = ["--replicas", str(arguments.replicas)] if arguments.replicas else []
    return [*command, *replicas, "--threads", str(arguments.threads)]


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

    def __init__(self, engine: Offline, service: tuple[str, int], one: str) -> None:
        self.engine, (self.service, self.pid), self.one = engine, service, one
        self.figures = defaultdict[str, list[float]](list)
        self.open_replies = list[Reply]()

    def median(self, name: str, digits: int = 1) -> float:
        """Over the rounds."""
        return round(median(self.figures[name]), digits)

    def round(self, lines: Sequence[str], number: int) -> None:
        """All systems with these lines, one after the other."""
        found = self.engine.translate(lines)
        own, cpu = time.process_time(), processor_seconds(self.pid)
        closed = asyncio.run(closed_loop(self.service, lines, CLIENTS))
        own, cpu = time.process_time() - own, processor_seconds(self.pid) - cpu
        one = asyncio.run(closed_loop(self.one, lines, CLIENTS))
        histograms = Histograms(self.service)
        opened = asyncio.run(open_loop(self.service, lines, SHARE * closed.rate, seed=number))
        queue_and_search = {
            f"{name}_p{100 * share:.0f}": 1000 * histograms.percentile(f"{histogram}_seconds", share)
            for name, histogram in (("queue", "queue"), ("search", "batch"))
            for share in (0.5, 0.99)
        }
        one_open = asyncio.run(open_loop(self.one, lines, SHARE * closed.rate, seed=number))
        alone = asyncio.run(closed_loop(self.service, lines[:100], 1))
        self.open_replies += opened.replies
        usual, each = dict(zip(lines, found["texts"], strict=True)), 1000 / len(lines)
        offline = len(lines) / found["seconds"]
        self._add(
            of_offline=closed.rate / offline,
            of_offline_cpu=found["cpu"] / cpu,
            vs_one_by_one=closed.rate / one.rate,
            p99_over_p50=opened.percentile(0.99) / opened.percentile(0.5),
            alone_p99_over_p50=alone.percentile(0.99) / alone.percentile(0.5),
            offline=offline,
            closed=closed.rate,
            one=one.rate,
            open=opened.rate,
            offline_cpu=each * found["cpu"],
            closed_cpu=each * cpu,
            client_cpu=each * own,
            differing=sum(reply.answer != usual[reply.text] for reply in closed.replies),
            p50=1000 * opened.percentile(0.5),
            p99=1000 * opened.percentile(0.99),
            one_p50=1000 * one_open.percentile(0.5),
            one_p99=1000 * one_open.percentile(0.99),
            **queue_and_search,
            alone_p50=1000 * alone.percentile(0.5),
            alone_p99=1000 * alone.percentile(0.99),
        )

    def _add(self, **figures: float) -> None:
        for name, value in figures.items():
            self.figures[name].append(value)
        print({name: round(value, 3 if value < 10 else 1) for name, value in figures.items()}, flush=True)


RATIOS = {"of_offline": 3, "of_offline_cpu": 3, "vs_one_by_one": 3, "p99_over_p50": 2, "alone_p99_over_p50": 2}


def rounds(arguments: argparse.Namespace, processors: int, lines: Sequence[str]) -> Measured:
    """All rounds; the first, which loads and warms up, does not count."""
    one = [sys.executable, str(Path(__file__).with_name("one_by_one.py")), arguments.model, str(processors)]
    engine, started_ones = Offline(arguments.model, processors), [started(serve_command(arguments)), started(one)]
    try:
        (process, service), (_, other) = started_ones
        found = Measured(engine, (service, process.pid), other)
        turns = itertools.cycle(lines)
        found.round(list(itertools.islice(turns, min(100, len(lines)))), 0)
        found.figures.clear()
        found.open_replies.clear()
        for number in range(1, arguments.rounds + 1):
            found.round(list(itertools.islice(turns, min(EACH, len(lines)))), number)
        return found
    finally:
        engine.close()
        for each, _ in started_ones:
            each.terminate()
            each.wait()


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--model", default="en-ko")
    parser.add_argument("--lines", type=Path, help="one text a line")
    parser.add_argument("--replicas", type=int, default=0)
    parser.add_argument("--threads", type=int, default=0, help="of the engine; all processors unless given")
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--quick", action="store_true")
    arguments = parser.parse_args()
    from dragoman.system.machine import usable_processors

    processors = usable_processors()
    arguments.threads = arguments.threads or max(1, processors // max(1, arguments.replicas))
    arguments.rounds = arguments.rounds or (QUICK_ROUNDS if arguments.quick else ROUNDS)
    lines = texts_of(arguments, QUICK_LINES if arguments.quick else LINES)
    found = rounds(arguments, processors, lines)
    checked = lines[: max(100, len(lines) // 4)]
    texts = offline(arguments.model, 1, checked, exact=True)["texts"]
    expected = dict(zip(checked, texts, strict=True))
    exact = measured(
        serve_command(arguments, "--exact"), lambda url, pid: asyncio.run(closed_loop(url, checked, CLIENTS))
    )
    words = sorted(len(line.split()) for line in lines)
    every = Load(found.open_replies)
    result: dict[str, Any] = {
        **{name: found.median(name, digits) for name, digits in RATIOS.items()},
        "p99_over_p50_of_all": round(every.percentile(0.99) / every.percentile(0.5), 2),
        "wrong": wrong(exact, expected) + len(checked) - len(exact.replies),
        "least": {name: round(min(found.figures[name]), digits) for name, digits in RATIOS.items()},
        "most": {name: round(max(found.figures[name]), digits) for name, digits in RATIOS.items()},
        **{name: found.median(name) for name in found.figures if name not in RATIOS},
        "checked": len(checked),
        "lines": len(lines),
        "rounds": arguments.rounds,
        "words": {"p50": words[len(words) // 2], "p90": words[9 * len(words) // 10], "most": words[-1]},
        "replicas": arguments.replicas,
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
