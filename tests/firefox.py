"""A headless Firefox, driven by Marionette, its own protocol: JSON with its length in front, over a socket."""

import base64
import json
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from ports import held_port

# Nothing is fetched: a proxy that nobody answers for, and no updates.
PREFERENCES = """
user_pref("marionette.port", {port});
user_pref("network.proxy.type", 1);
user_pref("network.proxy.http", "127.0.0.1");
user_pref("network.proxy.http_port", 9);
user_pref("network.proxy.ssl", "127.0.0.1");
user_pref("network.proxy.ssl_port", 9);
user_pref("app.update.enabled", false);
user_pref("datareporting.policy.dataSubmissionEnabled", false);
user_pref("intl.accept_languages", "en");
"""
PATIENCE = 60.0  # seconds


class Tab:
    """The tab of the browser."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection, self._number = connection, 0
        self._rest = b""
        self._read()  # a greeting
        self._ask("WebDriver:NewSession", {"capabilities": {"alwaysMatch": {}}})

    def open(self, address: str, width: int = 1440, height: int = 900) -> None:
        """Show another page."""
        self._ask("WebDriver:SetWindowRect", {"width": width, "height": height})
        self._ask("WebDriver:Navigate", {"url": "about:blank"})
        self._ask("WebDriver:Navigate", {"url": address})

    def evaluate(self, script: str, *arguments: Any) -> Any:
        """What a function body returns, which sees the variables of the page."""
        return self._ask("WebDriver:ExecuteScript", {"script": script, "args": arguments})["value"]

    def wait(self, script: str, *arguments: Any) -> Any:
        """What a function body returns, as soon as that is true."""
        end = time.monotonic() + PATIENCE
        while not (value := self.evaluate(script, *arguments)):
            assert time.monotonic() < end, script
            time.sleep(0.05)
        return value

    def fill(self, selector: str, text: str) -> None:
        """Write into a box, as a person does by pasting."""
        script = "const box = document.querySelector(arguments[0]); box.value = arguments[1]; box.dispatchEvent(%s)"
        self.evaluate(script % 'new Event("input", { bubbles: true })', selector, text)

    def screenshot(self, path: Path) -> None:
        """Write what is seen."""
        path.write_bytes(base64.b64decode(self._ask("WebDriver:TakeScreenshot", {"full": False})["value"]))

    def _ask(self, command: str, parameters: dict[str, Any]) -> Any:
        self._number += 1
        text = json.dumps([0, self._number, command, parameters]).encode()
        self._connection.sendall(f"{len(text)}:".encode() + text)
        _, number, error, value = self._read()
        assert (number, error) == (self._number, None), error
        return value

    def _read(self) -> Any:
        while b":" not in self._rest:
            self._rest += self._more()
        size, _, self._rest = self._rest.partition(b":")
        while len(self._rest) < int(size):
            self._rest += self._more()
        text, self._rest = self._rest[: int(size)], self._rest[int(size) :]
        return json.loads(text)

    def _more(self) -> bytes:
        part = self._connection.recv(1 << 16)
        assert part, "the browser has ended"
        return part


@contextmanager
def firefox(folder: Path) -> Iterator[Tab]:
    """The tab of a browser with a new profile in `folder`; the test is skipped where there is no Firefox."""
    program = shutil.which("firefox") or shutil.which("firefox-esr")
    if not program:
        pytest.skip("no Firefox on this machine: the page was not opened in it")
    command = [program, "--headless", "--marionette", "--no-remote", "--profile", str(folder)]
    with held_port() as port:
        (folder / "user.js").write_text(PREFERENCES.format(port=port), encoding="utf-8")
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            with _connected(port) as connection:
                yield Tab(connection)
        finally:
            process.terminate()
            process.wait(PATIENCE)


def _connected(port: int) -> socket.socket:
    end = time.monotonic() + PATIENCE
    while True:
        try:
            connection = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
        except OSError:
            assert time.monotonic() < end, "Firefox does not answer"
            time.sleep(0.2)
        else:
            return connection
