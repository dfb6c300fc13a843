"""An engine lives in the process that loaded it: a child that was forked has its memory, but none of its threads."""

import os

from dragoman.errors import ResourceError


def refuse_fork(process: int) -> None:
    """Raises ResourceError anywhere but in `process`: elsewhere the engine would wait for threads for ever."""
    if os.getpid() != process:
        raise ResourceError("an engine does not survive a fork; load the model in each process")
