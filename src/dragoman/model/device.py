"""Where and in which arithmetic a model runs."""

import ctypes
import math
import os
import platform
import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from threading import Lock
from typing import Literal

import torch

from dragoman.errors import ResourceError

# Names and numbers of malloc.h; mallopt(3) explains them.
MALLOC = {
    "M_TRIM_THRESHOLD": (-1, 2**31 - 1),
    "M_TOP_PAD": (-2, 64 * 2**20),
    "M_MMAP_THRESHOLD": (-3, 32 * 2**20),
}
M_ARENA_MAX = -8
# A narrower model is done with a product so soon that compiling its kernel anew would count.
KERNELS_ARE_CHEAP_FROM = 256
# A product of 2 · 64 · 512 · 512 operations: milliseconds even where bfloat16 is emulated at 1 GFLOP/s.
PROBE = (64, 512, 512)
# In a whole pass bfloat16 also saves memory traffic; a product this much slower outweighs that.
FAR_SLOWER = 3.0
# How many threads torch has is the process's affair: who changes it for a while waits for whoever else does.
THREADS = Lock()
# Compiled matrix products that oneDNN and, beside it, PyTorch remember: 1,024 each, if they are not told otherwise.
KERNELS = {"ONEDNN_PRIMITIVE_CACHE_CAPACITY": "128", "LRU_CACHE_CAPACITY": "128"}


def pick_device(name: str) -> torch.device:
    """The device called `name`; `auto` is a GPU if there is one. Raises ResourceError."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.zeros(1, device=device).item()  # what holds a number gives it back, which "meta" does not
    except (RuntimeError, AssertionError, ImportError):
        raise ResourceError(f'device "{name}" is not on this machine; use "cpu" or "auto"') from None
    return device


def keep_freed_memory() -> None:
    """Let glibc keep memory that this process frees, where glibc is; it is taken again by the next training step.

    Given back and taken anew, gigabytes a step, each page is cleared by the kernel first: a fifth of a step of
    paper-base on a CPU (`docs/log.md`, 2026-11-21). A thread that works takes from an arena of its own, and one of them
    from that of the main thread, which waits meanwhile (decision 0011).
    """
    if sys.platform == "linux" and platform.libc_ver()[0] == "glibc":
        libc = ctypes.CDLL(None)
        for option, value in (*MALLOC.values(), (M_ARENA_MAX, torch.get_num_threads())):
            libc.mallopt(option, value)


def keep_few_kernels(d_model: int) -> None:
    """Let few of the kernels be kept that a CPU compiles for products in bfloat16; the environment has the last word.

    Each shape has its own, and batches keep bringing new ones. Kept by the thousand, kernels lie strewn among the
    tensors, and what is free between them is soon too small for the next tensor: memory grew from update to update
    (`docs/log.md`, 2026-11-22). After a process has multiplied in bfloat16 this comes too late.
    """
    if d_model >= KERNELS_ARE_CHEAP_FROM:
        for name, count in KERNELS.items():
            os.environ.setdefault(name, count)


@contextmanager
def within_memory(what: str, remedy: str) -> Iterator[None]:
    """Turn the many ways of running out of memory into one ResourceError that says on `what`."""
    try:
        yield
    except RuntimeError as error:  # torch.OutOfMemoryError is one, and a CPU's has no class of its own
        if isinstance(error, torch.OutOfMemoryError) or "allocate memory" in str(error):
            raise ResourceError(f"out of memory on {what}; {remedy}") from None
        raise


def autocast(precision: Literal["float32", "bfloat16"], device: torch.device) -> AbstractContextManager[None]:
    """Matrix products, and what stands between them, in `precision`; weights, their gradients and sums stay float32."""
    return torch.autocast(device.type, torch.bfloat16, enabled=precision == "bfloat16")


def product_seconds(dtype: torch.dtype, device: torch.device) -> float:
    """Seconds of one small matrix product in `dtype` on one thread: the least of three, as the first compiles a kernel.

    One thread, because threads that share a product wait for each other while a neighbour holds a core: then every
    product takes as long as the scheduler's turn, in any precision.
    """
    rows, inner, columns = PROBE
    left = torch.ones(rows, inner, dtype=dtype, device=device)
    right = torch.ones(inner, columns, dtype=dtype, device=device)
    least = math.inf
    with torch_threads(1):
        for _ in range(3):
            before = time.perf_counter()
            left @ right
            if device.type == "cuda":
                torch.cuda.synchronize(device)
            least = min(least, time.perf_counter() - before)
    return least


def bfloat16_slowdown(device: torch.device) -> float:
    """How many times as long as in float32 a small product takes in bfloat16: below 1 with units for it, 10 or far
    more where it is emulated.
    """
    return product_seconds(torch.bfloat16, device) / product_seconds(torch.float32, device)


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
    """The type of matrix products here and now: that of `autocast` inside of it."""
    return torch.get_autocast_dtype(device.type) if torch.is_autocast_enabled(device.type) else otherwise
