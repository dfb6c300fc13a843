"""The service under load: its throughput, its latency, and that every answer is the right one.

    python benchmarks/serve_load.py [--quick] [--soak MINUTES] [--workers N] [--model en-ko] [--lines FILE]

offline     `Translator.translate` of all lines in one call, all processors
closed      `dragoman serve`, 64 clients that each wait for their answer
one         The same load on a service that calls the engine once for each request, as LibreTranslate does
            (`serve_one_by_one.py`), with the same model and HTTP server
open        `dragoman serve`, requests at random times at 70 % of the rate of `closed`; latency from the planned time
exact       `dragoman serve --exact`, 64 clients: each answer must be the offline translation with decode.exact

Each in a process of its own, in turn within every round; medians over the rounds. The clients run on the same machine
and take their share of it (`client_share`, of one processor). Lines are those of FILE, one text each, or else the
golden sentences of the bundled model and pairs of them. `--soak` ends with this many minutes of `open` and reports the
memory of the service. `--quick` takes fewer lines and one round.

The last line is one JSON object: `of_offline` is the rate of closed / offline, `vs_one_by_one` that of closed / one,
`p99_over_p50` of open, and `wrong` the answers of exact that are lost or another translation.
"""

import argparse
import asyncio
import itertools
import json
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from serve_client import Load, closed_loop, memory, open_loop, started

HERE, CLIENTS, SHARE = Path(__file__).parent, 64, 0.7
OFFLINE = """
import json, sys, time
from dragoman import Translator
lines, translator = json.load(sys.stdin), Translator.load(sys.argv[1], threads=int(sys.argv[2]))
translator.translate(lines[:20])
began = time.perf_counter()
found = [one.text for one in translator.translate(lines, exact=sys.argv[3] == "exact" or None)]
json.dump({"seconds": time.perf_counter() - began, "texts": found}, sys.stdout)
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


def soak(url: str, pid: int, lines: Sequence[str], rate: float, minutes: float) -> dict[str, Any]:
    """Memory of the service over time, at a constant rate."""
    sizes, end, number, replies = list[int](), time.monotonic() + 60 * minutes, 0, 0
    while time.monotonic() < end:
        load = asyncio.run(open_loop(url, lines[: max(1, int(10 * rate))], rate, seed := number))
        number, replies = seed + 1, replies + len(load.replies)
        sizes.append(memory(pid))
    half = len(sizes) // 2
    growth = median(sizes[half:]) / median(sizes[:half] or sizes)
    return {"requests": replies, "mb": [round(size / 1e6) for size in sizes], "growth": round(growth, 3)}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--model", default="en-ko")
    parser.add_argument("--lines", type=Path, help="one text a line")
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--threads", type=int, default=0, help="of the engine; all processors unless given")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--soak", type=float, default=0.0, metavar="MINUTES")
    parser.add_argument("--quick", action="store_true")
    arguments = parser.parse_args()
    from dragoman.machine import usable_processors

    processors = usable_processors()
    arguments.threads = arguments.threads or max(1, processors // max(1, arguments.workers))
    count = 400 if arguments.quick else 4000
    if arguments.lines:
        lines = list(dict.fromkeys(arguments.lines.read_text(encoding="utf-8").splitlines()))[:count]
    else:
        lines = golden_lines(arguments.model, count)
    rates: dict[str, list[float]] = {"offline": [], "closed": [], "one": []}
    tails, halves, shares = list[float](), list[float](), list[float]()
    one = [sys.executable, str(HERE / "serve_one_by_one.py"), arguments.model, str(processors)]
    for _ in range(1 if arguments.quick else arguments.rounds):
        rates["offline"].append(len(lines) / offline(arguments.model, processors, lines)["seconds"])

        def both(url: str, pid: int) -> Load:
            asyncio.run(closed_loop(url, lines[:100], CLIENTS))
            began = time.process_time()
            closed = asyncio.run(closed_loop(url, lines, CLIENTS))
            shares.append((time.process_time() - began) / closed.seconds)
            rates["closed"].append(closed.rate)
            return asyncio.run(open_loop(url, lines, SHARE * closed.rate))

        opened = measured(serve_command(arguments), both)
        halves.append(opened.percentile(0.5))
        tails.append(opened.percentile(0.99))
        found = measured(one, lambda url, pid: asyncio.run(closed_loop(url, lines, CLIENTS)))
        rates["one"].append(found.rate)
        print({name: [round(rate, 1) for rate in own] for name, own in rates.items()})
        print({"p50": halves, "p99": tails}, flush=True)
    checked = lines[: max(100, count // 4)]
    texts = offline(arguments.model, 1, checked, exact=True)["texts"]
    expected = dict(zip(checked, texts, strict=True))
    exact = measured(
        serve_command(arguments, "--exact"), lambda url, pid: asyncio.run(closed_loop(url, checked, CLIENTS))
    )
    speed = {name: median(own) for name, own in rates.items()}
    result: dict[str, Any] = {
        "of_offline": round(speed["closed"] / speed["offline"], 3),
        "vs_one_by_one": round(speed["closed"] / speed["one"], 3),
        "p99_over_p50": round(median(tails) / median(halves), 2),
        "wrong": wrong(exact, expected) + len(checked) - len(exact.replies),
        **{name: round(rate, 1) for name, rate in speed.items()},
        "p50_ms": round(1000 * median(halves), 1),
        "p99_ms": round(1000 * median(tails), 1),
        "client_share": round(median(shares), 2),
        "lines": len(lines),
        "workers": arguments.workers,
    }
    if arguments.soak:

        def soaking(url: str, pid: int) -> Load:
            result["soak"] = soak(url, pid, lines, SHARE * speed["closed"], arguments.soak)
            return Load()

        measured(serve_command(arguments), soaking)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
