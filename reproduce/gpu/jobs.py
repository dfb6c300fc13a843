"""What every job of this folder has: a clock, a folder of results, packages that travel, a last line of JSON.

    job = jobs.start("peers", jobs.parser(__doc__).parse_args())
    job.note(stage="training")                  # facts, at once in FOLDER/peers.json
    job.row("steps", preset="base", ms=5.1)     # a row of a table in it, printed too
    job.write("weights.bin", content)           # a further file, whole or not at all
    job.end()                                   # the last line: what FOLDER/peers.json has

A job ends by its own clock, `--seconds` from the start of its process: it looks at `job.left` before each piece of
work. FOLDER/NAME.json is written every BEAT seconds even while a piece lasts. When the time is over, the actions of
`on_time_over` are called, and a job that is GRACE seconds late is ended with the last line printed. FOLDER gets at most
FILES files of LIMIT bytes.

Importing this module puts the package of this checkout on the path, and those of `runs/gpu/wheels` that are not
installed, or only older, for this process and for those that it starts.
"""

import argparse
import importlib.metadata
import importlib.util
import json
import os
import platform
import re
import resource
import sys
import tempfile
import threading
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

ROOT = Path(__file__).resolve().parents[2]
CARRIED = ROOT / "runs/gpu"
"""What travels with the repository, and what a job leaves for the next one on the same machine."""
WHEELS = CARRIED / "wheels"
SECONDS = 540.0
BEAT, GRACE = 20.0, 30.0
FILES, LIMIT = 8, 16 << 20


def use_packages(wheels: Path = WHEELS) -> None:
    """Put `reproduce/` and `src/` on the path, and what the wheels have that is not installed, or only older."""
    paths = [str(ROOT / "src"), str(ROOT / "reproduce")]
    site = Path(tempfile.gettempdir()) / f"wheels-{os.getuid()}"
    for wheel in sorted(wheels.glob("*/*.whl")):
        package, version = wheel.name.split("-")[:2]
        try:
            is_missing = numbers(importlib.metadata.version(package)) < numbers(version)
        except importlib.metadata.PackageNotFoundError:
            is_missing = True
        if is_missing:
            with zipfile.ZipFile(wheel) as archive:
                archive.extractall(site)
    if site.exists():
        paths.append(str(site))
    sys.path[1:1] = [path for path in paths if path not in sys.path]
    inherited = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    os.environ["PYTHONPATH"] = os.pathsep.join(dict.fromkeys([*paths, *filter(None, inherited)]))


def numbers(version: str) -> list[int]:
    """The numbers of a version."""
    return [int(number) for number in re.findall(r"\d+", version)]


use_packages()


def parser(doc: str | None) -> argparse.ArgumentParser:
    """The options that all jobs have; a script adds its own."""
    found = argparse.ArgumentParser(description=(doc or "").partition("\n")[0])
    found.add_argument("--out", type=Path, required=True, metavar="FOLDER", help="for the results")
    found.add_argument("--device", default="cuda", choices=["cuda", "cpu"])
    found.add_argument("--seconds", type=float, default=SECONDS, help="the time of the whole job")
    found.add_argument("--rehearse", action="store_true", help="a hundredth of the size")
    return found


def start(name: str, arguments: argparse.Namespace) -> "Job":
    """The job `name`, whose clock began with this process."""
    if arguments.device == "cuda" and not torch.cuda.is_available():
        sys.exit("no GPU: add --device cpu, with --rehearse for a rehearsal")
    arguments.out.mkdir(parents=True, exist_ok=True)
    return Job(name, arguments)


def seconds_of_this_process() -> float:
    """Seconds since this process was started, before Python and its imports."""
    try:
        ticks = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
        return time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, AttributeError, ValueError, IndexError):  # another operating system
        return time.process_time()


class Job:
    """A piece of work that is bounded by a clock and writes down what it has."""

    def __init__(self, name: str, arguments: argparse.Namespace) -> None:
        self.name, self.out, self.rehearse = name, arguments.out, arguments.rehearse
        self.device = torch.device(arguments.device)
        self.seconds = arguments.seconds
        self.began = time.monotonic() - seconds_of_this_process()
        self.facts: dict[str, Any] = {"job": name, **machine(self.device), "rehearsal": self.rehearse}
        self.lock = threading.RLock()
        self.time_over: list[Callable[[], object]] = []
        self.save()
        threading.Thread(target=self._watch, daemon=True).start()

    @property
    def left(self) -> float:
        """Seconds that are left."""
        return self.seconds - (time.monotonic() - self.began)

    @property
    def minute(self) -> float:
        """How often what there is should be written; a rehearsal, which lasts seconds, writes more often."""
        return 0.5 if self.rehearse else 60.0

    def on_time_over(self, action: Callable[[], object]) -> None:
        """Call this once when the time is over, from another thread: to end a process that the job waits for."""
        self.time_over.append(action)

    def note(self, **facts: Any) -> None:
        """Add facts, or replace them."""
        with self.lock:
            self.facts.update(facts)
            self.save()

    def row(self, table: str, **columns: Any) -> None:
        """Add a row to a table, and print it."""
        print(f"{self.seconds - self.left:6.1f} s  {table}: {columns}", flush=True)
        with self.lock:
            self.facts.setdefault(table, []).append(columns)
            self.save()

    def say(self, text: str) -> None:
        """Print a line, and keep it."""
        self.row("log", text=text)

    def save(self) -> None:
        """Write FOLDER/NAME.json."""
        with self.lock:
            self.facts["seconds"] = round(self.seconds - self.left, 1)
            self.write(f"{self.name}.json", (json.dumps(self.facts, ensure_ascii=False, indent=1) + "\n").encode())

    def write(self, name: str, content: bytes) -> None:
        """Write a file of FOLDER, whole or not at all."""
        write(self.out / name, content)

    def end(self, **facts: Any) -> None:
        """The last facts, and the last line."""
        self.note(**facts, processor_seconds=round(processor_seconds(), 1), finished=True)
        self._last_line()

    def _last_line(self) -> None:
        files = [path for path in self.out.iterdir() if path.is_file()]
        if len(files) > FILES:
            print(f"{len(files)} files, of which {FILES} can be returned", flush=True)
        print(json.dumps(self.facts, ensure_ascii=False), flush=True)

    def _watch(self) -> None:
        while True:
            time.sleep(min(BEAT, self.minute / 3))
            with self.lock:
                if self.facts.get("finished"):
                    return
                self.save()
                if self.left < 0:
                    self.facts["time_over"] = True
                    while self.time_over:
                        self.time_over.pop()()
                if self.left < -GRACE:
                    self.facts["cut_off"] = True
                    self.save()
                    self._last_line()
                    os._exit(1)


def write(path: Path, content: bytes) -> None:
    """Write a file that a job returns, whole or not at all. Raises ValueError if it is too large."""
    if len(content) > LIMIT:
        raise ValueError(f"{path}: {len(content):,} bytes are more than {LIMIT:,}, which a job may return")
    partial = path.with_name(f"{path.name}.new")
    partial.write_bytes(content)
    partial.replace(path)


def machine(device: torch.device) -> dict[str, Any]:
    """What the job runs on."""
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else platform.processor() or platform.machine()
    memory = round(torch.cuda.mem_get_info(device)[1] / 1e9, 1) if device.type == "cuda" else None
    versions = {"torch": torch.__version__, "cuda": torch.version.cuda, "python": platform.python_version()}
    return {"device": name, "memory_gb": memory, "cores": processors(), **versions}


def processors() -> int:
    """The processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def processor_seconds() -> float:
    """Of this process and of its children that have ended."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def wait_for(device: torch.device) -> None:
    """Until the device has done all that was started."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def lacks(*packages: str) -> str | None:
    """The first of these packages that cannot be imported, as a sentence for a row; None if all can."""
    for package in packages:
        try:
            found = importlib.util.find_spec(package)
        except (ImportError, ValueError):
            found = None
        if not found:
            return f"{package} is not installed"
    return None
