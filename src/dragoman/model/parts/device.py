"""The device and the precision that a model runs in; networks that have only shapes."""

import math
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from threading import Lock
from typing import Any, Literal

import torch
from torch.overrides import TorchFunctionMode

from dragoman.errors import ResourceError

# A product of 2 · 64 · 512 · 512 operations: milliseconds even where bfloat16 is emulated at 1 GFLOP/s.
PROBE = (64, 512, 512)
# In a whole pass bfloat16 also saves memory traffic; a product this much slower outweighs that.
FAR_SLOWER = 3.0
# Torch's thread count belongs to the process: a lock for code that changes it temporarily.
THREADS = Lock()

# Operations that give a tensor its initial values, besides those of `torch.nn.init`.
FILLING = (torch.Tensor.uniform_, torch.Tensor.normal_, torch.Tensor.zero_, torch.Tensor.fill_)


def pick_device(name: str) -> torch.device:
    """The device called `name`; `auto` is a GPU if there is one. Raises ResourceError."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.zeros(1, device=device).item()  # fails on "meta", which holds no numbers
    except (RuntimeError, AssertionError, ImportError):
        raise ResourceError(f'device "{name}" is not on this machine; use "cpu" or "auto"') from None
    return device


@contextmanager
def within_memory(what: str, remedy: str) -> Iterator[None]:
    """Turn the many ways of running out of memory into one ResourceError: "out of memory on `what`; `remedy`"."""
    try:
        yield
    except RuntimeError as error:  # so are torch.OutOfMemoryError and what a CPU's allocator raises
        if isinstance(error, torch.OutOfMemoryError) or "allocate memory" in str(error):
            raise ResourceError(f"out of memory on {what}; {remedy}") from None
        raise


def autocast(precision: Literal["float32", "bfloat16"], device: torch.device) -> AbstractContextManager[None]:
    """Matrix products and the operations between them in `precision`; weights, their gradients and sums in float32."""
    return torch.autocast(device.type, torch.bfloat16, enabled=precision == "bfloat16")


def uncached_autocast(device: torch.device) -> AbstractContextManager[None]:
    """The autocast of the context, converting weights at each use: a recording must not read what another converted."""
    kind = device.type
    dtype, enabled = torch.get_autocast_dtype(kind), torch.is_autocast_enabled(kind)
    return torch.autocast(kind, dtype, enabled=enabled, cache_enabled=False)


def product_seconds(dtype: torch.dtype, device: torch.device) -> float:
    """Seconds of one small matrix product in `dtype` on one thread: the least of three, as the first compiles a kernel.

    One thread, because threads that share a product wait for each other while another program holds a core: then every
    product takes as long as the time slice of the scheduler, in any precision.
    """
    rows, inner, columns = PROBE
    left = torch.ones(rows, inner, dtype=dtype, device=device)
    right = torch.ones(inner, columns, dtype=dtype, device=device)
    least = math.inf
    with torch_threads(1):
        for _ in range(3):
            before = time.perf_counter()
            left @ right
            if device.type != "cpu":  # which only starts the product
                torch.accelerator.synchronize(device)
            least = min(least, time.perf_counter() - before)
    return least


def bfloat16_slowdown(device: torch.device) -> float:
    """Time of a small product in bfloat16 over that in float32: below 1 with units for it, 10 or more if emulated."""
    return product_seconds(torch.bfloat16, device) / product_seconds(torch.float32, device)


def emulation_notice(device: torch.device, key: str) -> str | None:
    """A warning for a configuration whose `key` is bfloat16 if the processor emulates it, otherwise None."""
    if device.type != "cpu" or (slower := bfloat16_slowdown(device)) <= FAR_SLOWER:
        return None
    return f"{key}: this processor emulates bfloat16, a product takes {slower:.0f} times as long; choose float32"


@contextmanager
def torch_threads(count: int) -> Iterator[None]:
    """Torch's operations on `count` threads within the context. With one, sums are in one order: torch divides long
    ones among its threads. The number belongs to the process, so contexts in other Python threads wait.
    """
    with THREADS:
        threads = torch.get_num_threads()
        torch.set_num_threads(count)
        try:
            yield
        finally:
            torch.set_num_threads(threads)


def compute_dtype(device: torch.device, otherwise: torch.dtype = torch.float32) -> torch.dtype:
    """The dtype of matrix products: within an `autocast` context that of the context, otherwise `otherwise`."""
    return torch.get_autocast_dtype(device.type) if torch.is_autocast_enabled(device.type) else otherwise


@contextmanager
def without_values() -> Iterator[None]:
    """Networks that are made within the context have shapes only: all of their tensors are on the device `meta`.

    No numbers are drawn: even where they need no memory, torch would load its compiler to draw them.
    """
    with torch.device("meta"), _Unfilled():
        yield


class _Unfilled(TorchFunctionMode):
    """Tensors on `meta` are not filled."""

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if func in FILLING or getattr(func, "__module__", None) == "torch.nn.init":
            tensor = args[0] if args else kwargs["tensor"]
            if tensor.is_meta:
                return tensor
        return func(*args, **kwargs)
