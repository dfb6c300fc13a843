"""What a translation memory of 100,000 units costs: seconds and memory of reading a TMX, milliseconds of a lookup.

    DRAGOMAN_DATA=/path/to/data python benchmarks/documents/memory_lookup.py [--quick]

The units are lines of `koen_open`, English to Korean; a tenth of them are "Item 1 of 100 in stock", …, which differ in
numbers alone. Lookups: equal sources, the same with other numbers, and sources with one word exchanged, in both
directions. The similar ones are compared with those that a scan of all units finds by the same formula: `found` is the
share of texts whose best score is the scan's. Times are medians, with the 99th percentile. `--quick` has 10,000 units.
The last line is one JSON object.
"""

import argparse
import gzip
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from shared.memory import memory_bytes

SCANNED = 60
LOOKUPS = 200
# Not the texts by which the numbers of candidates in `dragoman.memory.store` were chosen, which were those of 1.
SEED = 2


def corpus(count: int) -> list[tuple[str, str]]:
    """Pairs of the corpus, each source and each target once, and the numbered ones."""
    folder = Path(os.environ.get("DRAGOMAN_DATA", "/data")) / "koen_open"
    pairs: dict[str, str] = {}
    seen = set()
    with gzip.open(folder / "train.en.gz", "rt") as english, gzip.open(folder / "train.ko.gz", "rt") as korean:
        for one, other in zip(english, korean, strict=True):
            one, other = " ".join(one.split()), " ".join(other.split())
            if one and other and one not in pairs and other not in seen:
                pairs[one] = other
                seen.add(other)
            if len(pairs) == count * 9 // 10:
                break
    numbered = {f"Item {number} of 100 in stock": f"재고 100개 중 {number}번" for number in range(1, count // 10 + 1)}
    return [*pairs.items(), *numbered.items()]


def write_tmx(pairs: Sequence[tuple[str, str]], path: Path) -> None:
    """The pairs as TMX, by way of the memory's own export."""
    from dragoman import add_to_memory, export_memory

    table, database = path.with_suffix(".tsv"), path.with_suffix(".db")
    table.write_text("".join(f"{one}\t{other}\n" for one, other in pairs), encoding="utf-8")
    add_to_memory(database, [table], source="en", target="ko")
    export_memory(database, path)


def with_a_word_exchanged(text: str, generator: random.Random) -> str:
    """The text with another word in the place of one of its words."""
    words = text.split()
    words[generator.randrange(len(words))] = "zebra"
    return " ".join(words)


def timed(call: Callable[[str], object], texts: Sequence[str]) -> dict[str, float]:
    """Milliseconds of a call."""
    spent = []
    for text in texts:
        started = time.perf_counter()
        call(text)
        spent.append(1000 * (time.perf_counter() - started))
    return {"median_ms": round(statistics.median(spent), 2), "p99_ms": round(sorted(spent)[len(spent) * 99 // 100], 2)}


def found_of_a_scan(memory: object, texts: Sequence[str]) -> dict[str, float]:
    """How often the best similar unit is that of a scan over all units, where the scan finds one."""
    from dragoman.memory.keys import key_of, similarity, tokens_of

    units = [(unit.source, tokens_of(key_of(unit.source))) for unit in memory.units()]  # type: ignore[attr-defined]
    right = there = 0
    for text in texts:
        tokens = tokens_of(key_of(text))
        best = max(min(99, int(100 * similarity(tokens, other, 0.75))) for source, other in units if source != text)
        if best:
            there += 1
            match = next(iter(memory.similar(text, 75, 1)), None)  # type: ignore[attr-defined]
            right += match is not None and match.score == best
    return {"texts": there, "found": round(right / there, 3) if there else 0.0}


def measure(path: Path) -> dict[str, object]:
    """Read the TMX and ask it, in this process."""
    from dragoman import open_memory
    from dragoman.memory.keys import similarity

    similarity(["a"], ["b"])  # what is imported is no cost of the memory
    before, started = memory_bytes("VmRSS"), time.perf_counter()
    memory = open_memory(path, "en", "ko")
    result: dict[str, object] = {
        "units": len(memory),
        "open_seconds": round(time.perf_counter() - started, 1),
        "peak_mb": round((memory_bytes("VmHWM") - before) / 1e6),
    }
    for name, opened in (("en", memory), ("ko", open_memory(path, "ko", "en"))):
        sources = [unit.source for unit in islice(opened.units(), len(memory) * 9 // 10)]
        generator = random.Random(SEED)
        chosen = generator.sample(sources, LOOKUPS)
        changed = [with_a_word_exchanged(text, generator) for text in chosen]
        numbered = [f"Item {100_001 + number} of 100 in stock" for number in range(LOOKUPS)]
        result[name] = {
            "equal": timed(opened.find, chosen),
            **({"other numbers": timed(opened.find, numbered)} if name == "en" else {}),
            "similar": timed(opened.similar, changed),
            "scan": found_of_a_scan(opened, changed[:SCANNED]),
        }
    started = time.perf_counter()
    open_memory(path.with_suffix(".db"), "en", "ko").find("one")
    result["open_db_ms"] = round(1000 * (time.perf_counter() - started), 1)
    result["db_mb"] = round(path.with_suffix(".db").stat().st_size / 1e6)
    return result


def main() -> None:
    """Make the memory, measure it in a process of its own, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="10,000 units")
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        print(json.dumps(measure(arguments.measure)))
        return
    with tempfile.TemporaryDirectory() as temporary:
        path = Path(temporary) / "memory.tmx"
        write_tmx(corpus(10_000 if arguments.quick else 100_000), path)
        command = [sys.executable, __file__, "--measure", str(path)]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    found = json.loads(done.stdout.splitlines()[-1])
    for name, value in found.items():
        print(f"{name}: {value}", file=sys.stderr)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
