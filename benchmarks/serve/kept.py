"""What a service must not lose: corrections that it accepted and documents that it finished.

A part of `serve/kill.py`. A `Keeper` sends both while something else is going on, and says afterwards what is missing.
"""

import json
import threading
import time
import uuid
from collections.abc import Sequence
from contextlib import suppress
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

# Seconds between two corrections; documents of a run, as many as a sender may have; lines of a document.
PAUSE, DOCUMENTS, LINES = 0.25, 16, 3
FAILED = (HTTPError, URLError, OSError)


def fetch(url: str, body: bytes | None = None, media: str = "application/json") -> bytes:
    """The answer to a GET, or to a POST of a body. Raises FAILED."""
    with urlopen(Request(url, body, {"Content-Type": media}), timeout=120) as answer:
        content: bytes = answer.read()
    return content


def read(url: str, attempts: int = 60) -> Any:
    """The JSON at a URL, read again every second while every replica is being started. Raises FAILED."""
    for _ in range(attempts - 1):
        with suppress(*FAILED):
            return json.loads(fetch(url))
        time.sleep(1.0)
    return json.loads(fetch(url))


class Keeper(threading.Thread):
    """Sends corrections and documents to `url` until it is ended; `expected` are the translations of lines."""

    def __init__(self, url: str, expected: dict[str, str]) -> None:
        super().__init__(daemon=True)
        self.url, self.expected, self.ended = url, expected, threading.Event()
        self.corrections, self.documents = dict[str, str](), dict[str, Sequence[str]]()
        self.refused = 0

    def run(self) -> None:
        """A correction after the other, and a document after some of them."""
        lines, number = list(self.expected), 0
        while not self.ended.wait(PAUSE):
            number += 1
            try:
                self._correct(lines[number % len(lines)], f"{number}. correction")
                if number % 8 == 1 and len(self.documents) < DOCUMENTS:
                    begin = LINES * len(self.documents) % (len(lines) - LINES)
                    self._upload(lines[begin : begin + LINES])
            except FAILED:
                self.refused += 1

    def _correct(self, text: str, correction: str) -> None:
        asked = {"text": text, "correction": correction, "source": "en", "target": "ko"}
        found = json.loads(fetch(f"{self.url}/v1/feedback", json.dumps(asked).encode()))
        self.corrections[found["id"]] = correction

    def _upload(self, lines: Sequence[str]) -> None:
        mark = uuid.uuid4().hex
        parts = [
            f'--{mark}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
            for name, value in (("source", "en"), ("target", "ko"))
        ]
        text = "\n\n".join(lines)
        file = (
            f'--{mark}\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\n{text}\r\n--{mark}--\r\n'
        )
        body, media = ("".join(parts) + file).encode(), f"multipart/form-data; boundary={mark}"
        found = json.loads(fetch(f"{self.url}/v1/documents", body, media))
        self.documents[found["id"]] = lines

    def end(self, seconds: float = 300.0) -> None:
        """Send no more, and wait until every document is done or has failed."""
        self.ended.set()
        self.join()
        until = time.monotonic() + seconds
        while time.monotonic() < until and not all(state in ("done", "failed") for state in self._states(self.url)):
            time.sleep(0.5)

    def missing(self, url: str) -> dict[str, Any]:
        """What the service at this URL does not have, or has otherwise."""
        there = {one["id"]: one["correction"] for one in self._kept(url)}
        lost = sum(there.get(own) != correction for own, correction in self.corrections.items())
        wrong, states = 0, self._states(url)
        for own, lines in self.documents.items():
            try:
                text = fetch(f"{url}/v1/documents/{own}/result").decode()
            except FAILED:
                continue
            wrong += [line for line in text.splitlines() if line] != [self.expected[line] for line in lines]
        return {
            "corrections": len(self.corrections),
            "corrections_lost": lost,
            "documents": len(self.documents),
            "documents_done": states.count("done"),
            "documents_lost": len(self.documents) - len(states),
            "documents_wrong": wrong,
            "refused": self.refused,
        }

    def _kept(self, url: str) -> list[dict[str, str]]:
        found: list[dict[str, str]] = []
        while more := read(f"{url}/v1/feedback?first={len(found)}&count=100")["corrections"]:
            found += more
        return found

    def _states(self, url: str) -> list[str]:
        there = read(f"{url}/v1/documents")["documents"]
        return [one["state"] for one in there if one["id"] in self.documents]
