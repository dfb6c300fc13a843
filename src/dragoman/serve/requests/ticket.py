"""What a request has while it is worked on: whose it is, until when it may take, and whether anyone waits for it.

The errors of this module end a request; the dialects turn them into answers.
"""

import threading
import time
from collections.abc import Callable

from dragoman.errors import DragomanError
from dragoman.serve.requests.record import Record


class QueueFull(DragomanError):
    """The service has as much work as it accepts; `retry_after` is in seconds."""

    def __init__(self, message: str, retry_after: int) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class Expired(DragomanError):
    """The request took longer than it may."""


class Cancelled(DragomanError):
    """Nobody waits for the answer any more."""


class Ticket:
    """One request: the `key` of its sender, by whom turns are taken, and its `deadline` on the monotonic clock."""

    def __init__(self, key: str = "", deadline: float | None = None, record: Record | None = None) -> None:
        self.key, self.deadline, self.record = key, deadline, record or Record()
        self.number, self.began, self.served, self.used = 0, 0.0, 0.0, 0
        """Its place among all, where the keys and where its turns began, and its tokens so far; see
        `serve.search.fair`."""
        self.is_cancelled = False
        self._lock = threading.Lock()
        self._wake: Callable[[], None] | None = None

    @property
    def remaining(self) -> float | None:
        """Seconds until the deadline; None: there is none."""
        return None if self.deadline is None else self.deadline - time.monotonic()

    def cancel(self) -> None:
        """End the request at its next call, or now if it waits for one."""
        with self._lock:
            self.is_cancelled = True
            wake = self._wake
        if wake:
            wake()

    def on_cancel(self, wake: Callable[[], None] | None) -> None:
        """What `cancel` calls from now on; None: nothing."""
        with self._lock:
            self._wake = wake

    def check(self) -> None:
        """Raises Cancelled or Expired."""
        if self.is_cancelled:
            raise Cancelled("the client is gone")
        if (remaining := self.remaining) is not None and remaining <= 0:
            raise Expired("the request took longer than it may; send a shorter text, or try again later")
