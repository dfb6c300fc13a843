"""A Ray cluster to work on: the one of an address, or one of this machine alone, which ends with the block.

What Ray would do unasked is off: statistics of use that it sends away, its dashboard, its messages. A cluster of this
machine keeps its files in a private folder that is removed at the end, and has its own secret, without which nobody
who reaches its ports may use it. Only this module starts Ray.
"""

import logging
import os
import secrets
import shutil
import signal
import socket
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

from dragoman.errors import ConfigError, ResourceError
from dragoman.system.machine import usable_processors
from dragoman.system.processes import python_path, signal_handlers_restored

# Seconds within which the head of a cluster accepts a connection.
CONNECT = 5.0
# What tasks and their driver exchange: texts of some shards.
OBJECT_STORE = 200 << 20
# Ray's sockets must have a path of at most 107 bytes, of which it needs most itself.
LONGEST_FOLDER = 24
# Of Ray: no statistics, each line of a worker's log by itself and without colours.
QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_DEDUP_LOGS": "0",
    "RAY_COLOR_PREFIX": "0",
}


@contextmanager
def cluster(address: str | None = None, processors: int = 0, *, logs: bool = False) -> Iterator[Any]:
    """The module `ray`, connected until the block ends; a connection of the caller's is used as it is.

    Without an `address`, and without RAY_ADDRESS, the cluster is one of this machine, with at least this number of
    `processors`. With `logs`, what workers write to stderr appears on that of this process.

    Raises ConfigError if the address does not answer, ResourceError if Ray does not start, ModuleNotFoundError
    without Ray.
    """
    address = address_of(address)
    if address:
        _refuse_silent(address)
    with _environment({**QUIET, "PYTHONPATH": python_path(), **({} if address else _token())}):
        import ray

        if ray.is_initialized():
            yield ray
            return
        folder = None if address else _private_folder()
        arguments: dict[str, Any] = {"address": address}
        if folder:
            arguments = {
                "address": "local",
                "num_cpus": max(processors, usable_processors()),
                "object_store_memory": OBJECT_STORE,
                "include_dashboard": False,
                "_temp_dir": str(folder),
            }
        try:
            with signal_handlers_restored(signal.SIGTERM, signal.SIGINT):  # Ray would end this process on SIGTERM
                _connect(ray, arguments, logs)
            yield ray
        finally:
            ray.shutdown()
            if folder:
                shutil.rmtree(folder, ignore_errors=True)


def address_of(address: str | None) -> str | None:
    """Where the cluster is: at this address, or that of $RAY_ADDRESS; None: one of this machine's own."""
    return address or os.environ.get("RAY_ADDRESS")


def ordered_data() -> Any:
    """The module `ray.data`, whose results come in order and without messages."""
    import ray.data as data

    logging.getLogger("ray.data").setLevel(logging.CRITICAL)
    context = data.DataContext.get_current()
    context.execution_options.preserve_order = True
    context.enable_progress_bars = False
    return data


def processors_of(ray: Any) -> list[int]:
    """The processors of each machine of the cluster, the most first."""
    resources = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    return sorted((int(resource.get("CPU", 0)) for resource in resources), reverse=True)


def _connect(ray: Any, arguments: Mapping[str, Any], logs: bool) -> None:
    try:
        ray.init(log_to_driver=logs, logging_level=logging.ERROR, **arguments)
    except Exception as error:
        cause = " ".join(str(error).split())[:200]
        if arguments["address"] == "local":
            raise ResourceError(f"Ray did not start: {cause}; free memory, or give --ray-address") from None
        raise ConfigError(
            f"--ray-address {arguments['address']}: {cause}; run this on a machine of the cluster, with the same Ray"
        ) from None


def _refuse_silent(address: str) -> None:
    """Raises ConfigError for an address where nothing listens; Ray itself would try for minutes, and then abort."""
    if address == "auto":
        return
    host, _, port = address.rpartition(":")
    if "/" in address or not host or not port.isdecimal():
        raise ConfigError(
            f"--ray-address {address}: not an address; write HOST:PORT, as `ray start --head` prints it, or auto"
        )
    try:
        socket.create_connection((host.strip("[]"), int(port)), CONNECT).close()
    except (OSError, OverflowError) as error:
        cause = (getattr(error, "strerror", None) or str(error)).lower()
        raise ConfigError(
            f"--ray-address {address}: does not answer: {cause}; start it with `ray start --head`, or leave it "
            "out for a cluster of this machine"
        ) from None


@cache
def _token() -> dict[str, str]:
    """One secret for all clusters of this process, whose client reads it once; Ray asks for it by itself."""
    return {"RAY_AUTH_TOKEN": secrets.token_hex(32)}


def _private_folder() -> Path:
    usual = tempfile.gettempdir()
    return Path(tempfile.mkdtemp(prefix="dg-ray-", dir=usual if len(usual) <= LONGEST_FOLDER else "/tmp"))


@contextmanager
def _environment(changes: Mapping[str, str]) -> Iterator[None]:
    """Variables for what is started within the block; those that the caller set win, but for PYTHONPATH."""
    before = {name: os.environ.get(name) for name in (*changes, "RAY_AUTH_MODE")}  # the last, Ray itself sets
    os.environ.update({name: before[name] or value for name, value in changes.items() if name != "PYTHONPATH"})
    os.environ["PYTHONPATH"] = changes["PYTHONPATH"]
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                with suppress(KeyError):
                    del os.environ[name]
            else:
                os.environ[name] = value
