"""The memory of this process, as Linux counts it."""

from pathlib import Path


def memory_bytes(key: str) -> int:
    """VmRSS (now) or VmHWM (peak) in bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(key)) * 1024


def memory_mb(key: str) -> float:
    """VmRSS (now) or VmHWM (peak) in MiB."""
    return memory_bytes(key) / 2**20
