"""Time to the first translation after installation: fresh processes, a bundled model, no torch.

    python benchmarks/models/first_translation.py [--quick] [--model en-ko] [--text "Save the document."] [--rounds 10]

import    From before `import dragoman` to the first translation, in a process that has done nothing else. torch and
          the other modules of training are blocked, as in an environment with only the base package.
again     The second translation in the same process.
command   `python -m dragoman translate TEXT` from start to end, Python's own start included.

The first round, in which files may not be cached, is reported separately. The last line is one JSON object: median,
minimum and maximum in seconds, and the peak memory of a process.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time

BLOCKED = ("torch", "safetensors", "jaxtyping", "tomli_w")
ONE = f"""
import json, resource, sys, time
sys.modules.update(dict.fromkeys({BLOCKED!r}))
model, text = sys.argv[1:]
start = time.perf_counter()
from dragoman import Translator
translator = Translator.load(model)
translator.translate(text)
first = time.perf_counter()
translation = translator.translate(text).text
again = time.perf_counter()
memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps({{"import": first - start, "again": again - first, "kilobytes": memory, "text": translation}}))
"""
# The command with the same modules blocked: they raise ModuleNotFoundError, as in a base installation.
COMMAND = f"""
import sys
sys.modules.update(dict.fromkeys({BLOCKED!r}))
from dragoman.cli.main import main
raise SystemExit(main(["translate", sys.argv[1]]))
"""


def run(code: str, *arguments: str) -> tuple[str, float]:
    """The output of a fresh interpreter, and its seconds."""
    start = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, encoding="utf-8")
    if done.returncode:
        sys.exit(done.stderr)
    return done.stdout, time.perf_counter() - start


def spread(seconds: list[float]) -> dict[str, float]:
    """Median, minimum and maximum."""
    found = {"p50": statistics.median(seconds), "least": min(seconds), "most": max(seconds)}
    return {name: round(value, 3) for name, value in found.items()}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="three rounds")
    parser.add_argument("--model", default="en-ko")
    parser.add_argument("--text", default="Save the document.")
    parser.add_argument("--rounds", type=int, default=10)
    given = parser.parse_args()
    cold = json.loads(run(ONE, given.model, given.text)[0])
    print(f"{given.text} → {cold['text']}\nfirst process: {cold['import']:.2f} s")
    rounds, commands = [], []
    for _ in range(3 if given.quick else given.rounds):
        rounds.append(json.loads(run(ONE, given.model, given.text)[0]))
        commands.append(run(COMMAND, given.text)[1])
    result = {
        "import": spread([found["import"] for found in rounds]),
        "again": spread([found["again"] for found in rounds]),
        "command": spread(commands),
        "megabytes": round(max(found["kilobytes"] for found in rounds) / 1000),
    }
    for name in ("import", "again", "command"):
        print(f"{name:8} {result[name]}")
    print(json.dumps({"cores": len(os.sched_getaffinity(0)), "first": round(cold["import"], 3), **result}))


if __name__ == "__main__":
    main()
