"""A port of this machine for a program that a test starts, and that cannot choose one by itself; names without one."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest


@contextmanager
def held_port() -> Iterator[int]:
    """A port that the system gives to nobody until the block ends; a program that names it can listen on it.

    A port that is free now may be another process's in a moment. This one is bound, without a listener; its address may
    be used again, which servers ask for, but the system does not choose it for those who ask for any port.
    """
    with socket.socket() as holder:
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        holder.bind(("127.0.0.1", 0))
        yield holder.getsockname()[1]


def without_name_servers(patch: pytest.MonkeyPatch) -> None:
    """A name that is none is looked up nowhere: some networks answer for every name, or after a long time."""
    look_up = socket.getaddrinfo

    def here(host: Any, *given: Any, **named: Any) -> Any:
        if str(host).endswith(".invalid"):
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return look_up(host, *given, **named)

    patch.setattr(socket, "getaddrinfo", here)
