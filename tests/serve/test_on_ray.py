"""`dragoman serve --ray` on a cluster of this machine: two replicas, one state, and no wrong answer when one is killed.

Most is tested on one service, as a process: starting Ray takes a while.
"""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest

from dragoman.cli.main import main
from dragoman.errors import ConfigError
from dragoman.serve.documents.store import DocumentLimits
from dragoman.serve.replicas.on_ray import _deployed, _port
from dragoman.serve.replicas.options import ServeOptions
from dragoman.serve.run import Address, listen
from dragoman.serve.store.database import ServiceState
from dragoman.serve.store.keys import KeyStore
from dragoman.serve.work.service import ServiceLimits
from dragoman.system.cluster import cluster
from dragoman.translator import Translator

# A busy machine starts Ray and two replicas in minutes.
SECONDS = 600.0
TEXTS = ["I like dogs.", "Where is the station?", "Thank you very much!", "It is cold today.", "He reads a lot."]


@dataclass
class OnRay:
    """The command, what it says, and a client with a key; another key has two requests per minute."""

    process: subprocess.Popen[str]
    state: Path
    key: str
    slow_key: str
    lines: list[str] = field(default_factory=list)
    client: httpx.Client = field(default_factory=httpx.Client)

    @property
    def replicas(self) -> set[str]:
        """The processes that have logged a request."""
        return {found[1] for line in self.lines if (found := re.search(r"service pid=(\d+)\)", line))}

    def wait_for(self, happened: Callable[[], object]) -> None:
        end = time.monotonic() + SECONDS
        while not happened():
            assert time.monotonic() < end, "".join(self.lines[-20:])
            assert self.process.poll() is None, "".join(self.lines[-20:])
            time.sleep(0.05)

    def translate(self, text: str, key: str | None = None) -> httpx.Response:
        headers = {"Authorization": f"Bearer {key or self.key}"}
        return self.client.post("/v1/translate", json={"text": text, "target": "ko"}, headers=headers)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OnRay]:
    pytest.importorskip("ray", reason="Ray is not installed")
    pytest.importorskip("grpc_reflection", reason="what Ray Serve needs is not installed")
    folder = tmp_path_factory.mktemp("state")
    state = ServiceState(folder)
    keys = KeyStore(state.database)
    (_, key), (_, slow) = keys.create("tests"), keys.create("slow", per_minute=2)
    state.close()
    command = [sys.executable, "-m", "dragoman", "serve", "--ray", "--replicas", "2", "--threads", "1", "--exact"]
    command += ["-m", "en-ko", "--port", "0", "--state", str(folder), "--log", "json"]
    command += ["--max-seconds", str(SECONDS)]
    env = {name: value for name, value in os.environ.items() if name != "RAY_ADDRESS"}
    process = subprocess.Popen(command, env=env, stderr=subprocess.PIPE, text=True)
    found = OnRay(process, folder, key, slow)
    assert process.stderr
    reader = threading.Thread(target=lambda: found.lines.extend(process.stderr or ()), daemon=True)
    reader.start()
    try:
        found.wait_for(lambda: any("Ctrl-C stops it" in line for line in found.lines))
        url = next(one[1] for line in found.lines if (one := re.search(r"at (http://\S+?),", line)))
        headers = {"Authorization": f"Bearer {key}"}
        found.client = httpx.Client(base_url=url, timeout=SECONDS, headers=headers)
        found.wait_for(lambda: found.client.get("/readyz").status_code == 200)
        yield found
    finally:
        found.client.close()
        process.terminate()
        try:
            process.wait(SECONDS)
        finally:
            process.kill()
            process.wait()
            reader.join()
            process.stderr.close()


@pytest.fixture(scope="module")
def expected(offline: dict[str, Translator]) -> dict[str, str]:
    return dict(zip(TEXTS, (one.text for one in offline["en-ko"].translate(TEXTS)), strict=True))


@pytest.mark.slow
@pytest.mark.ray
def test_one_state_behind_two_replicas(service: OnRay, expected: dict[str, str]) -> None:
    """Both answer as one process does; documents, keys and their rates are the same whichever is asked."""
    service.wait_for(lambda: service.translate(TEXTS[0]).status_code == 200 and len(service.replicas) == 2)
    for text in TEXTS:
        assert service.translate(text).json()["translations"][0]["text"] == expected[text]
    labels = set(re.findall(r'dragoman_requests_total\{.*replica="(\w+)"', service.client.get("/metrics").text))
    assert len(labels) == 1

    codes = Counter(service.translate("1", service.slow_key).status_code for _ in range(8))
    assert codes[200] <= 3  # of one bucket for both; a third comes back within 30 s
    assert codes[200] + codes[429] == 8
    assert service.translate("1", "no key").status_code == 401

    made = service.client.post("/v1/documents", files={"file": ("a.txt", "I like dogs.\n")}, data={"target": "ko"})
    assert made.status_code in (200, 201, 202), made.text
    path = f"/v1/documents/{made.json()['id']}"
    service.wait_for(lambda: service.client.get(path).json()["state"] == "done")
    answers = [service.client.get(f"{path}/result") for _ in range(10)]
    assert {one.text.strip() for one in answers} == {expected["I like dogs."]}
    assert [one["id"] for one in service.client.get("/v1/documents").json()["documents"]] == [made.json()["id"]]
    assert service.client.delete(path).status_code == 204
    assert {service.client.get(path).status_code for _ in range(10)} == {404}


@pytest.mark.slow
@pytest.mark.ray
def test_a_killed_replica_gives_no_wrong_answer(service: OnRay, expected: dict[str, str]) -> None:
    service.wait_for(lambda: service.translate(TEXTS[0]).status_code == 200 and len(service.replicas) >= 2)
    victim = int(next(iter(service.replicas)))
    answers: list[tuple[str, httpx.Response]] = []
    enough = threading.Event()

    def ask(start: int) -> None:
        number = start
        while not enough.is_set():
            text = TEXTS[number % len(TEXTS)]
            answers.append((text, service.translate(text)))
            number += 1

    askers = [threading.Thread(target=ask, args=(number,)) for number in range(6)]
    for asker in askers:
        asker.start()
    service.wait_for(lambda: len(answers) > 20)
    os.kill(victim, signal.SIGKILL)
    after = len(answers)
    service.wait_for(lambda: len(answers) > after + 60)
    service.wait_for(lambda: len(service.replicas) >= 3)  # another one has taken its place
    enough.set()
    for asker in askers:
        asker.join()
    for text, answer in answers:
        assert answer.status_code == 200 or 500 <= answer.status_code < 600
        if answer.status_code == 200:
            assert answer.json()["translations"][0]["text"] == expected[text]
    assert Counter(answer.status_code for _, answer in answers)[200] > 60


@pytest.mark.slow
@pytest.mark.ray
def test_on_sigterm_what_was_accepted_is_answered(service: OnRay) -> None:
    """The last of this module: it ends the service."""
    text = "\n".join(f"There are {n} dogs in the garden of my friend." for n in range(60))
    found: list[httpx.Response] = []
    asking = threading.Thread(target=lambda: found.append(service.translate(text)))
    asking.start()
    open_one = re.compile(r"^dragoman_open_requests\{[^}]*\} [1-9]", re.MULTILINE)
    service.wait_for(lambda: open_one.search(service.client.get("/metrics").text) or found)
    service.process.send_signal(signal.SIGTERM)
    asking.join()
    assert found[0].status_code == 200
    assert found[0].json()["translations"][0]["text"].count("\n") == 59
    assert service.process.wait(SECONDS) == 0
    end = time.monotonic() + 60
    while not service.lines[-1].startswith("stopped") and time.monotonic() < end:
        time.sleep(0.05)
    assert service.lines[-1].startswith("stopped")
    assert not any("dogs" in line for line in service.lines)
    logged = [json.loads(line[line.index("{") :]) for line in service.lines if '"path"' in line]
    assert any(one["path"] == "/v1/translate" and one["status"] == 200 for one in logged)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--ray-address", "127.0.0.1:1"], "--ray-address: has no effect on this machine alone; add --ray"),
        (["--ray", "--ray-address", "127.0.0.1:1"], "127.0.0.1:1: does not answer: connection refused"),
        (["--ray", "--host", "0.0.0.0"], "--host 0.0.0.0: everyone in the network could use the service"),
        (["--ray", "--replicas", "0"], "--replicas"),
    ],
)
def test_what_it_cannot_serve_is_one_line(
    arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("ray")
    assert main(["serve", "-m", "en-ko", "--port", "0", "--state", str(tmp_path), *arguments]) == 2
    stderr = capsys.readouterr().err
    assert message in stderr
    assert stderr.count("\n") == 1


def test_a_port_in_use_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert main(["serve", "--ray", "-m", "en-ko", "--port", str(port), "--state", str(tmp_path)]) == 2
    assert "address already in use; choose another --port" in capsys.readouterr().err


@pytest.mark.skipif(sys.platform != "linux", reason="others do not share a port")
def test_nobody_takes_its_port_while_ray_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    options = ServeOptions((), Address(port=0), ServiceLimits(), DocumentLimits(), state=tmp_path)
    with _port(options, None) as (_, number):
        with pytest.raises(ConfigError, match="address already in use"):
            listen(Address(port=number))
        listen(Address(port=number), shared=True).close()
    with _port(options, "10.0.0.1:6379") as (_, number):  # whose processes may be another user's
        listen(Address(port=number)).close()


@pytest.mark.slow
@pytest.mark.ray
@pytest.mark.filterwarnings("ignore::pydantic.warnings.PydanticDeprecatedSince20")  # of Ray's own models
def test_a_port_that_another_program_took_is_one_line(tmp_path: Path) -> None:
    pytest.importorskip("ray", reason="Ray is not installed")
    pytest.importorskip("grpc_reflection", reason="what Ray Serve needs is not installed")
    with socket.create_server(("127.0.0.1", 0)) as taken, cluster():
        address = Address(port=taken.getsockname()[1])
        options = ServeOptions((), address, ServiceLimits(), DocumentLimits(), threads=1, state=tmp_path)
        with pytest.raises(ConfigError, match=r"--ray: .*Failed to bind .* Choose another --port"):
            _deployed(options, 1, None).__enter__()
