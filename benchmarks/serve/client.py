"""A load on the service: closed loop, in which each client waits for its answer, and open loop, at planned times.

A part of `serve/load.py`, `serve/soak.py` and `serve/kill.py`. Latencies of the open loop are counted from the planned
time: a service that falls behind does not slow down those that come after.
"""

import asyncio
import json
import math
import os
import random
import re
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import urlopen


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer to a text; status 0 is a connection that was lost."""

    text: str
    status: int
    answer: str
    seconds: float


@dataclass
class Load:
    """Replies in the order in which they came, and the wall time in which the first `counted` of them did."""

    replies: list[Reply] = field(default_factory=list)
    seconds: float = 0.0
    counted: int = 0

    @property
    def rate(self) -> float:
        """Translations per second."""
        return sum(reply.status == 200 for reply in self.replies[: self.counted]) / self.seconds

    def until(self, seconds: float) -> None:
        """Count what has come until now, `seconds` after the beginning."""
        self.seconds, self.counted = seconds, len(self.replies)

    def percentile(self, share: float) -> float:
        """Seconds within which this share of the replies came."""
        ordered = sorted(reply.seconds for reply in self.replies)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


class Client:
    """One connection to the service at `url`, opened again when it was closed."""

    def __init__(self, url: str) -> None:
        where = urlsplit(url)
        self.host, self.port = str(where.hostname), int(where.port or 80)
        self.streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, text: str, planned: float | None = None) -> Reply:
        """Translate a text from English into Korean."""
        began = time.perf_counter() if planned is None else planned
        try:
            status, body = await self._post({"text": text, "source": "en", "target": "ko"})
            answer = json.loads(body)["translations"][0]["text"] if status == 200 else body.decode()
        except (OSError, EOFError, ValueError) as error:
            self.close()
            status, answer = 0, type(error).__name__
        return Reply(text, status, answer, time.perf_counter() - began)

    async def _post(self, asked: dict[str, str]) -> tuple[int, bytes]:
        if self.streams is None:
            self.streams = await asyncio.open_connection(self.host, self.port)
        reader, writer = self.streams
        body = json.dumps(asked).encode()
        head = "POST /v1/translate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = {name.casefold(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
        found = await reader.readexactly(int(headers["content-length"]))
        if headers.get("connection") == "close":
            self.close()
        return int(lines[0].split()[1]), found

    def close(self) -> None:
        """Close the connection."""
        if self.streams:
            self.streams[1].close()
        self.streams = None


async def closed_loop(url: str, texts: Sequence[str], clients: int) -> Load:
    """All texts, by clients that each ask for the next one when they have an answer.

    Counted is what comes while all clients have a text: at the end the service has less than its full load.
    """
    left, load = iter(texts), Load()

    async def work() -> None:
        client = Client(url)
        for text in left:
            load.replies.append(reply := await client.ask(text))
            if not reply.status:
                await asyncio.sleep(1.0)  # nobody answers for a moment; not thousands of refused connections
        if not load.counted:
            load.until(time.perf_counter() - began)
        client.close()

    began = time.perf_counter()
    await asyncio.gather(*(work() for _ in range(clients)))
    return load


async def open_loop(url: str, texts: Sequence[str], rate: float, seed: int = 1) -> Load:
    """All texts at times of a Poisson process of `rate` per second."""
    chosen, idle, load, tasks = random.Random(seed), list[Client](), Load(), set[asyncio.Task[None]]()

    async def ask(text: str, planned: float) -> None:
        client = idle.pop() if idle else Client(url)
        load.replies.append(await client.ask(text, planned))
        idle.append(client)

    began = planned = time.perf_counter()
    for text in texts:
        planned += chosen.expovariate(rate)
        await asyncio.sleep(max(0.0, planned - time.perf_counter()))
        task = asyncio.create_task(ask(text, planned))
        tasks.add(task)
        task.add_done_callback(tasks.discard)
    await asyncio.gather(*tasks)
    load.until(time.perf_counter() - began)
    for client in idle:
        client.close()
    return load


def started(command: Sequence[str]) -> tuple[subprocess.Popen[str], str]:
    """A server that says `at URL` on stderr, and that URL, once it is ready."""
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert process.stderr
    for line in process.stderr:
        if "at http://" in line:
            url = line.split("at ")[1].split(",")[0].strip()
            break
    else:
        raise SystemExit("the server ended")
    _swallow(process)
    reply = asyncio.run(Client(url).ask("Hello"))
    if reply.status != 200:
        process.kill()
        raise SystemExit(f"the server cannot translate: {reply.answer}")
    return process, url


def _swallow(process: subprocess.Popen[str]) -> None:
    """Read what it says, so that it can say more."""
    threading.Thread(target=lambda: process.stderr and process.stderr.read(), daemon=True).start()


def children(pid: int) -> list[int]:
    """The processes that a process has started, on Linux."""
    listed = [path.read_text() for path in Path(f"/proc/{pid}/task").glob("*/children")]
    return [int(number) for text in listed for number in text.split()]


def processor_seconds(pid: int) -> float:
    """Processor time of a process and of those that it has started, on Linux."""
    fields = [Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split() for one in (pid, *children(pid))]
    return sum(int(own[11]) + int(own[12]) for own in fields) / os.sysconf("SC_CLK_TCK")


class Histograms:
    """What the service's own histograms (`/metrics`) count from now on."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.before = self._read()

    def percentile(self, name: str, share: float) -> float:
        """Seconds within which this share was, interpolated within a bucket."""
        now, bounds = self._read(), sorted(bound for own, bound in self.before if own == name)
        counts = [now[name, bound] - self.before[name, bound] for bound in bounds]
        wanted, low, least = share * counts[-1], 0.0, 0.0
        for bound, count in zip(bounds, counts, strict=True):
            if count >= wanted and count > least:
                return low + (bound - low) * (wanted - least) / (count - least) if math.isfinite(bound) else low
            low, least = bound, count
        return low

    def _read(self) -> Counter[tuple[str, float]]:
        with urlopen(f"{self.url}/metrics") as answer:
            text = answer.read().decode()
        counts = Counter[tuple[str, float]]()  # of all replicas
        for name, bound, count in re.findall(r'^dragoman_(\w+)_bucket\{le="([^"]+)"[^}]*\} (\S+)$', text, re.M):
            counts[name, float(bound)] += float(count)
        return counts


def memory(pid: int) -> int:
    """Bytes of a process and of those that it has started, on Linux."""
    total = 0
    for one in (pid, *children(pid)):
        fields = dict(line.split(":", 1) for line in Path(f"/proc/{one}/status").read_text().splitlines())
        total += 1024 * int(fields["VmRSS"].split()[0])
    return total
