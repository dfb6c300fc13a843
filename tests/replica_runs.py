"""Replicas that do not serve. Here, because a process that is started has to import them."""

import os
import signal
import time

from dragoman.errors import ModelError
from dragoman.serve.replicas.replica import ReplicaLink


def with_a_damaged_model(link: ReplicaLink) -> None:
    """What it cannot do is an error of ours."""
    link.failed(ModelError("en-ko: damaged; install it again"))


def killed(link: ReplicaLink) -> None:
    """What the system does where memory runs out."""
    os.kill(os.getpid(), signal.SIGKILL)


def silent(link: ReplicaLink) -> None:
    """It serves, and answers nothing."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    link.ready()
    time.sleep(60)
