"""A PostgreSQL server of its own for a test, as Debian installs it; the test is skipped where it cannot run."""

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from dragoman.serve.store.database import Database, DatabaseGone

QUIET: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": "/"}


class Server:
    """A server whose database is in a folder; it can be stopped and started again."""

    def __init__(self, command: list[Any], home: str) -> None:
        self.command, self.url = command, f"postgresql://tests@/postgres?host={home}"

    def start(self) -> None:
        """Start it; it answers afterwards."""
        self.process = subprocess.Popen(self.command, **QUIET)
        _wait_for(self.url, self.process)

    def stop(self) -> None:
        """End it, without waiting for its clients."""
        self.process.send_signal(signal.SIGINT)
        self.process.wait(60)


@contextmanager
def postgresql_server() -> Iterator[Server]:
    """A server with an empty database, which listens on a socket in a folder of its own."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if not found:
        pytest.skip("PostgreSQL is not installed (apt install postgresql)")
    user = _as_postgres() if os.getuid() == 0 else []
    # Not below pytest's own folder, which is closed to other users and has paths too long for a socket.
    with tempfile.TemporaryDirectory(prefix="pg-") as home:
        if user:
            shutil.chown(home, "postgres", "postgres")
        made = [*user, found[-1], "-D", f"{home}/data", "-U", "tests", "-A", "trust"]
        subprocess.run(made, check=True, **QUIET)
        options = ["-k", home, "-c", "listen_addresses=", "-c", "fsync=off"]
        server = Server([*user, found[-1].with_name("postgres"), "-D", f"{home}/data", *options], home)
        server.start()
        try:
            yield server
        finally:
            server.stop()


@contextmanager
def postgresql() -> Iterator[str]:
    """The URL of an empty database."""
    with postgresql_server() as server:
        yield server.url


def _as_postgres() -> list[str]:
    """The beginning of a command that runs as another user: the server refuses to run as root."""
    user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
    if not shutil.which("setpriv") or subprocess.run([*user, "true"], capture_output=True, check=False).returncode:
        pytest.skip("PostgreSQL refuses to run as root, and setpriv cannot become the user postgres")
    return user


def _wait_for(url: str, process: "subprocess.Popen[bytes]") -> None:
    database = Database(url)
    try:
        while True:
            assert process.poll() is None, "the server ended"
            try:
                with database.begin():
                    return
            except DatabaseGone:
                time.sleep(0.1)
    finally:
        database.close()
