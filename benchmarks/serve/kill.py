"""Requests while the replicas of the service are killed: no answer is wrong, and every failure is a clean one.

    python benchmarks/serve/kill.py [--quick] [--requests 1000] [--every 5] [--replicas 2] [--model en-ko]

`dragoman serve --exact --replicas 2` gets requests from 16 clients, over and over until there were `--requests` and 5
kills, while every few seconds one of its processes is killed by SIGKILL. An answer is wrong if it is not the offline
translation with decode.exact; a failure is clean if its connection was lost (status 0) or if it is a problem (RFC 9457)
with a status of 500 to 599. Meanwhile corrections and documents are sent (`serve/kept.py`). At the end the server is
killed, and started again on its state: `kept` says what is there then of what was accepted and finished. `--quick`
asks 300 times and kills every second. The last line is one JSON object.
"""

import argparse
import asyncio
import json
import os
import random
import signal
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
from serve.client import Load, Reply, children, closed_loop
from serve.kept import Keeper
from serve.load import golden_lines, measured, offline, serve_command

CLIENTS, KILLS = 16, 5


def is_clean(reply: Reply) -> bool:
    """Whether a failure is a lost connection or a problem of the service."""
    try:
        return reply.status == 0 or (500 <= reply.status < 600 and json.loads(reply.answer)["status"] == reply.status)
    except (ValueError, KeyError):
        return False


def replicas(pid: int) -> list[int]:
    """The processes of the service that answer requests; multiprocessing starts another one."""
    return [child for child in children(pid) if b"--multiprocessing-fork" in command_of(child)]


def command_of(pid: int) -> bytes:
    """The command line of a process; empty if it has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def under_fire(url: str, pid: int, lines: Sequence[str], least: int, every: float) -> tuple[list[Reply], int]:
    """The replies to the lines, and the number of processes killed meanwhile."""
    ended, chosen, killed = threading.Event(), random.Random(1), list[int]()

    def kill() -> None:
        while not ended.wait(every):
            if alive := replicas(pid):
                killed.append(chosen.choice(alive))
                os.kill(killed[-1], signal.SIGKILL)

    killer, replies = threading.Thread(target=kill), list[Reply]()
    killer.start()
    while len(replies) < least or len(killed) < KILLS:
        replies += asyncio.run(closed_loop(url, lines, CLIENTS)).replies
    ended.set()
    killer.join()
    return replies, len(killed)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--model", default="en-ko")
    parser.add_argument("--replicas", type=int, default=2)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--requests", type=int, default=1000)
    parser.add_argument("--every", type=float, default=5.0, metavar="SECONDS")
    parser.add_argument("--quick", action="store_true")
    arguments = parser.parse_args()
    least, every = (300, 1.0) if arguments.quick else (arguments.requests, arguments.every)
    lines = golden_lines(arguments.model, 200)
    expected = dict(zip(lines, offline(arguments.model, 1, lines, exact=True)["texts"], strict=True))
    found: dict[str, Any] = {}

    def load(url: str, pid: int) -> Load:
        keeper = Keeper(url, expected)
        keeper.start()
        found["replies"], found["killed"] = under_fire(url, pid, lines, least, every)
        keeper.end()
        found["keeper"], found["before"] = keeper, keeper.missing(url)
        os.kill(pid, signal.SIGKILL)
        return Load()

    def afterwards(url: str, pid: int) -> Load:
        found["kept"] = found["keeper"].missing(url)
        return Load()

    with tempfile.TemporaryDirectory() as state:
        command = serve_command(arguments, "--exact", "--state", state)
        measured(command, load)
        measured(command, afterwards)
    replies: list[Reply] = found["replies"]
    failed = [reply for reply in replies if reply.status != 200]
    result = {
        "requests": len(replies),
        "killed": found["killed"],
        "wrong": sum(reply.status == 200 and reply.answer != expected[reply.text] for reply in replies),
        "failed": len(failed),
        "unclean": sum(not is_clean(reply) for reply in failed),
        "kept": found["kept"],
        "kept_before_restart": found["before"],
        "statuses": dict(Counter(str(reply.status) for reply in replies)),
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
