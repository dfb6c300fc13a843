"""What happens in the service besides requests, for its log: names, numbers and reasons, never a text."""

import json
import logging
from typing import Any

log = logging.getLogger("dragoman.serve")


def log_event(level: int = logging.WARNING, **fields: Any) -> None:
    """An entry of these fields; those that are empty strings are left out."""
    shown = {name.replace("_", " "): value for name, value in fields.items() if value != ""}
    log.log(level, "%s", json.dumps(shown, ensure_ascii=False), extra={"fields": shown})
