"""`dragoman serve` as a process: what it says and refuses, that it finishes what it accepted and needs no torch."""

import asyncio
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
import uvicorn

from dragoman.cli.main import main
from dragoman.serve import run as run_module
from ports import without_name_servers


@pytest.fixture
def server(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The command where torch cannot be imported, and its URL."""
    (tmp_path / "torch.py").write_text("raise ImportError('no torch here')\n", encoding="utf-8")
    path = os.pathsep.join([str(tmp_path), str(Path(__file__).parents[3] / "src")])
    command = [
        sys.executable,
        "-m",
        "dragoman",
        "serve",
        "-m",
        "en-ko",
        "--port",
        "0",
        "--threads",
        "1",
        "--log",
        "json",
        "--drain",
        "300",
        "--max-seconds",
        "600",
    ]
    process = subprocess.Popen(command, env={**os.environ, "PYTHONPATH": path}, stderr=subprocess.PIPE, text=True)
    assert process.stderr
    url = ""
    while not url:
        line = process.stderr.readline()
        assert line, "the server ended"
        url = "".join(re.findall(r"at (http://\S+?),", line))
    yield process, url
    process.kill()
    process.wait()
    process.stderr.close()


@pytest.mark.slow
def test_it_serves_and_on_sigterm_answers_what_it_accepted(server):
    process, url = server
    lines: list[str] = []
    reader = threading.Thread(target=lambda: lines.extend(process.stderr))
    reader.start()
    while httpx.get(f"{url}/readyz", timeout=60).status_code != 200:
        pass
    text = "\n".join(f"There are {n} dogs in the garden of my friend." for n in range(100))
    found: list[httpx.Response] = []
    body = {"text": text, "target": "ko"}
    asking = threading.Thread(target=lambda: found.append(httpx.post(f"{url}/v1/translate", json=body, timeout=600)))
    asking.start()
    while "dragoman_open_requests 1.0" not in httpx.get(f"{url}/metrics", timeout=60).text and not found:
        pass
    process.send_signal(signal.SIGTERM)
    refused = [httpx.get(f"{url}/readyz", timeout=60), httpx.post(f"{url}/v1/translate", json=body, timeout=60)]
    assert [answer.status_code for answer in refused] == [503, 503]
    assert refused[1].headers["retry-after"] == "5"
    process.send_signal(signal.SIGTERM)  # a second one: it need not listen any longer
    asking.join()
    assert found[0].status_code == 200
    assert found[0].json()["translations"][0]["text"].count("\n") == 99
    assert process.wait(600) == 0
    reader.join()
    logged = [json.loads(line) for line in lines if line.startswith("{")]
    assert any(one["path"] == "/v1/translate" and one["status"] == 200 and one["tokens"] > 1000 for one in logged)
    assert lines[-1].startswith("stopped")
    assert not any("dogs" in line for line in lines)


def test_on_sigterm_it_listens_for_a_moment_and_on_ctrl_c_it_does_not(monkeypatch):
    now = 100.0
    monkeypatch.setattr(run_module.time, "monotonic", lambda: now)

    def server() -> Any:
        made = run_module._Server(uvicorn.Config(lambda: None))
        made.service, made.drain = SimpleNamespace(draining=False), 3.0
        return made

    stops = server()
    stops.handle_exit(signal.SIGTERM, None)
    assert stops.service.draining
    assert not asyncio.run(stops.on_tick(1))
    now += 3
    assert asyncio.run(stops.on_tick(2))
    for signals in ([signal.SIGINT], [signal.SIGTERM, signal.SIGTERM]):
        stops = server()
        for number in signals:
            stops.handle_exit(number, None)
        assert stops.service.draining
        assert stops.should_exit


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--host", "0.0.0.0"], 2, "--host 0.0.0.0: everyone in the network could use the service"),
        (["--host", "no.such.host.invalid"], 2, "--host no.such.host.invalid: not an address of this machine"),
        (["-m", "no-such-model"], 4, "no-such-model"),
        (["-m", "en-ko", "-m", "en-ko"], 2, "a second model with the name en-ko"),
        (["--port", "70000"], 2, "'--port': should be less than or equal to 65535"),
    ],
)
def test_what_it_cannot_serve_is_one_line(arguments, code, message, capsys, monkeypatch):
    without_name_servers(monkeypatch)
    assert main(["serve", *arguments]) == code
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_a_port_in_use_is_one_line(capsys):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert main(["serve", "-m", "en-ko", "--port", str(port)]) == 2
    error = capsys.readouterr().err
    assert f"127.0.0.1:{port}: address already in use; choose another --port" in error
    assert error.count("\n") == 1


@pytest.mark.slow
def test_without_the_extra_it_says_how_to_get_it(tmp_path):
    """In a process of its own: what is imported again here would be other modules than those that later tests patch."""
    (tmp_path / "uvicorn.py").write_text("raise ModuleNotFoundError('none', name='uvicorn')\n", encoding="utf-8")
    path = os.pathsep.join([str(tmp_path), str(Path(__file__).parents[3] / "src")])
    command = [sys.executable, "-m", "dragoman", "serve"]
    found = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=False, timeout=600
    )
    assert found.returncode == 1
    assert found.stderr == 'dragoman: uvicorn is not installed; `pip install "dragoman[serve]"`\n'
