"""The service for many minutes: its memory stays, and every answer is the offline translation.

    python benchmarks/serve/soak.py [--minutes 15] [--replicas N] [--model en-ko] [--lines FILE]

`dragoman serve --exact` gets texts from 16 clients that each wait for their answer: all that it can do, however busy
the machine is. `lost` are the requests without an answer, `swapped` those with the translation of another text, `wrong`
those with any other. Memory is that of all processes of the service, as it was after these minutes; `growth` is
that at the end by that at a third of the time. The last line is one JSON object.
"""

import argparse
import asyncio
import json
import random
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
from serve.client import Load, closed_loop, memory
from serve.load import measured, offline, serve_command, texts_of

# Texts of one stretch of the load, after which memory is read.
CLIENTS, STRETCH = 16, 64


def soak(url: str, pid: int, expected: dict[str, str], minutes: float) -> dict[str, Any]:
    """Replies counted by what they are, and bytes by seconds since the start."""
    texts, others = list(expected), set(expected.values())
    counts = dict.fromkeys(("requests", "lost", "swapped", "wrong"), 0)
    sizes, chosen, began = list[tuple[float, int]](), random.Random(1), time.monotonic()
    while (passed := time.monotonic() - began) < 60 * minutes:
        sizes.append((passed, memory(pid)))
        some = chosen.choices(texts, k=STRETCH)
        load = asyncio.run(closed_loop(url, some, CLIENTS))
        counts["requests"] += len(some)
        counts["lost"] += len(some) - sum(reply.status == 200 for reply in load.replies)
        for reply in load.replies:
            if reply.status == 200 and reply.answer != expected[reply.text]:
                counts["swapped" if reply.answer in others else "wrong"] += 1
    sizes.append((passed, memory(pid)))
    return {**counts, "rate": round(counts["requests"] / passed, 1), "sizes": sizes}


def at(sizes: list[tuple[float, int]], minute: float) -> int:
    """Megabytes at a minute."""
    return round(min(sizes, key=lambda one: abs(one[0] - 60 * minute))[1] / 1e6)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--model", default="en-ko")
    parser.add_argument("--lines", type=Path, help="one text a line")
    parser.add_argument("--replicas", type=int, default=0)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=15.0)
    arguments = parser.parse_args()
    lines = texts_of(arguments, 400)
    expected = dict(zip(lines, offline(arguments.model, 1, lines, exact=True)["texts"], strict=True))
    found: dict[str, Any] = {}

    def load(url: str, pid: int) -> Load:
        found.update(soak(url, pid, expected, arguments.minutes))
        return Load()

    measured(serve_command(arguments, "--exact"), load)
    sizes, minutes = found.pop("sizes"), arguments.minutes
    marks = [minute for minute in (0, 1, 5, 10, 15, 30, 60) if minute < minutes]
    found["mb"] = {f"{minute:g}": at(sizes, minute) for minute in (*marks, minutes)}
    found["growth"] = round(at(sizes, minutes) / at(sizes, minutes / 3), 3)
    print(json.dumps({**found, "minutes": minutes, "replicas": arguments.replicas}))


if __name__ == "__main__":
    main()
