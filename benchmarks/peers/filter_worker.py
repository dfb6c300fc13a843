"""OpusFilter on a corpus: the filters that do what `dragoman data clean` does, then duplicates. Run by data/speed.py.

    ENVIRONMENT/bin/python filter_worker.py SOURCE TARGET FOLDER SCRIPTS

SCRIPTS are those of both sides, e.g. Hangul,Latin. Prints one JSON object: seconds, CPU seconds, pairs kept and
peak memory.
"""

import json
import sys
import time
from pathlib import Path

from opusfilter.opusfilter import OpusFilter

source, target, folder, scripts = sys.argv[1:]
# The characters of our rules mojibake, control and zero_width, as one expression that a clean line must match.
CLEAN = (
    "^[^\\x00-\\x08\\x0a-\\x1f\\x7f-\\x9f\\u00ad\\u061c\\u180e\\u200b\\u200e\\u200f"
    "\\u2028-\\u202e\\u2060\\u2066-\\u2069\\ufeff\\ufffd]*$"
)
FILTERS = [
    {"LengthFilter": {"unit": "char", "min_length": 1, "max_length": 2000}},
    {"LengthRatioFilter": {"unit": "char", "threshold": 8}},
    {"CharacterScoreFilter": {"scripts": scripts.split(","), "thresholds": [0.1, 0.1]}},
    {"HtmlTagFilter": {}},
    {"NonZeroNumeralsFilter": {"threshold": 0.5}},
    {"RegExpFilter": {"regexps": [CLEAN, CLEAN], "accept_match": True}},
]
names = {"inputs": [source, target], "outputs": ["filtered.source", "filtered.target"]}
kept = {"inputs": [str(Path(folder, name)) for name in names["outputs"]], "outputs": ["kept.source", "kept.target"]}
steps = [
    {"type": "filter", "parameters": {**names, "filters": FILTERS}},
    {"type": "remove_duplicates", "parameters": {**kept, "lowercase": True}},
]
begin, spent = time.perf_counter(), time.process_time()
OpusFilter({"common": {"output_directory": folder, "default_n_jobs": 1}, "steps": steps}).execute_steps(overwrite=True)
seconds, spent = time.perf_counter() - begin, time.process_time() - spent
status = Path("/proc/self/status").read_text().splitlines()
peak = next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) / 1024
with Path(folder, "kept.source").open("rb") as file:
    print(json.dumps({"seconds": seconds, "cpu_seconds": spent, "kept": sum(1 for _ in file), "peak_mb": peak}))
