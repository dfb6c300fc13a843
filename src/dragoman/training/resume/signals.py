"""Signals stop a run between two steps, after saving."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def stop_on_signals() -> Iterator[Callable[[], bool]]:
    """A function that returns whether SIGINT or SIGTERM has arrived; a second SIGINT stops at once."""
    arrived = False
    if threading.current_thread() is not threading.main_thread():  # Python delivers signals to the main thread only
        yield lambda: False
        return

    def store_signal(number: int, frame: FrameType | None) -> None:
        nonlocal arrived
        arrived = True
        signal.signal(signal.SIGINT, signal.default_int_handler)

    before = {number: signal.signal(number, store_signal) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield lambda: arrived
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
