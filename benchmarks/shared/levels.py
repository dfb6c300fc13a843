"""Which processor a benchmark runs on, and lesser ones that it can imitate.

A level is a set of environment variables that PyTorch and oneDNN read when they are loaded. They hold for vector
operations, for oneDNN's float32 and for all of bfloat16; MKL, which multiplies float32, decides by itself.
"""

import json
import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

import torch

from dragoman.model.parts.device import FAR_SLOWER, bfloat16_slowdown

LEVELS: dict[str, dict[str, str]] = {
    "native": {},
    "avx512": {"ONEDNN_MAX_CPU_ISA": "AVX512_CORE"},
    "avx2": {"ONEDNN_MAX_CPU_ISA": "AVX2", "ATEN_CPU_CAPABILITY": "avx2"},
}
# What oneDNN names its levels by, from the best, and the flag of /proc/cpuinfo that goes with each.
FLAGS = ("amx_bf16", "avx512_bf16", "avx512f", "avx2")


def emulates_bfloat16() -> bool:
    """Whether bfloat16 products are far slower than float32's, here and under the variables that are set."""
    return bfloat16_slowdown(torch.device("cpu")) > FAR_SLOWER


def machine() -> dict[str, Any]:
    """`processor` and `level`: the best of FLAGS, the variables that imitate less, whether bfloat16 is emulated."""
    known: dict[str, str] = {}
    if (cpuinfo := Path("/proc/cpuinfo")).exists():
        lines = cpuinfo.read_text().split("\n\n")[0].splitlines()
        known = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in lines)}
    family = f", family {known['cpu family']}, model {known['model']}" if "cpu family" in known else ""
    flags = known.get("flags", "").split()
    names = ("ONEDNN_MAX_CPU_ISA", "ATEN_CPU_CAPABILITY", "CT2_FORCE_CPU_ISA", "CT2_USE_MKL")
    level = {
        "has": next((flag for flag in FLAGS if flag in flags), platform.machine()),
        "limited_to": {name: os.environ[name] for name in names if name in os.environ},
        "emulates_bfloat16": emulates_bfloat16(),
    }
    return {"processor": known.get("model name", platform.machine()) + family, "level": level}


def run_at_levels(names: list[str], script: str, arguments: list[str]) -> dict[str, Any]:
    """Run `script` once for each level, in a process of its own; the JSON object of its last line by level."""
    results = {}
    for name in names:
        print(f"\n== {name} {LEVELS[name]}", flush=True)
        command, last = [sys.executable, script, *arguments], ""
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ | LEVELS[name]) as process:
            assert process.stdout
            for last in process.stdout:
                print(last, end="", flush=True)
        if process.returncode:
            sys.exit(process.returncode)
        results[name] = json.loads(last)
    return results
