"""How soon a person who has just installed Dragoman reads a translation: fresh processes, a model in the box, no torch.

    python benchmarks/first_translation.py [--quick] [--model en-ko] [--text "Save the document."] [--rounds 10]

import    From before `import dragoman` to the first translation, in a process that has done nothing else. torch and
          the other modules of training are blocked, as in an environment that has only the base package.
again     The second translation of the same process.
command   `python -m dragoman translate TEXT` from its start to its end, Python's own start counted.

The first round, which finds cold disks, is told apart. The last line is one JSON object: medians and the extremes, in
seconds, and the most memory that a process held.
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
begun = time.perf_counter()
from dragoman import Translator
translator = Translator.load(model)
translator.translate(text)
first = time.perf_counter()
translation = translator.translate(text).text
again = time.perf_counter()
memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps({{"import": first - begun, "again": again - first, "kilobytes": memory, "text": translation}}))
"""
# The command in the same poverty: blocked modules are found missing, as they would be.
COMMAND = f"""
import sys
sys.modules.update(dict.fromkeys({BLOCKED!r}))
from dragoman.cli.main import main
raise SystemExit(main(["translate", sys.argv[1]]))
"""


def run(code: str, *arguments: str) -> tuple[str, float]:
    """What a fresh interpreter printed, and the seconds it took."""
    begun = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, encoding="utf-8")
    if done.returncode:
        sys.exit(done.stderr)
    return done.stdout, time.perf_counter() - begun


def spread(seconds: list[float]) -> dict[str, float]:
    """Median and extremes."""
    found = {"p50": statistics.median(seconds), "least": min(seconds), "most": max(seconds)}
    return {name: round(value, 3) for name, value in found.items()}


def main() -> None:
    """Measure, tell."""
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
