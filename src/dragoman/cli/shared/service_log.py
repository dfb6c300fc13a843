"""The log of the service on stderr: lines for people, or JSON for programs. Times, sizes and ids, never a text."""

import json
import logging
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

Style = Literal["plain", "json"]


class JsonLines(logging.Formatter):
    """A line of JSON for each entry: time (UTC), level, and the fields of the entry, or its message."""

    def format(self, record: logging.LogRecord) -> str:
        """The entry as one line."""
        at = f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(record.created))}.{int(record.msecs):03}Z"
        fields = getattr(record, "fields", None) or {"message": record.getMessage()}
        entry = {"time": at, "level": record.levelname.lower(), **fields}
        if record.exc_info:
            entry["trace"] = self.formatException(record.exc_info)
        return json.dumps(entry, ensure_ascii=False)


@contextmanager
def logged(style: Style) -> Iterator[None]:
    """Within the block the log of the service goes to stderr."""
    log, handler = logging.getLogger("dragoman.serve"), logging.StreamHandler(sys.stderr)
    plain = logging.Formatter("%(asctime)s %(levelname)s %(message)s")
    handler.setFormatter(JsonLines() if style == "json" else plain)
    level = log.level
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.setLevel(level)
