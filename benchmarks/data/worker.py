"""`dragoman.clean_data` on a corpus, for data/speed.py: all rules but the detection of languages.

    python benchmarks/data/worker.py SOURCE TARGET FOLDER TAGS [--languages]

TAGS are the languages, e.g. ko,en; with --languages they are detected too. Prints one JSON object: seconds, CPU
seconds, pairs kept and peak memory.
"""

import json
import sys
import time
from pathlib import Path

import dragoman

source, target, folder, tags = sys.argv[1:5]
ours, theirs = tags.split(",")
config = Path(folder) / "run.toml"
config.write_text(
    f'project = {{name = "x", source = "{ours}", target = "{theirs}"}}\n[data]\n'
    'train = [{source = "none.a", target = "none.b"}]\nvalid = {source = "none.c", target = "none.d"}\n'
)
keys = [] if "--languages" in sys.argv else ["data.clean.language=0"]
begin, spent = time.perf_counter(), time.process_time()
result = dragoman.clean_data(dragoman.load_config(config, keys), source, target, output=folder, force=True)
seconds, spent = time.perf_counter() - begin, time.process_time() - spent
status = Path("/proc/self/status").read_text().splitlines()
peak = next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) / 1024
found = {"kept": result.pairs_kept, "peak_mb": peak, "removed": result.removed}
print(json.dumps({"seconds": seconds, "cpu_seconds": spent, **found}))
