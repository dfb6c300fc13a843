"""What a process is told about memory."""

import ctypes
import os
import subprocess
import sys

import pytest

from dragoman.model.device import KERNELS, keep_few_kernels

# Prints how many MiB of glibc's heap six hundred shapes of one product leave in use.
PRODUCTS = """
import ctypes, sys
import torch
from dragoman.model.device import keep_few_kernels

class Heap(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in ("a", "b", "c", "d", "e", "f", "g", "used", "h", "i")]

def used():
    libc = ctypes.CDLL(None)
    libc.mallinfo2.restype = Heap
    return libc.mallinfo2().used / 2**20

keep_few_kernels(int(sys.argv[1]))
table = torch.ones(256, 256, dtype=torch.bfloat16)
torch.ones(64, 256, dtype=torch.bfloat16) @ table
before = used()
for rows in range(65, 665):
    torch.ones(rows, 256, dtype=torch.bfloat16) @ table
print(used() - before)
"""


def left_in_use(d_model: int) -> float:
    environment = {name: value for name, value in os.environ.items() if name not in KERNELS}
    command = [sys.executable, "-c", PRODUCTS, str(d_model)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return float(done.stdout)


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "mallinfo2"), reason="asks glibc 2.33 or newer")
def test_kernels_of_past_shapes_are_forgotten() -> None:
    every = left_in_use(d_model=128)
    if every < 10:
        pytest.skip("this processor compiles no kernels for products in bfloat16")
    assert left_in_use(d_model=256) < every / 2


def test_the_environment_has_the_last_word(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in KERNELS:
        monkeypatch.setenv(name, "7")
    keep_few_kernels(512)
    assert [os.environ[name] for name in KERNELS] == ["7", "7"]
