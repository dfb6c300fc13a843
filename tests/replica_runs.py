"""Replicas that cannot serve. Here, because a process that is started has to import them."""

import os
import signal
import socket

from dragoman.errors import ModelError
from dragoman.serve.replica import Link


def with_a_damaged_model(listening: socket.socket, link: Link) -> None:
    """What it cannot do is an error of ours."""
    link.failed(ModelError("en-ko: damaged; install it again"))


def killed(listening: socket.socket, link: Link) -> None:
    """What the system does where memory runs out."""
    os.kill(os.getpid(), signal.SIGKILL)
