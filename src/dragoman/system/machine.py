"""The processors and the memory that this process may use, with the limits of its container.

A container's limits are read from the files of cgroup, version 2 and 1, which a container finds at their usual paths.
"""

import os
from collections.abc import Sequence
from pathlib import Path

MEMINFO, STATM = Path("/proc/meminfo"), Path("/proc/self/statm")
# A container's limit of memory, in cgroup version 2 and 1.
CGROUP_LIMITS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
# Microseconds of processor time in each period: one file in version 2, two in version 1.
CGROUP_QUOTAS: tuple[tuple[Path, ...], ...] = (
    (Path("/sys/fs/cgroup/cpu.max"),),
    (Path("/sys/fs/cgroup/cpu/cpu.cfs_quota_us"), Path("/sys/fs/cgroup/cpu/cpu.cfs_period_us")),
)


def usable_processors() -> int:
    """The processors that this process may use: those it may run on, at most the container's quota, rounded down."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quota = processor_quota()
    return allowed if quota is None else max(1, min(allowed, int(quota)))


def processor_quota() -> float | None:
    """The processors whose time the container may use; None without a limit."""
    return min(filter(None, map(_quota, CGROUP_QUOTAS)), default=None)


def _quota(files: Sequence[Path]) -> float | None:
    try:
        quota, period = (float(word) for file in files for word in file.read_text(encoding="ascii").split())
    except (OSError, ValueError):  # another version of cgroup, or "max": no limit
        return None
    return quota / period if quota > 0 and period > 0 else None  # version 1 has -1 without a limit


def available_memory() -> int | None:
    """Free main memory in bytes, at most a container's limit; None where the system does not report it."""
    return min((size for size in (_meminfo("MemAvailable"), memory_limit()) if size is not None), default=None)


def total_memory() -> int | None:
    """Main memory in bytes; None where the system does not report it."""
    return _meminfo("MemTotal")


def memory_limit() -> int | None:
    """The container's limit of memory in bytes; None without one."""
    return min((size for size in map(_limit, CGROUP_LIMITS) if size is not None), default=None)


def resident_memory() -> int | None:
    """Main memory that this process holds, in bytes; None where the system does not report it."""
    try:
        pages = int(STATM.read_text(encoding="ascii").split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return None


def _meminfo(name: str) -> int | None:
    try:
        lines = MEMINFO.read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{name}:")), None)


def _limit(path: Path) -> int | None:
    try:
        return int(path.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None
