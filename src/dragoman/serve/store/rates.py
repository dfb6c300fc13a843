"""How often each key may ask. No HTTP."""

import time
from collections.abc import Callable
from threading import Lock


class Rates:
    """Requests per minute of each key: a bucket that fills steadily. Its clock never goes backwards."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = Lock()
        self._left: dict[str, tuple[float, float]] = {}

    def take(self, key: str, per_minute: int) -> float:
        """Take a request; returns 0, or the seconds until there is one."""
        now = self._clock()
        with self._lock:
            left, before = self._left.get(key, (float(per_minute), now))
            left = min(float(per_minute), left + (now - before) * per_minute / 60)
            taken = left >= 1
            self._left[key] = (left - taken, now)
        return 0.0 if taken else (1 - left) * 60 / per_minute
