"""`dragoman translate` as a process that another one talks to, and processes that fork: nobody waits for ever."""

import json
import os
import select
import subprocess
import sys
from pathlib import Path

import pytest

TRANSLATE = [sys.executable, "-m", "dragoman", "translate", "-m", "en-ko", "--threads", "1"]


@pytest.fixture
def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(Path(__file__).parents[4] / "src"), "OMP_NUM_THREADS": "1"}


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [[], ["-"], ["--json"], ["-i", "-"], ["--jsonl"]], ids=str)
def test_a_program_reads_its_answer_before_it_writes_the_next_line(environment, arguments):
    def written(line: str) -> bytes:
        return (json.dumps({"text": line}) if "--jsonl" in arguments else line).encode()

    process = subprocess.Popen(
        [*TRANSLATE, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0, env=environment
    )
    try:
        for line in ("Open the file.", "Hello", "", "Where is the library?"):
            process.stdin.write(written(line) + b"\n")
            assert select.select([process.stdout], [], [], 60)[0], f"no answer to {line!r}"
            assert process.stdout.readline().endswith(b"\n")
        process.stdin.write(
            b"\n".join(map(written, ("Good morning", "Yes", "Good")))
        )  # at once, the last without an end
        process.stdin.close()
        assert len(process.stdout.read().splitlines()) == 3
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


FORK = """
import os, signal, sys
from dragoman import Translator
translator = Translator.load("en-ko", threads=1)
if {before}:
    translator.translate("Hello")
child = os.fork()
if child == 0:
    signal.alarm(60)
    if {loads}:
        assert Translator.load("en-ko", threads=1).translate("Open the file.").text
    sys.exit(7)
status = os.waitpid(child, 0)[1]
assert translator.translate("Hello").text
print(os.waitstatus_to_exitcode(status))
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="a system without fork")
@pytest.mark.parametrize(("before", "loads"), [(False, False), (True, True)])
def test_a_forked_child_ends(environment, before, loads):
    program = FORK.format(before=before, loads=loads)
    ran = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=120, check=True
    )
    assert ran.stdout == "7\n", ran.stderr
