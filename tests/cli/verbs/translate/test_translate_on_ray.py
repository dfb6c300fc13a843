"""`translate --ray`: on a cluster of this machine the bytes are those of one process, even if a worker is killed."""

import gzip
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

WORDS = [f"the {colour} {animal}" for colour in ("red", "blue", "big") for animal in ("dog", "cat", "bird")]
LINES = [f"{a} {verb} {b}" for a in WORDS for verb in ("sees", "hears", "likes") for b in WORDS]
LINES[5], LINES[200] = "", "the   dog \u2028 sees \r a cat"
# A busy machine starts Ray in a minute or more.
SECONDS = 600.0


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "in"
    path.write_text("\ufeff" + "".join(line + "\n" for line in LINES * 3), encoding="utf-8", newline="")
    return path


def on_ray(model: Path, source: Path, output: Path, *more: object, threads: int = 1) -> list[str]:
    """The command; it is run in a process, because Ray changes the one that it is in."""
    command = [sys.executable, "-m", "dragoman", "translate", "-m", model, "-i", source, "-o", output]
    return [*map(str, command), "--threads", str(threads), "--ray", *map(str, more)]


def run(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=SECONDS)


def descendants(pid: int) -> list[tuple[int, str]]:
    """The processes that a process has started, and those that they have, with their names."""
    children: dict[int, list[int]] = {}
    names: dict[int, str] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                names[int(entry.name)] = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            except (OSError, ValueError):
                continue
            children.setdefault(parent, []).append(int(entry.name))
    found, waiting = [], [pid]
    while waiting:
        waiting += (more := children.get(waiting.pop(), []))
        found += more
    return [(one, names.get(one, "")) for one in found]


def is_alive(pid: int) -> bool:
    try:
        return "(zombie)" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


def wait_for(happened: Any, process: subprocess.Popen[str] | None = None) -> None:
    end = time.monotonic() + SECONDS
    while not happened():
        assert time.monotonic() < end, "it never came"
        assert process is None or process.poll() is None, "it ended before"
        time.sleep(0.01)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["the dog"], "--ray: translates the lines of a file; give it as -i FILE, or leave --ray out"),
        (["-i", "none"], "--ray: translates the lines of a file"),
        (["-i", "SOURCE", "--ray-address", "here"], "--ray-address here: not an address; write HOST:PORT"),
        (["-i", "SOURCE", "--ray-address", "ray://127.0.0.1:1"], "not an address; write HOST:PORT"),
        (
            ["-i", "SOURCE", "--ray-address", "127.0.0.1:1"],
            "127.0.0.1:1: does not answer: connection refused; start it",
        ),
        (["-i", "SOURCE", "--shard-lines", "0"], "--shard-lines"),
        (["-i", "SOURCE", "--resume"], "--resume: has no effect on stdout"),
    ],
)
def test_what_it_cannot_do_is_one_line(
    dragoman: Any, model: Path, source: Path, arguments: list[str], message: str
) -> None:
    pytest.importorskip("ray")
    given = [str(source) if one == "SOURCE" else one for one in arguments]
    assert message in dragoman("translate", "-m", model, *given, "--ray").refused(2)


@pytest.mark.parametrize("option", [["--ray-address", "127.0.0.1:1"], ["--shard-lines", "100"]])
def test_without_ray_its_options_are_refused(dragoman: Any, model: Path, source: Path, option: list[str]) -> None:
    complaint = dragoman("translate", "-m", model, "-i", source, *option).refused(2)
    assert f"{option[0]}: has no effect on one process; add --ray" in complaint


@pytest.mark.slow
def test_without_the_extra_it_says_how_to_get_it(model: Path, source: Path, tmp_path: Path) -> None:
    (tmp_path / "ray.py").write_text("raise ModuleNotFoundError('none', name='ray')\n", encoding="utf-8")
    path = os.pathsep.join([str(tmp_path), str(Path(__file__).parents[4] / "src")])
    command = on_ray(model, source, tmp_path / "out")
    env = {**os.environ, "PYTHONPATH": path}
    found = subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=SECONDS)
    assert (found.returncode, found.stderr) == (1, 'dragoman: ray is not installed; `pip install "dragoman[ray]"`\n')


@pytest.mark.slow
@pytest.mark.ray
def test_on_a_cluster_the_bytes_are_those_of_one_process(dragoman: Any, model: Path, tmp_path: Path) -> None:
    """Records of JSON with scores, of lines with options of their own, from a compressed file.

    Text is that of the next test: a cluster takes longer to start than to translate.
    """
    pytest.importorskip("ray")
    asked = tmp_path / "asked.jsonl.gz"
    rows = [{"text": line, "id": n, **({"beam": 3} if n % 3 else {})} for n, line in enumerate(LINES)]
    asked.write_bytes(gzip.compress("".join(json.dumps(row) + "\n" for row in rows).encode()))
    options = ["--alignment", "--n-best", "2"]
    whole = dragoman("translate", "-m", model, "-i", asked, "-o", tmp_path / "one.out", "--threads", 1, *options)
    assert whole.code == 0
    found = run(on_ray(model, asked, tmp_path / "ray.out", "--shard-lines", 100, *options))
    assert found.returncode == 0, found.stderr
    assert (tmp_path / "ray.out").read_bytes() == (tmp_path / "one.out").read_bytes()
    found_ids = [json.loads(line)["id"] for line in (tmp_path / "ray.out").read_text().split("\n")[:-1]]
    assert found_ids == [row["id"] for row in rows]


@pytest.mark.slow
@pytest.mark.ray
def test_on_a_cluster_a_killed_worker_and_a_killed_driver_change_no_byte(
    dragoman: Any, model: Path, source: Path, tmp_path: Path
) -> None:
    pytest.importorskip("ray")
    text = "\ufeff" + "".join(line + "\n" for line in LINES * 40)
    source.write_text(text, encoding="utf-8", newline="")
    out, record = tmp_path / "out", tmp_path / "out.partial.json"
    assert dragoman("translate", "-m", model, "-i", source, "-o", tmp_path / "one", "--threads", 1).code == 0
    command = on_ray(model, source, out, "--shard-lines", 50)

    def shards() -> int:
        return record.read_bytes().count(b"\n") - 1 if record.exists() else 0

    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as driver:
        wait_for(lambda: shards() >= 1, driver)
        workers = [pid for pid, name in descendants(driver.pid) if name.startswith("ray::MapWorker")]
        assert workers
        os.kill(workers[0], signal.SIGKILL)
        before = shards()
        wait_for(lambda: shards() > before, driver)  # it continues without the worker
        cluster = [pid for pid, _ in descendants(driver.pid)]
        driver.send_signal(signal.SIGKILL)
        driver.wait(SECONDS)
    assert not out.exists()
    wait_for(lambda: not any(map(is_alive, cluster)))  # nothing of the cluster is left
    done = json.loads(record.read_text().splitlines()[-1])["lines"]
    found = run([*command, "--resume"])
    assert found.returncode == 0, found.stderr
    assert f"continuing at line {done + 1:,}" in found.stderr
    assert out.read_bytes() == (tmp_path / "one").read_bytes()
    assert not record.exists()
