"""What this machine has for training and translating, what is missing, and the command that provides it.

Input: nothing. Output: findings, in the order of a report; nothing is changed. Works without torch.
"""

import locale
import os
import platform
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import PackageNotFoundError, metadata, requires, version
from pathlib import Path
from typing import Literal

from packaging.requirements import Requirement

from dragoman.bundle import open_bundle
from dragoman.bundled import bundled_models
from dragoman.engine.load import load_engine
from dragoman.errors import DragomanError, ResourceError, counted
from dragoman.system import machine

State = Literal["ok", "note", "fault"]
CPUINFO = Path("/proc/cpuinfo")
# Flags of Linux for the arithmetic that matters here, and how vendors write it.
ARITHMETIC = {
    "avx2": "AVX2",
    "avx512f": "AVX-512",
    "avx512_vnni": "AVX-512 VNNI",
    "avx512_bf16": "AVX-512 BF16",
    "amx_bf16": "AMX BF16",
    "amx_int8": "AMX INT8",
    "asimd": "NEON",
    "bf16": "BF16",
}
# Packages whose versions change results; they come first.
LEADING = ("torch", "ctranslate2", "sentencepiece", "sacrebleu", "numpy")
# Below these, training a small model may not fit.
LITTLE_MEMORY, LITTLE_DISK = 2 * 10**9, 2 * 10**9


@dataclass(frozen=True, slots=True)
class MachineFinding:
    """One line of the report."""

    name: str
    value: str
    state: State = "ok"
    """`fault` if Dragoman cannot be used so, `note` if something is missing that may be wanted."""
    remedy: str | None = None
    """What to type or to do."""


def diagnose(folder: Path) -> list[MachineFinding]:
    """Everything about this machine, this installation and `folder`."""
    return [
        *_processor(),
        *_memory(),
        *_packages(),
        *_engine("torch", _torch),
        *_engine("ctranslate2", _ctranslate2),
        *_bundled(),
        *_folder(folder),
        *_locale(),
    ]


def is_usable(findings: list[MachineFinding]) -> bool:
    """Whether no finding is a fault."""
    return all(finding.state != "fault" for finding in findings)


def _processor() -> Iterator[MachineFinding]:
    text = CPUINFO.read_text(encoding="utf-8", errors="replace") if CPUINFO.is_file() else ""
    model = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
    yield MachineFinding("processor", model[1] if model else platform.processor() or platform.machine())
    flags = re.search(r"^(?:flags|Features)\s*:\s*(.+)$", text, re.MULTILINE)
    if flags:
        known = [name for flag, name in ARITHMETIC.items() if flag in flags[1].split()]
        yield MachineFinding("arithmetic", ", ".join(known) or "no AVX2: training and translating are slow")
    quota = machine.processor_quota()
    limit = "" if quota is None else f"; the container's quota is {quota:g}"
    count = machine.usable_processors()
    yield MachineFinding("threads", f"{count} usable of {os.cpu_count() or count} processors{limit}")


def _memory() -> Iterator[MachineFinding]:
    available, total, limit = machine.available_memory(), machine.total_memory(), machine.memory_limit()
    if available is None or total is None:
        yield MachineFinding("memory", "unknown")
        return
    of = f"{_gigabytes(available)} free of {_gigabytes(total)}"
    if limit is not None and limit < total:
        of += f"; the container's limit is {_gigabytes(limit)}"
    if available < LITTLE_MEMORY:
        yield MachineFinding("memory", of, "note", "end other programs, or train with model.preset=tiny")
    else:
        yield MachineFinding("memory", of)


def _packages() -> Iterator[MachineFinding]:
    """Python, Dragoman, the base packages, and each extra."""
    yield MachineFinding("python", f"{platform.python_version()} ({platform.system()}), {sys.executable}")
    try:
        yield MachineFinding("dragoman", version("dragoman"))
        needed = requires("dragoman") or []
    except PackageNotFoundError:
        yield MachineFinding("dragoman", "not installed as a package", "note", "pip install dragoman")
        return
    base, extras = _requirements(needed)
    missing = [name for name in base if _version(name) is None]
    if missing:
        yield MachineFinding("base", f"missing: {', '.join(missing)}", "fault", f"pip install {' '.join(missing)}")
    installed = sorted((name for name in base if name not in missing), key=lambda name: (name not in LEADING, name))
    yield MachineFinding("base", ", ".join(f"{name} {_version(name)}" for name in installed))
    for extra, names in extras.items():
        if lacking := [name for name in names if _version(name) is None]:
            yield MachineFinding(
                extra, f"not installed: {', '.join(lacking)}", "note", f'pip install "dragoman[{extra}]"'
            )
        else:
            yield MachineFinding(extra, ", ".join(f"{name} {_version(name)}" for name in names))


def _requirements(needed: list[str]) -> tuple[list[str], dict[str, list[str]]]:
    """Names of the base packages that this Python needs, and those of each extra for users."""
    requirements = [Requirement(text) for text in needed]
    base = [
        requirement.name
        for requirement in requirements
        if requirement.marker is None or requirement.marker.evaluate({"extra": ""})
    ]
    extras: dict[str, list[str]] = {}
    for extra in metadata("dragoman").get_all("Provides-Extra") or ():
        if extra not in ("dev", "docs"):
            markers = (
                (requirement.name, requirement.marker)
                for requirement in requirements
                if requirement.marker and requirement.name not in base
            )
            if names := [name for name, marker in markers if marker.evaluate({"extra": extra})]:
                extras[extra] = names
    return base, extras


def _engine(package: str, findings: Callable[[], Iterator[MachineFinding]]) -> Iterator[MachineFinding]:
    """The findings about the package of an engine, if it is installed; the last one that it cannot be loaded."""
    if _version(package) is None:
        return
    try:
        yield from findings()
    except (ImportError, OSError, RuntimeError) as error:
        cause = str(error).strip().partition("\n")[0]
        remedy = f"pip install --force-reinstall {package}"
        yield MachineFinding(package, f"cannot be loaded: {cause}", "fault", remedy)


def _torch() -> Iterator[MachineFinding]:
    import torch

    threads = counted(torch.get_num_threads(), "thread")
    yield MachineFinding("torch", f"uses {torch.backends.cpu.get_cpu_capability()}, {threads}")
    if torch.cuda.is_available():
        for number in range(torch.cuda.device_count()):
            properties = torch.cuda.get_device_properties(number)
            yield MachineFinding("gpu", f"cuda:{number} {properties.name}, {_gigabytes(properties.total_memory)}")
    else:
        yield MachineFinding("gpu", "mps" if torch.backends.mps.is_available() else "none that PyTorch can use")


def _ctranslate2() -> Iterator[MachineFinding]:
    ctranslate2 = import_module("ctranslate2")
    types = ", ".join(sorted(ctranslate2.get_supported_compute_types("cpu")))
    yield MachineFinding("ctranslate2", f"computes in {types}")
    if ctranslate2.get_cuda_device_count():
        yield from _ctranslate2_on_gpu()


def _ctranslate2_on_gpu() -> Iterator[MachineFinding]:
    """Whether an export computes on the GPU, tried with a bundled model."""
    for model in bundled_models()[:1]:
        try:
            load_engine(open_bundle(model.folder), device="cuda")
        except ResourceError as error:
            yield MachineFinding("ctranslate2", "translates on the processor, not on the GPU", "note", str(error))
        except DragomanError:  # a damaged model, which has a line of its own
            return
        else:
            yield MachineFinding("ctranslate2", "translates on the GPU")


def _bundled() -> Iterator[MachineFinding]:
    """Hashes of every file of the models that come with the package."""
    remedy = "pip install --force-reinstall dragoman"
    try:
        names = [open_bundle(model.folder).folder.name for model in bundled_models()]
    except DragomanError as error:
        yield MachineFinding("bundled models", str(error), "fault", remedy)
        return
    if names:
        yield MachineFinding("bundled models", f"{', '.join(names)}, verified")
    else:
        yield MachineFinding("bundled models", "none", "note", remedy)


def _folder(folder: Path) -> Iterator[MachineFinding]:
    try:
        with tempfile.TemporaryFile(dir=folder):
            free = shutil.disk_usage(folder).free
    except OSError as error:
        remedy = "change to a folder that you may write to"
        yield MachineFinding("current folder", f"{folder}: cannot be written: {error.strerror}", "fault", remedy)
        return
    text = f"{folder} is writable, {_gigabytes(free)} free"
    if free < LITTLE_DISK:
        yield MachineFinding("current folder", text, "note", "free some space: a run keeps several checkpoints")
    else:
        yield MachineFinding("current folder", text)


def _locale() -> Iterator[MachineFinding]:
    names: dict[str, Callable[[], str]] = {"text": locale.getencoding, "file names": sys.getfilesystemencoding}
    odd = {what: name() for what, name in names.items() if name().lower().replace("-", "") != "utf8"}
    if odd:
        value = ", ".join(f"{what} in {name}" for what, name in odd.items())
        yield MachineFinding("encoding", value, "note", "export LC_ALL=C.UTF-8")
    else:
        yield MachineFinding("encoding", "UTF-8")


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _gigabytes(size: int) -> str:
    return f"{size / 1e9:,.1f} GB"
