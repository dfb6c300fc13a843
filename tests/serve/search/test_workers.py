"""Worker processes: they find what an engine here finds, one that ends is replaced, and none is left behind."""

import itertools
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from dragoman.errors import ModelError, ResourceError
from dragoman.installed.opening import open_model
from dragoman.serve.models.loading import Loader
from dragoman.serve.models.models import Models
from dragoman.serve.requests.ticket import Ticket, WorkerLost
from dragoman.serve.search.batcher import Batcher
from dragoman.serve.search.worker import Answer, ModelVersion, Order, _answer, digest_of
from dragoman.serve.search.workers import Workers
from dragoman.serve.work.service import Limits, Service
from dragoman.translator import Translator
from live_server import live

TEXTS = ["Hello", "Where is the library?", "A dog and a cat.", "1,234.5"]


def wait_until(happens) -> None:
    end = time.monotonic() + 60
    while not happens():
        assert time.monotonic() < end, "it has not happened"
        time.sleep(0.01)


@pytest.fixture(scope="module")
def workers() -> Iterator[Workers]:
    """Two processes for all tests: each takes a second to start."""
    made = Workers(2)
    yield made
    made.close()
    assert made.pids == []


def remote(workers: Workers, model: str = "en-ko") -> Translator:
    bundle = open_model(model)
    return Translator.of_bundle(bundle, engine=workers.engine(ModelVersion(bundle.folder, digest_of(bundle.manifest))))


def test_a_worker_finds_what_an_engine_here_finds(workers, offline):
    translator = remote(workers)
    own = offline["en-ko"].translate(TEXTS, alignment=True)
    assert translator.translate(TEXTS, alignment=True, exact=True) == own
    pairs = [(one.source, one.text) for one in own]
    assert [*map(sum, translator.score(pairs))] == pytest.approx([*map(sum, offline["en-ko"].score(pairs))], abs=1e-3)


def test_a_worker_that_is_killed_is_replaced_and_has_the_models_again(workers):
    translator = remote(workers)
    before = translator.translate(TEXTS)
    killed = workers.pids
    for pid in killed:
        os.kill(pid, signal.SIGKILL)
    wait_until(lambda: len(set(workers.pids) - set(killed)) == 2 and len(workers._idle) == 2)
    assert translator.translate(TEXTS) == before


def test_a_version_that_its_folder_no_longer_has_is_not_loaded(workers):
    bundle = open_model("en-ko")
    with pytest.raises(ModelError, match="replaced meanwhile"):
        workers.engine(ModelVersion(bundle.folder, "another"))
    assert remote(workers).translate("Hello").text


def test_what_no_engine_needs_is_forgotten(workers):
    translator = remote(workers)
    assert all(len(worker.versions) == 1 for worker in workers._alive)
    translator = remote(workers, "ko-en")
    assert translator.translate("안녕하세요").text
    for worker in workers._alive:
        workers._ask(worker, Order("load", next(iter(workers._versions))))
    wait_until(lambda: all(len(worker.versions) == 1 for worker in workers._alive))


def test_missing_memory_is_a_resource_error_and_an_unexpected_one_keeps_its_text_to_itself():
    class Failing:
        def score(self, error: BaseException) -> None:
            raise error

    version = ModelVersion(Path("x"), "y")
    for error in (MemoryError("secret"), RuntimeError("std::bad_alloc")):
        answer = _answer(Order("score", version, (error,)), {version: Failing()}, 1)
        assert (answer.error, "does not fit into memory" in answer.message) == (ResourceError.__name__, True)
    answer = _answer(Order("score", version, (KeyError("secret"),)), {version: Failing()}, 1)
    assert answer == Answer(error="KeyError")


@pytest.mark.parametrize(("lost", "searches"), [(1, 2), (2, 2)])
def test_what_a_lost_worker_had_is_searched_once_more(lost, searches):
    """Alone, the second loss is the request's end."""
    calls: list[int] = []

    def work(jobs):
        calls.append(len(jobs))
        if len(calls) <= lost:
            raise WorkerLost("gone")
        return jobs

    batcher = Batcher(1)
    try:
        if lost == 1:
            assert batcher.search(Ticket(), "group", [7], [1], work) == [7]
        else:
            with pytest.raises(WorkerLost):
                batcher.search(Ticket(), "group", [7], [1], work)
    finally:
        batcher.close()
    assert len(calls) == searches


@pytest.mark.slow
def test_no_worker_is_left_when_the_service_is_killed():
    """The service here is a process that starts workers and is killed."""
    script = (
        "import time\nfrom dragoman.serve.search.workers import Workers\nfound = Workers(2)\n"
        "while len(found._idle) < 2: time.sleep(0.01)\nprint(*found.pids, flush=True)\ntime.sleep(600)\n"
    )
    path = os.pathsep.join([str(Path(__file__).parents[3] / "src"), os.environ.get("PYTHONPATH", "")])
    process = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": path}
    )
    assert process.stdout
    pids = [int(pid) for pid in process.stdout.readline().split()]
    assert len(pids) == 2
    for pid in pids:  # they finish what they have, whatever a terminal or a service manager sends to all
        os.kill(pid, signal.SIGTERM)
        os.kill(pid, signal.SIGINT)
    assert process.poll() is None
    process.kill()
    process.wait()
    # They hold no end of this pipe, their output is the service's own.
    process.stdout.close()
    wait_until(lambda: not any(is_running(pid) for pid in pids))


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except OSError:
        if Path("/proc/self/stat").exists():
            return False
        try:
            os.kill(pid, 0)
        except OSError:
            return False
        return True
    return state != "Z"


@pytest.mark.slow
def test_while_workers_are_killed_no_answer_is_wrong(offline, lines):
    """120 requests, after each 20 a worker is killed: what is answered is the translation, and what fails is 503."""
    lines = [line for line in lines if len(line) < 200]
    expected = {line: one.text for line, one in zip(lines, offline["en-ko"].translate(lines), strict=True)}
    workers, count = Workers(2), itertools.count(1)
    service = Service(Models(["en-ko"], loader=Loader(workers, exact=True)), Limits(seconds=120))
    with live(service) as url, httpx.Client(base_url=url, timeout=120) as client, ThreadPoolExecutor(8) as pool:

        def ask(n: int) -> tuple[str, httpx.Response]:
            text = lines[n % len(lines)]
            answer = client.post("/v1/translate", json={"text": text, "source": "en", "target": "ko"})
            if next(count) % 20 == 0:
                for pid in workers.pids[:1]:
                    os.kill(pid, signal.SIGKILL)
            return text, answer

        found = list(pool.map(ask, range(120)))
        assert client.post("/v1/translate", json={"text": "Hello", "target": "ko", "source": "en"}).status_code == 200
        assert "dragoman_workers_lost_total" in client.get("/metrics").text
    for text, answer in found:
        assert answer.status_code in (200, 503), answer.text
        if answer.status_code == 200:
            assert answer.json()["translations"][0]["text"] == expected[text]
        else:
            assert answer.json()["type"] == "urn:dragoman:problem:worker-lost"
    assert sum(answer.status_code == 200 for _, answer in found) >= 100
