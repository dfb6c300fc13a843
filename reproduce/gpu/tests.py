"""`pytest -m gpu` on the machine: what only a GPU can show, test by test.

    python reproduce/gpu/tests.py --out FOLDER

FOLDER/tests.json has each test with its outcome and its seconds as it ends, and of those that fail the end of what
pytest printed. Warnings are counted and fail nothing: another PyTorch than the one that is pinned has others. The tests
need pytest and hypothesis (`pack.py wheels`). In a rehearsal all of them are skipped. The last line is JSON.
"""

import os
import re
import subprocess
import sys
import time
from collections import Counter

import jobs

# The options of pyproject.toml bring plugins that the tests of a GPU do not need.
OPTIONS = ("-o", "addopts=", "--import-mode=importlib", "-m", "gpu", "-W", "default", "-v", "-rf", "--tb=short")
OUTCOME = re.compile(r"^(?:tests/)?(\S+::.+?) (PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS)\b")
SHOWN = 200
"""Lines at the end of what pytest printed."""


def run(job: jobs.Job) -> int:
    """Run the tests; the status that pytest ended with."""
    command = [sys.executable, "-u", "-m", "pytest", *OPTIONS, "tests/gpu"]
    environment = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "OMP_NUM_THREADS": str(jobs.processors())}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    printed: list[str] = []
    began = time.monotonic()
    with subprocess.Popen(command, cwd=jobs.ROOT, env=environment, text=True, **pipes) as process:
        assert process.stdout
        job.on_time_over(process.kill)
        for line in process.stdout:
            printed.append(line.rstrip())
            if ended := OUTCOME.match(line):
                now = time.monotonic()
                job.row("tests", name=ended[1], outcome=ended[2].lower(), seconds=round(now - began, 1))
                began = now
    job.note(counts=Counter(row["outcome"] for row in job.facts.get("tests", [])), summary=printed[-1:])
    if process.returncode:
        job.note(printed=printed[-SHOWN:])
    return process.returncode


def main() -> None:
    """Run the tests."""
    job = jobs.start("tests", jobs.parser(__doc__).parse_args())
    if missing := jobs.lacks("pytest", "hypothesis", "jaxtyping"):
        job.end(error=missing)
        return
    job.end(status=run(job))


if __name__ == "__main__":
    main()
