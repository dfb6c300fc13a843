"""A worker process: started, waited for without asking again and again, and ended."""

import os
import select
import subprocess
import sys
from contextlib import suppress

from dragoman.serve.requests.events import log_event
from dragoman.system.processes import python_path


def start(threads: int) -> subprocess.Popen[bytes] | None:
    """A new worker, which imports this package from where it is; None if the system refuses it."""
    env = {**os.environ, "PYTHONPATH": python_path()}
    command = [sys.executable, "-P", "-c", f"from dragoman.serve.search.worker import main; main({threads})"]
    try:
        return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env)
    except OSError as error:
        log_event(worker=None, not_started=error.strerror)
        return None


def has_ended(process: subprocess.Popen[bytes], seconds: float) -> bool:
    """Whether it ends within these seconds; on Linux without asking twenty times a second, as `Popen.wait` does."""
    if hasattr(os, "pidfd_open"):
        with suppress(OSError), open(os.pidfd_open(process.pid), "rb", buffering=0) as ended:
            waiting = select.poll()
            waiting.register(ended, select.POLLIN)
            waiting.poll(1000 * seconds)
            return process.poll() is not None
    with suppress(subprocess.TimeoutExpired):
        process.wait(seconds)
    return process.returncode is not None


def stop(process: subprocess.Popen[bytes]) -> None:
    """Let a worker end after what it does now."""
    with suppress(OSError, ValueError):
        if process.stdin:
            process.stdin.close()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
