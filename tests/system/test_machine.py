"""What a process may use of its machine and of its container."""

import mmap
import os
from pathlib import Path

import pytest

from dragoman.system import machine
from dragoman.system.machine import available_memory, processor_quota, resident_memory, usable_processors


def test_available_memory_is_that_of_the_machine_or_its_container(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    info, limit = tmp_path / "meminfo", tmp_path / "max"
    monkeypatch.setattr(machine, "MEMINFO", info)
    monkeypatch.setattr(machine, "CGROUP_LIMITS", (limit,))
    assert available_memory() is None
    info.write_text("MemTotal: 9 kB\nMemAvailable:    2048 kB\n")
    assert available_memory() == 2**21
    limit.write_text("max\n")
    assert available_memory() == 2**21
    limit.write_text("1048576\n")
    assert available_memory() == 2**20


@pytest.mark.parametrize(
    ("version_2", "version_1", "quota", "processors"),
    [
        (None, None, None, 8),
        ("max 100000", None, None, 8),
        ("350000 100000", None, 3.5, 3),
        ("50000 100000", None, 0.5, 1),
        ("1600000 100000", None, 16.0, 8),
        (None, ("-1", "100000"), None, 8),
        (None, ("200000", "100000"), 2.0, 2),
        ("torn", ("", ""), None, 8),
    ],
)
def test_a_containers_quota_limits_the_processors(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    version_2: str | None,
    version_1: tuple[str, str] | None,
    quota: float | None,
    processors: int,
) -> None:
    new, old = (tmp_path / "cpu.max",), (tmp_path / "cpu.cfs_quota_us", tmp_path / "cpu.cfs_period_us")
    for path, text in zip((*new, *old), (version_2, *(version_1 or (None, None))), strict=True):
        if text is not None:
            path.write_text(text + "\n")
    monkeypatch.setattr(machine, "CGROUP_QUOTAS", (new, old))
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
    assert processor_quota() == quota
    assert usable_processors() == processors


@pytest.mark.skipif(not machine.STATM.exists(), reason="Linux counts the pages of a process in /proc")
def test_resident_memory_grows_with_what_is_held() -> None:
    """The memory is a fresh mapping: an allocator may hand out pages that the process already has."""
    before = resident_memory()
    with mmap.mmap(-1, 2**26) as held:
        held.write(os.urandom(2**20) * 64)
        after = resident_memory()
    assert before
    assert after
    assert after - before > 2**25
