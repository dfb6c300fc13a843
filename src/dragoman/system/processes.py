"""Settings of a process (memory, kernel caches, signals), for programs to call, never for a library constructor.

And `output_of`, what another process prints: one that ends with this process, and with the work that it is for.

The command line and `dragoman.train` call these functions. A program that uses dragoman as a library keeps its settings
unless it calls them itself. Importing this module changes nothing.
"""

import ctypes
import os
import platform
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from types import FrameType

from dragoman import errors

# Names and numbers of malloc.h; mallopt(3) explains them.
MALLOC = {
    "M_TRIM_THRESHOLD": (-1, 2**31 - 1),
    "M_TOP_PAD": (-2, 64 * 2**20),
    "M_MMAP_THRESHOLD": (-3, 32 * 2**20),
}
M_ARENA_MAX = -8
# For narrower models, compiling a kernel again costs more than the product it computes.
MIN_WIDTH_FOR_KERNEL_LIMIT = 256
# Capacity of the caches of compiled matrix products in oneDNN and in PyTorch; by default 1,024 each.
KERNEL_CACHES = {"ONEDNN_PRIMITIVE_CACHE_CAPACITY": "128", "LRU_CACHE_CAPACITY": "128"}

# Seconds between two looks at whether the work is still wanted for which a process runs.
LOOK = 0.2
_check: ContextVar[Callable[[], None]] = ContextVar("check", default=lambda: None)


@contextmanager
def checked_by(check: Callable[[], None]) -> Iterator[None]:
    """Within the block `check_work` is `check`, and `output_of` calls it while it waits: an error ends the process."""
    token = _check.set(check)
    try:
        yield
    finally:
        _check.reset(token)


def check_work() -> None:
    """Raises what the check of `checked_by` raises; long work calls it now and then."""
    _check.get()()


def output_of(command: Sequence[str], seconds: float, environment: Mapping[str, str]) -> bytes:
    """What a process prints that takes `seconds` at most, and calls `end_with_parent` first.

    It never outlives the call: neither an error here nor the end of this process, however it comes, which closes the
    pipe that it watches. Raises OSError, subprocess.TimeoutExpired, and what the check of `checked_by` raises.
    """
    end, (watched, ours) = time.monotonic() + seconds, os.pipe()
    try:
        try:
            process = subprocess.Popen(
                command, env=dict(environment), stdin=watched, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
            )
        finally:
            os.close(watched)
        with process:
            try:
                while True:
                    check_work()
                    try:
                        return process.communicate(timeout=min(LOOK, max(0.0, end - time.monotonic())))[0]
                    except subprocess.TimeoutExpired:
                        if time.monotonic() >= end:
                            raise
            finally:
                process.kill()  # no effect on one that has ended
    finally:
        os.close(ours)


def end_with_parent() -> None:
    """From now on this process ends when the one that has started it does; its standard input is the sign."""

    def watch() -> None:
        while os.read(0, 1):
            pass
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def retain_freed_memory(threads: int) -> None:
    """On glibc: keep the memory that this process frees, with an arena for each of `threads` threads.

    The next training or decoding step needs the same memory again. If it goes back to the kernel, every page must be
    cleared first, which takes a fifth of a training step of paper-base on a CPU (`docs/log.md`, 2026-11-21). Each
    working thread allocates from an arena of its own; one of them uses that of the main thread, which waits meanwhile
    (decision 0011).
    """
    if sys.platform == "linux" and platform.libc_ver()[0] == "glibc":
        libc = ctypes.CDLL(None)
        for option, value in (*MALLOC.values(), (M_ARENA_MAX, threads)):
            libc.mallopt(option, value)


def limit_kernel_caches(d_model: int) -> None:
    """Limit how many kernels a CPU keeps for products in bfloat16. Variables set by the user win.

    A kernel is compiled for each shape, and new batches keep bringing new shapes. Thousands of cached kernels fragment
    the heap, so that memory grows from update to update (`docs/log.md`, 2026-11-22). Has no effect after the first
    product in bfloat16 of the process.
    """
    if d_model >= MIN_WIDTH_FOR_KERNEL_LIMIT:
        for name, capacity in KERNEL_CACHES.items():
            os.environ.setdefault(name, capacity)


def python_path() -> str:
    """PYTHONPATH with which a process that is started from here imports this very package, installed or not."""
    paths = [str(Path(errors.__file__).parents[1]), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    return os.pathsep.join(dict.fromkeys(path for path in paths if path))


def _in_main_thread() -> bool:
    """Whether this thread may set handlers of signals, which Python delivers to the main thread only."""
    return threading.current_thread() is threading.main_thread()


@contextmanager
def signal_handlers_restored(*numbers: signal.Signals) -> Iterator[None]:
    """After the block these signals have the handlers that they had before it."""
    before = {number: signal.getsignal(number) for number in numbers} if _in_main_thread() else {}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def sigterm_interrupts() -> Iterator[None]:
    """Within the block SIGTERM raises KeyboardInterrupt, as Ctrl-C does, so that what is open is closed properly."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    with signal_handlers_restored(signal.SIGTERM):
        if _in_main_thread():
            signal.signal(signal.SIGTERM, interrupt)
        yield


@contextmanager
def stop_on_signals() -> Iterator[Callable[[], bool]]:
    """A function that returns whether a signal to end has arrived; a second SIGINT stops at once.

    SIGINT, SIGTERM, and SIGHUP, which a terminal that is closed sends, unless the process ignores it, as after `nohup`.
    """
    arrived = False

    def store_signal(number: int, frame: FrameType | None) -> None:
        nonlocal arrived
        arrived = True
        signal.signal(signal.SIGINT, signal.default_int_handler)

    ends = [signal.SIGINT, signal.SIGTERM]
    if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:  # Windows has none
        ends.append(signal.SIGHUP)
    with signal_handlers_restored(*ends):
        for number in ends if _in_main_thread() else ():
            signal.signal(number, store_signal)
        yield lambda: arrived
