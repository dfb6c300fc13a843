"""An engine works only in the process that loaded it: a forked child has its memory but none of its threads."""

import os

from dragoman.errors import ResourceError


def refuse_fork(process: int) -> None:
    """Raises ResourceError in any process but `process`, where the engine would wait for its threads forever."""
    if os.getpid() != process:
        raise ResourceError("an engine does not survive a fork; load the model in each process")
