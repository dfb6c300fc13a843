"""No connection to anywhere: the service runs where no route exists, and opens none to another machine."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

# Serves in a thread, asks itself, and writes which other addresses anything in the process wanted to reach.
SCRIPT = """
import json, socket, subprocess, sys
reached, resolved = [], []

def watch(event, given):
    if event == "socket.connect" and isinstance(given[1], tuple) and given[1][0] not in ("127.0.0.1", "::1"):
        reached.append(repr(given[1]))
    if event == "socket.getaddrinfo" and given[0] not in (None, "127.0.0.1", "localhost", "::1"):
        resolved.append(repr(given[0]))

sys.addaudithook(watch)
from live_server import live
import httpx
from dragoman.serve.models.models import Models
from dragoman.serve.work.service import Service

with live(Service(Models(threads=1))) as url, httpx.Client(base_url=url, timeout=300, trust_env=False) as client:
    answers = [
        client.post("/v1/translate", json={"text": "Where is the library?", "target": "ko"}),
        client.post("/v1/translate", json={"text": "<p>Hello</p>", "format": "html", "target": "ko"}),
        client.post("/v1/detect", json={"text": "안녕하세요"}),
        client.post("/translate", json={"q": "Hello", "source": "auto", "target": "ko"}),
        client.get("/v1/models"),
        client.get("/metrics"),
        client.get("/docs"),
    ]
    text = answers[0].json()["translations"][0]["text"]
try:
    socket.create_connection(("192.0.2.1", 80), timeout=5)
    route = True
except OSError as error:
    route = "unreachable" not in str(error)
found = {"codes": [one.status_code for one in answers], "text": text, "reached": reached, "resolved": resolved}
print(json.dumps({**found, "route": route}))
"""


def run(tmp_path: Path, *before: str) -> dict[str, object]:
    tests = Path(__file__).parents[1]
    path = os.pathsep.join([str(tests), str(tests.parent / "src")])
    environment = {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1", "HOME": str(tmp_path)}
    command = [*before, sys.executable, "-c", SCRIPT]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_in_a_namespace_without_a_network_it_translates_and_asks_for_nothing(tmp_path: Path) -> None:
    alone = ("unshare", "--user", "--map-root-user", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh")
    if not shutil.which("unshare") or not shutil.which("ip"):
        pytest.skip("needs unshare (util-linux) and ip (iproute2)")
    if (tried := subprocess.run([*alone, "true"], capture_output=True, text=True, check=False)).returncode:
        pytest.skip(f"no namespace may be made here: {tried.stderr.strip()}")
    found = run(tmp_path, *alone)
    assert found["codes"] == [200] * 7
    assert found["text"]
    assert not found["route"]
    assert found["reached"] == ["('192.0.2.1', 80)"]  # the one of this test
    assert found["resolved"] == ["'192.0.2.1'"]
