"""`dragoman serve --replicas 2`: one state behind two processes, no wrong answer when one is killed, an end of all."""

import errno
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
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest

import replica_runs
from dragoman.cli.main import main
from dragoman.errors import ConfigError, ModelError, ResourceError
from dragoman.serve.replicas import replicas
from dragoman.serve.replicas.replicas import Replicas
from dragoman.serve.run import Address, _bound, listen, reserved
from dragoman.serve.store.database import ServiceState
from dragoman.serve.store.keys import KeyStore
from dragoman.serve.watch.metrics import Metrics, as_text, merged
from dragoman.translator import Translator
from ports import without_name_servers

SECONDS = 300.0
needs_proc = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="lists processes by /proc")
TEXTS = ["I like dogs.", "Where is the station?", "Thank you very much!", "It is cold today."]


@dataclass
class Served:
    """The command, its URL and what it says; one key without limits, and one of two requests per minute."""

    process: subprocess.Popen[str]
    key: str
    slow_key: str
    url: str = ""
    lines: list[str] = field(default_factory=list)
    translated: int = 0
    """The translations that `translate` received."""

    def wait_for(self, happened: Callable[[], object]) -> None:
        end = time.monotonic() + SECONDS
        while not happened():
            assert time.monotonic() < end, "".join(self.lines[-20:])
            time.sleep(0.02)

    def ask(self, method: str, path: str, key: str | None = None, **given) -> httpx.Response:
        """A request by a connection of its own, which any of the processes may accept."""
        headers = {"Authorization": f"Bearer {key or self.key}"}
        return httpx.request(method, self.url + path, headers=headers, **{"timeout": SECONDS, **given})

    def translate(self, text: str, key: str | None = None) -> httpx.Response:
        answer = self.ask("POST", "/v1/translate", key, json={"text": text, "target": "ko"})
        self.translated += answer.status_code == 200
        return answer

    @property
    def replicas(self) -> list[int]:
        """The processes that serve; another one, of Python itself, keeps what processes share."""
        listed = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        return [int(pid) for pid in listed if "spawn_main" in command_of(pid)]

    def answered(self) -> dict[str, float]:
        """Translations by replica, as `/metrics` reports them: a replica that is slow to answer is left out."""
        found = re.findall(
            r'^dragoman_requests_total\{code="200",.*model="en-ko",replica="(\d)"\} (\S+)$',
            self.ask("GET", "/metrics").text,
            re.MULTILINE,
        )
        return {replica: float(count) for replica, count in found}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("state")
    state = ServiceState(folder)
    keys = KeyStore(state.database)
    (_, key), (_, slow) = keys.create("tests", per_minute=100_000), keys.create("slow", per_minute=2)
    state.close()
    command = [sys.executable, "-m", "dragoman", "serve", "--replicas", "2", "--threads", "1", "--exact"]
    command += ["-m", "en-ko", "--port", "0", "--state", str(folder), "--max-seconds", str(SECONDS)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    found = Served(process, key, slow)
    reader = threading.Thread(target=lambda: found.lines.extend(process.stderr or ()), daemon=True)
    reader.start()
    try:
        found.wait_for(lambda: any("Ctrl-C stops it" in line for line in found.lines))
        found.url = next(one[1] for line in found.lines if (one := re.search(r"at (http://\S+?),", line)))
        yield found
    finally:
        process.terminate()
        try:
            process.wait(SECONDS)
        finally:
            process.kill()
            process.wait()
            reader.join()
            if process.stderr:
                process.stderr.close()


@pytest.fixture(scope="module")
def expected(offline: dict[str, Translator]) -> dict[str, str]:
    return dict(zip(TEXTS, (one.text for one in offline["en-ko"].translate(TEXTS)), strict=True))


@pytest.mark.slow
def test_one_state_behind_two_processes(service, expected):
    """Both answer as one does; keys, their rates, documents and metrics are the same whichever is asked."""
    service.wait_for(lambda: service.translate(TEXTS[0]).status_code == 200 and len(service.answered()) == 2)
    for text in TEXTS:
        assert service.translate(text).json()["translations"][0]["text"] == expected[text]
    service.wait_for(lambda: sum(service.answered().values()) == service.translated)

    codes = Counter(service.translate("1", service.slow_key).status_code for _ in range(8))
    assert codes[200] <= 3  # of one bucket for both; a third comes back within 30 s
    assert codes[200] + codes[429] == 8
    assert service.translate("1", "no key").status_code == 401

    made = service.ask("POST", "/v1/documents", files={"file": ("a.txt", "I like dogs.\n")}, data={"target": "ko"})
    path = f"/v1/documents/{made.json()['id']}"
    service.wait_for(lambda: service.ask("GET", path).json()["state"] == "done")
    assert {service.ask("GET", f"{path}/result").text.strip() for _ in range(8)} == {expected["I like dogs."]}
    assert service.ask("DELETE", path).status_code == 204
    assert {service.ask("GET", path).status_code for _ in range(8)} == {404}


@pytest.mark.slow
@needs_proc
def test_a_killed_process_gives_no_wrong_answer_and_is_replaced(service, expected):
    service.wait_for(lambda: service.translate(TEXTS[0]).status_code == 200 and len(service.answered()) == 2)
    before, answers, lost = set(service.replicas), list[tuple[str, httpx.Response]](), list[float]()
    calm, enough = threading.Event(), threading.Event()

    def ask(number: int) -> None:
        while not enough.wait(0.2 if calm.is_set() else 0):
            text, number = TEXTS[number % len(TEXTS)], number + 1
            began = time.monotonic()
            try:
                answers.append((text, service.translate(text)))
            except httpx.TransportError:
                lost.append(began)

    askers = [threading.Thread(target=ask, args=(number,)) for number in range(6)]
    for asker in askers:
        asker.start()
    service.wait_for(lambda: len(answers) > 20)
    killed, after = min(before), len(answers)
    os.kill(killed, signal.SIGKILL)
    service.wait_for(lambda: not Path(f"/proc/{killed}").exists())  # until then its port is open
    gone = time.monotonic()
    service.wait_for(lambda: len(answers) > after + 40)
    calm.set()  # a process that starts needs the processor
    service.wait_for(lambda: len(service.replicas) == 2 and set(service.replicas) != before)
    service.wait_for(lambda: len(service.answered()) == 2)  # the new one answers too
    enough.set()
    for asker in askers:
        asker.join()
    assert not [began for began in lost if began > gone]  # only what was in the process that was killed
    for text, answer in answers:
        assert answer.status_code == 200
        assert answer.json()["translations"][0]["text"] == expected[text]
    assert any('"ended": -9' in line for line in service.lines)


@pytest.mark.slow
@needs_proc
def test_one_that_is_frozen_keeps_nobody_else_waiting(service, expected):
    """The answers of the other one come before the frozen one is taken for stuck, and ended."""
    service.wait_for(lambda: len(service.answered()) == 2)
    frozen = min(service.replicas)
    with ExitStack() as stack:
        headers = {"Authorization": f"Bearer {service.key}"}
        pool = stack.enter_context(ThreadPoolExecutor(64))
        os.kill(frozen, signal.SIGSTOP)
        stack.callback(os.kill, frozen, signal.SIGCONT)  # before the pool waits for what only this one answers
        opened = [httpx.Client(base_url=service.url, headers=headers, timeout=SECONDS) for _ in range(64)]
        asked = {pool.submit(client.get, "/healthz"): client for client in opened}
        first = next(iter(wait(asked, return_when=FIRST_COMPLETED).done))  # by a connection to the other one
        assert first.result().status_code == 200
        for _ in range(3):
            assert asked[first].get("/metrics").status_code == 200
            body = {"text": TEXTS[0], "target": "ko"}
            assert asked[first].post("/v1/translate", json=body).json()["translations"][0]["text"] == expected[TEXTS[0]]
        assert state_of(frozen) == "T"
    for client in opened:
        client.close()
    service.wait_for(lambda: len(service.answered()) == 2)


@pytest.mark.slow
@needs_proc
def test_on_sigterm_what_was_accepted_is_answered(service):
    """The last of those that use this service: it ends."""
    text = "\n".join(f"There are {n} dogs in the garden of my friend." for n in range(60))
    found: list[httpx.Response] = []
    asking = threading.Thread(target=lambda: found.append(service.translate(text)))
    asking.start()
    open_one = re.compile(r'^dragoman_open_requests\{replica="\d"\} 1\.0$', re.MULTILINE)
    service.wait_for(lambda: open_one.search(service.ask("GET", "/metrics").text) or found)
    replicas = service.replicas
    service.process.send_signal(signal.SIGTERM)
    asking.join()
    assert found[0].status_code == 200
    assert found[0].json()["translations"][0]["text"].count("\n") == 59
    assert service.process.wait(SECONDS) == 0
    service.wait_for(lambda: service.lines[-1].startswith("stopped"))
    assert not any(Path(f"/proc/{pid}").exists() for pid in replicas)
    assert not any("dogs" in line for line in service.lines)


@pytest.fixture
def started(tmp_path) -> Iterator[subprocess.Popen[str]]:
    """The command with one process, in a process group of its own."""
    command = [sys.executable, "-m", "dragoman", "serve", "--replicas", "1", "--threads", "1"]
    command += ["-m", "en-ko", "--port", "0", "--state", str(tmp_path)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True)
    yield process
    process.kill()
    process.wait()
    assert process.stderr
    process.stderr.close()


def state_of(pid: int) -> str:
    """The letter of the system for it: T is stopped, Z has ended and its parent has not asked; empty: there is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:  # also if it ends while it is read
        return ""


def command_of(pid: str) -> str:
    """The command line of a process; empty for one that ended after it was listed."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""


def until(happens: Callable[[], object]) -> None:
    end = time.monotonic() + SECONDS
    while not happens():
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.mark.slow
@needs_proc
def test_when_their_parent_is_killed_they_end(started):
    assert started.stderr
    assert started.stderr.readline() == "Serving en-ko (en-ko) by 1 processes\n"
    replicas = Served(started, "", "").replicas
    started.kill()
    started.wait()
    until(lambda: {state_of(pid) for pid in replicas} <= {"", "Z"})


@pytest.mark.slow
@needs_proc
def test_ctrl_c_during_the_start_is_a_quiet_end(started):
    until(lambda: Served(started, "", "").replicas)
    os.killpg(started.pid, signal.SIGINT)
    assert started.wait(SECONDS) == 0
    assert started.stderr
    lines = started.stderr.read().splitlines()
    assert [line for line in lines if not line.startswith("Serving ")] == [
        "stopped; every accepted request was answered"
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("run", "error", "message"),
    [
        pytest.param(
            replica_runs.with_a_damaged_model, ModelError, "en-ko: damaged; install it again", marks=pytest.mark.slow
        ),
        (
            replica_runs.killed,
            ResourceError,
            r"a process ended while it started \(exit code -9\); see above, or give fewer",
        ),
    ],
)
def test_what_keeps_the_first_from_serving_is_raised(run, error, message):
    with pytest.raises(error, match=message):
        Replicas(2, run).serve(threading.Event(), 10)


def test_no_memory_for_a_process_is_one_error(monkeypatch):
    def refused(self):
        raise OSError(errno.ENOMEM, os.strerror(errno.ENOMEM))

    monkeypatch.setattr("multiprocessing.context.SpawnProcess.start", refused)
    with pytest.raises(ResourceError, match="no process can be started: Cannot"):
        Replicas(2, replica_runs.killed).serve(threading.Event(), 10)


@pytest.mark.slow
def test_one_that_answers_nothing_is_replaced_and_at_the_end_killed(monkeypatch, caplog):
    monkeypatch.setattr(replicas, "WATCH", 0.1)
    monkeypatch.setattr(replicas, "STUCK", 0.5)
    stopped = threading.Event()
    threading.Thread(target=lambda: (until(lambda: "ended" in caplog.text), time.sleep(3), stopped.set())).start()
    assert Replicas(1, replica_runs.silent).serve(stopped, 0.2) <= 1
    assert '{"replica": 0, "ended": -9}' in caplog.text


@pytest.mark.slow
def test_one_that_does_not_end_is_killed():
    stopped = threading.Event()
    assert Replicas(1, replica_runs.silent).serve(stopped, 0.2, on_ready=stopped.set) == 1


def test_nobody_takes_a_port_between_its_choice_and_its_use(monkeypatch):
    class Watched(socket.socket):
        def close(self) -> None:
            address = self.getsockname()
            super().close()
            taken.append(socket.create_server(address))

    taken = list[socket.socket]()
    monkeypatch.setattr("dragoman.serve.run.socket.socket", Watched)
    with reserved(Address(port=0), False) as port:
        monkeypatch.undo()
        assert port.getsockname()[1]
        assert not taken
    for other in taken:
        other.close()


def test_of_two_services_that_open_a_port_at_once_the_second_is_refused(monkeypatch):
    """Both have bound it before one listens."""
    with _bound(Address(port=0), False) as first:
        address = Address(port=first.getsockname()[1])
        with _bound(address, False):
            first.listen()
            with pytest.raises(ConfigError, match="address already in use; choose another --port"):
                listen(address)


def test_a_port_is_one_services():
    with reserved(Address(port=0), False) as port:
        address = Address(port=port.getsockname()[1])
        with listen(address, shared=True), listen(address, shared=True):
            for open_another in (listen, lambda address: reserved(address, False).__enter__()):
                with pytest.raises(ConfigError, match="address already in use; choose another --port"):
                    open_another(address)


def test_metrics_of_several_are_one_text_that_keeps_them_apart():
    both = [Metrics(), Metrics()]
    for number, one in enumerate(both):
        one.labels = {"replica": str(number)}
        one.queue_seconds.observe(0.02)
    shown = as_text(merged([each for one in both for each in one.collect()])).decode()
    assert shown.count("# TYPE dragoman_queue_seconds histogram") == 1
    assert 'dragoman_queue_seconds_count{replica="0"} 1.0\n' in shown
    assert 'dragoman_queue_seconds_bucket{le="0.025",replica="1"} 1.0\n' in shown


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--workers", "2"], "No such option: --workers"),
        (["--host", "0.0.0.0"], "--host 0.0.0.0: everyone in the network could use the service"),
        (["--host", "nowhere.invalid"], "--host nowhere.invalid: not an address of this machine"),
    ],
)
def test_what_it_cannot_serve_is_one_line(arguments, message, tmp_path, capsys, monkeypatch):
    without_name_servers(monkeypatch)
    given = ["serve", "-m", "en-ko", "--port", "0", "--state", str(tmp_path), "--replicas", "2", *arguments]
    assert main(given) == ConfigError.exit_code
    stderr = capsys.readouterr().err
    assert message in stderr
    assert stderr.count("\n") == 1
