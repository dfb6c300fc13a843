"""The paper's comparison with fifty times the budget: networks of equal operations, all trained on one GPU at a time.

    python reproduce/gpu/networks.py --out FOLDER --data DATA [--corpus multi30k|koen_open] [--times 50] [--rates 4e-3]

DATA is the folder that contains the corpus. The runs are those of `reproduce/comparison.py --times 50`: as many
updates, each with fifty times the text. The systems of a rate train at the same time, each in a process that ends by
the clock at the latest; FOLDER/networks.json has where each is. A finished run is FOLDER/RATE-SYSTEM.tar.xz, without
its checkpoints. Unpacked into a folder OUTPUT, they are compared on a CPU by `comparison.py CORPUS DATA OUTPUT --times
50 --rates 4e-3`, which trains nothing again. The last line is JSON.
"""

import io
import json
import subprocess
import sys
import tarfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import jobs
from comparison import SYSTEMS, TASKS, USUAL, Task, configuration, finished, folder_of, share_of, write_text

from dragoman.system.files import atomic_folder

BUDGET, RATE = 50, 4e-3
REHEARSED_PIECES = 400
# Of the time, what is not training: imports, the text, the scores of the finished models, packing.
AROUND = 0.2


def train_one(task: Task, text: Path, output: Path, name: str, rate: float) -> None:
    """A run of a system, whole."""
    steps = round(task.steps * share_of(task, text, name))
    finished(configuration(task, text, name, folder_of(output, name, rate), steps, rate))


def train_all(job: jobs.Job, systems: Sequence[str], command: list[str], output: Path, rate: float) -> None:
    """All systems at this rate; what is known of each is written as it comes."""
    processes = {}
    for name in systems:
        log = (output / f"{rate:g}-{name}.log").open("w")
        one = [sys.executable, __file__, *command, "--one", name, "--rates", str(rate)]
        processes[name] = subprocess.Popen(one, stdout=log, stderr=log)
        job.on_time_over(processes[name].kill)
    while running := [name for name, process in processes.items() if process.poll() is None]:
        time.sleep(min(5.0, job.minute / 4))
        job.note(running=running, **{f"rate {rate:g}": {name: progress_of(output, name, rate) for name in systems}})
    for name, process in processes.items():
        if process.returncode:
            lines = (output / f"{rate:g}-{name}.log").read_text(errors="replace").strip().splitlines()
            job.say(f"{name}, rate {rate:g}: ended with {process.returncode}: {lines[-1][:300] if lines else ''}")
    job.note(running=[], **{f"rate {rate:g}": {name: progress_of(output, name, rate) for name in systems}})


def progress_of(output: Path, name: str, rate: float) -> dict[str, Any]:
    """Where a run is, from its log: the last report, and every validation."""
    try:
        lines = (folder_of(output, name, rate) / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    except OSError:
        return {}
    events = []
    for line in lines:
        try:
            events.append(json.loads(line))
        except ValueError:  # the end of a line that is being written
            continue
    last = next((event for event in reversed(events) if event.get("event") == "step"), {})
    curve = [[event["step"], round(event["loss"], 4)] for event in events if event.get("event") == "validation"]
    keys = ("step", "epoch", "target_tokens", "seconds", "tokens_per_second")
    return {key: last[key] for key in keys if key in last} | {"curve": curve}


def packed(run: Path, output: Path) -> bytes:
    """A run as it is needed for a comparison, as tar.xz."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w:xz", preset=6) as archive:
        for path in sorted(run.rglob("*")):
            inside = path.relative_to(run).parts
            if path.is_file() and inside[0] != "checkpoints" and not path.name.startswith("."):
                archive.add(path, path.relative_to(output))
    return content.getvalue()


def main() -> None:
    """Train all systems, or one of them in a process of its own."""
    parser = jobs.parser(__doc__)
    parser.add_argument("--data", type=Path, default=jobs.CARRIED / "data")
    parser.add_argument("--corpus", choices=TASKS, default="multi30k")
    parser.add_argument("--times", type=int, default=BUDGET)
    parser.add_argument("--steps", type=int, help="updates of the first; those of the corpus unless given")
    parser.add_argument("--rates", nargs="+", type=float, default=[RATE])
    parser.add_argument("--systems", nargs="+", choices=SYSTEMS, default=USUAL)
    parser.add_argument("--output", type=Path, default=jobs.CARRIED / "networks", help="folder of the runs")
    parser.add_argument("--minutes", type=float)
    parser.add_argument("--one", choices=SYSTEMS)
    given = parser.parse_args()
    task = replace(TASKS[given.corpus], times=1 if given.rehearse else given.times, device=given.device)
    task = replace(task, steps=given.steps or (task.steps // 100 if given.rehearse else task.steps))
    task, text = replace(task, minutes=given.minutes), given.output / "text"
    if given.rehearse:
        task = replace(task, vocabulary=REHEARSED_PIECES)
    if given.one:
        train_one(task, text, given.output, given.one, given.rates[0])
        return
    job = jobs.start("networks", given)
    if not text.exists():
        with atomic_folder(text) as folder:
            write_text(task, given.data / given.corpus, folder)
    job.note(corpus=given.corpus, steps=task.steps, tokens_per_update=512 * task.times)
    for number, rate in enumerate(given.rates):
        minutes = job.left * (1 - AROUND) / (len(given.rates) - number) / 60
        command = ["--out", str(given.out), "--device", given.device, "--corpus", given.corpus]
        command += ["--times", str(task.times), "--steps", str(task.steps), "--minutes", str(minutes)]
        command += ["--output", str(given.output), *(["--rehearse"] if given.rehearse else [])]
        train_all(job, given.systems, command, given.output, rate)
        for name in given.systems:
            run = folder_of(given.output, name, rate)
            if (run / "model").exists():
                job.write(f"{rate:g}-{name}.tar.xz", packed(run, given.output))
    job.end()


if __name__ == "__main__":
    main()
