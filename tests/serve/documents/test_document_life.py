"""Documents while the service is busy, stops or is killed: turns, deletion, what survives, what expires."""

import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from dragoman.serve.documents.document import DocumentRequest
from dragoman.serve.documents.documents import Documents
from dragoman.serve.documents.store import MOST_ATTEMPTS, DocumentLimits, DocumentStore
from dragoman.serve.http.problems import Problem
from dragoman.serve.models.models import Models
from dragoman.serve.store.database import ServiceState
from dragoman.serve.work.service import Service, ServiceLimits
from live_server import live

LINES = [
    f"The {colour} {animal} of my friend is in the {place} today."
    for colour in ("red", "black", "white", "old", "big", "small")
    for animal in ("dog", "cat", "horse", "bird", "fish", "cow", "sheep")
    for place in ("garden", "house", "school", "park", "river", "city", "field")
]


class Gate:
    """An engine that lets a number of calls pass and then waits."""

    def __init__(self, engine, passes: int) -> None:
        self.engine, self.passes, self.let = engine, passes, threading.Event()
        self.entered, self.searched = 0, list[int]()

    def translate(self, queries, options):
        self.entered += 1
        end = time.monotonic() + 120
        while len(self.searched) >= self.passes and not self.let.wait(0.01):
            assert time.monotonic() < end
        self.searched.append(len(queries))
        return self.engine.translate(queries, options)

    def until(self, happens: Callable[[], object]) -> None:
        """Let calls pass, one at a time, until it happens: how many sentences one has depends on when they came."""

        def happened() -> object:
            if happens():
                return True
            self.passes += self.entered > self.passes
            return False

        until(happened)

    def __getattr__(self, name: str):
        return getattr(self.engine, name)


@pytest.fixture
def gated(tmp_path: Path) -> Iterator[Callable[..., tuple]]:
    """Starts a service in the folder, whose engine lets a number of calls pass."""
    gates: list[Gate] = []
    running: list = []

    def start(folder: Path, passes: int = 10**9, budget: int = 1024, **limits) -> tuple[Service, Gate, httpx.Client]:
        service = Service(
            Models(["en-ko"], threads=1, exact=True), ServiceLimits(seconds=60), state=ServiceState(folder)
        )
        service.batcher.budget = budget
        server = live(service, Documents(service, DocumentLimits(**limits)))
        url = server.__enter__()
        client = httpx.Client(base_url=url, timeout=120)
        translator = service.models.models["en-ko"].translator
        assert translator
        gate = Gate(translator.engine, passes)
        translator.engine = gate
        gates.append(gate)
        running.append((server, client))
        return service, gate, client

    yield start
    for gate in gates:
        gate.let.set()
    for server, client in running:
        client.close()
        server.__exit__(None, None, None)


def until(happens: Callable[[], object]) -> None:
    end = time.monotonic() + 120
    while not happens():
        assert time.monotonic() < end, "it has not happened"
        time.sleep(0.01)


def upload(client: httpx.Client, text: str, name: str = "a.txt") -> str:
    answer = client.post("/v1/documents", files={"file": (name, text)}, data={"target": "ko"})
    assert answer.status_code == 202, answer.text
    return answer.headers["location"]


@pytest.mark.slow
def test_a_short_text_does_not_wait_for_a_document(gated, tmp_path: Path):
    service, gate, client = gated(tmp_path, passes=1, budget=256)
    where = upload(client, "\n".join(LINES[:100]))
    until(lambda: gate.entered == 2)
    waiting = service.batcher.tokens
    assert waiting <= 4 * service.batcher.budget
    with ThreadPoolExecutor(1) as pool:
        short = pool.submit(client.post, "/v1/translate", json={"text": "Hello", "target": "ko"})
        until(lambda: any(call.ticket.record.path == "/v1/translate" for call in list(service.batcher._waiting)))
        gate.passes += 4  # the batch that is searched, what is free of the document's first tokens, and its next turn
        assert short.result(120).status_code == 200
        assert client.get(where).json()["state"] == "translating"
    gate.let.set()
    until(lambda: client.get(where).json()["state"] == "done")


@pytest.mark.slow
def test_deleted_while_it_is_translated_it_ends_and_leaves_nothing(gated, tmp_path: Path):
    service, gate, client = gated(tmp_path, passes=1, budget=256)
    where = upload(client, "\n".join(LINES))
    until(lambda: gate.entered == 2)
    assert client.get(where).json()["state"] == "translating"
    assert client.delete(where).status_code == 204
    assert client.get(where).status_code == 404
    until(lambda: not list((tmp_path / "documents").iterdir()))
    gate.let.set()
    until(lambda: service.batcher.tokens == 0)
    assert sum(gate.searched) < len(LINES)


def test_a_client_of_libretranslate_that_leaves_is_not_translated_for(gated, tmp_path: Path):
    _, _, client = gated(tmp_path, passes=0, budget=256)
    form = {"files": {"file": ("a.txt", "\n".join(LINES))}, "data": {"source": "en", "target": "ko"}}
    with pytest.raises(httpx.ReadTimeout):
        client.post("/translate_file", **form, timeout=2)
    until(lambda: not list((tmp_path / "documents").iterdir()))


@pytest.mark.slow
def test_after_a_crash_what_was_finished_is_there_and_the_rest_continues(gated, tmp_path: Path):
    """What is on the disk while a service works is what a killed one leaves."""
    before, after = tmp_path / "before", tmp_path / "after"
    service, gate, client = gated(before, passes=0)
    first = upload(client, "Hello\n")
    gate.until(lambda: client.get(first).json()["state"] == "done")
    second = upload(client, "\n".join(LINES))
    gate.until(lambda: client.get(second).json()["progress"]["done"] >= 64)
    until(lambda: gate.entered == gate.passes + 1)
    waiting = service.batcher.tokens
    third = upload(client, "How are you?\n", name="c.txt")
    until(lambda: service.batcher.tokens > waiting)
    (before / "documents" / ".upload-left").mkdir()
    shutil.copytree(before, after)
    left = sum(gate.searched)
    assert 0 < left < len(LINES)
    _, new, other = gated(after)
    assert other.get(first).json()["state"] == "done"
    for where in (second, third):
        until(lambda where=where: other.get(where).json()["state"] == "done")
    result = other.get(f"{second}/result").text
    gate.let.set()
    until(lambda: client.get(second).json()["state"] == "done")
    assert result == client.get(f"{second}/result").text
    assert other.get(f"{first}/result").text == client.get(f"{first}/result").text
    assert sum(new.searched) <= len(LINES) + 1 - 64  # what was in the journal is not searched again
    assert not (after / "documents" / ".upload-left").exists()


def test_a_journal_that_cannot_be_continued_is_started_again(gated, tmp_path: Path):
    store = DocumentStore(tmp_path)
    store.open()
    document = stored(store, "127.0.0.1")
    store.release()
    (document.folder / "files" / "a.ko.txt.partial").write_bytes(b"damaged" * 100)
    _, _, client = gated(tmp_path)
    where = f"/v1/documents/{document.facts.id}"
    until(lambda: client.get(where).json()["state"] in ("done", "failed"))
    assert client.get(where).json()["state"] == "done"


@pytest.mark.slow
def test_at_the_end_documents_wait_for_the_next_service(tmp_path: Path):
    def started() -> Service:
        return Service(Models(["en-ko"], threads=1, exact=True), ServiceLimits(), state=ServiceState(tmp_path))

    service = started()
    with live(service) as url, httpx.Client(base_url=url, timeout=120) as client:
        where = upload(client, "\n".join(LINES))
        until(lambda: client.get(where).json()["state"] != "queued")
    service = started()
    with live(service) as url, httpx.Client(base_url=url, timeout=120) as client:
        until(lambda: client.get(where).json()["state"] == "done")


@pytest.mark.skipif(sys.platform != "linux", reason="processes are looked at in /proc")
def test_the_process_that_reads_a_pdf_ends_with_its_document_and_with_the_service(tmp_path: Path, monkeypatch):
    path = tmp_path / "pids"
    monkeypatch.setattr(
        "dragoman.documents.office.pdf._PROGRAM",
        f"import os, time; open({str(path)!r}, 'a').write(f'{{os.getpid()}}\\n'); time.sleep(300)",
    )

    def runs(pid: str) -> bool:
        try:
            return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
        except OSError:  # also if it ends while it is read
            return False

    def pids() -> list[str]:
        return path.read_text().splitlines() if path.exists() else []

    service = Service(Models(["en-ko"], threads=1), state=ServiceState(tmp_path / "state"))
    with live(service) as url, httpx.Client(base_url=url, timeout=120) as client:
        where = upload(client, "%PDF-1.4\n", "a.pdf")
        until(lambda: len(pids()) == 1)
        assert runs(pids()[0])
        assert client.delete(where).status_code == 204
        until(lambda: not runs(pids()[0]))
        upload(client, "%PDF-1.4\n", "b.pdf")
        until(lambda: len(pids()) == 2)
    assert not runs(pids()[1])


def test_without_a_state_folder_nothing_is_left(tmp_path: Path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    service = Service(Models(["en-ko"], threads=1), ServiceLimits())
    with live(service) as url, httpx.Client(base_url=url, timeout=120) as client:
        upload(client, "\n".join(LINES))
        assert list(service.state.folder.glob("documents/*/files/a.txt"))
        assert service.state.folder.parent == tmp_path
    assert not list(tmp_path.glob("dragoman-*"))


def test_a_finished_document_expires(gated, tmp_path: Path):
    _, _, client = gated(tmp_path, seconds=1.0)
    where = upload(client, "Hello\n")
    until(lambda: client.get(where).status_code == 404)
    until(lambda: not list((tmp_path / "documents").iterdir()))


def test_a_service_about_to_stop_takes_no_document(gated, tmp_path: Path):
    service, _, client = gated(tmp_path)
    service.draining = True
    answer = client.post("/v1/documents", files={"file": ("a.txt", "Hello")})
    assert answer.status_code == 503
    service.draining = False


def stored(store: DocumentStore, sender: str, name: str = "a.txt"):
    with store.incoming(sender, 5) as one:
        source = one.folder / "files" / name
        source.write_text("Hello", encoding="utf-8")
        return store.add(one, source, DocumentRequest())[0]


def test_what_was_fetched_gives_way_to_new_documents_the_oldest_first(tmp_path: Path):
    limits = DocumentLimits(documents=3)
    store, other = DocumentStore(tmp_path, limits), DocumentStore(tmp_path, limits)
    store.open()
    other.open()
    first, second = (stored(store, "a").facts.id for _ in range(2))
    third, foreign = stored(other, "a"), stored(store, "b")
    for document in (third, foreign):
        document.give_way()
    store.named(second).give_way()

    def ids(sender: str) -> list[str]:
        return [document.facts.id for document in store.of(sender)]

    before = ids("a")
    with pytest.raises(Problem), store.incoming("a", limits.stored_bytes + 1):
        pass
    assert ids("a") == before, "what is refused all the same removes nothing"
    fourth = stored(store, "a").facts.id
    assert ids("a") == [first, third.facts.id, fourth]
    fifth = stored(store, "a").facts.id  # the third is another service's
    assert ids("a") == [first, fourth, fifth]
    assert other.named(third.facts.id) is None
    with pytest.raises(Problem) as refused:
        stored(store, "a")
    assert refused.value.status == 429
    assert (ids("a"), ids("b")) == ([first, fourth, fifth], [foreign.facts.id])
    store.release()
    other.release()


def test_a_client_of_libretranslate_that_fetches_its_translations_is_not_refused(gated, tmp_path: Path):
    _, _, client = gated(tmp_path, documents=2)

    def translated() -> httpx.Response:
        form = {"source": "en", "target": "ko"}
        return client.post("/translate_file", files={"file": ("a.txt", "Hello")}, data=form)

    for _ in range(4):
        address = translated().json()["translatedFileUrl"]
        assert client.get(address).content == client.get(address).content != b""
    assert [translated().status_code for _ in range(3)] == [200, 200, 429]


def test_turns_go_to_the_sender_with_the_fewest_documents_and_to_nobody_more_than_half(tmp_path: Path):
    store = DocumentStore(tmp_path, DocumentLimits(workers=4))
    store.open()
    for sender in ("a", "a", "a", "b"):
        stored(store, sender)
    taken = [store.take() for _ in range(3)]
    assert [one.facts.sender for one in taken if one] == ["a", "b", "a"]
    waiting = threading.Thread(target=lambda: taken.append(store.take()))
    waiting.start()
    waiting.join(0.2)
    assert waiting.is_alive()  # a third one of a
    store.end(taken[0], "done")
    waiting.join(60)
    assert taken[3]
    assert taken[3].facts.sender == "a"
    store.close()
    assert store.take() is None
    store.release()


def test_two_services_on_one_state_folder_translate_their_own_and_answer_for_all(tmp_path: Path):
    limits = DocumentLimits(documents=3)
    one, two = DocumentStore(tmp_path, limits), DocumentStore(tmp_path, limits)
    one.open()
    two.open()
    first, second = stored(one, "a"), stored(two, "a")
    for store in (one, two):
        ids = [document.facts.id for document in store.of("a")]
        assert ids == [first.facts.id, second.facts.id]
        assert store.of("b") == []
        assert all(store.named(name) for name in ids)
        assert store.named("../" + first.facts.id) is None
    taken = two.take()
    assert taken
    assert taken.facts.id == second.facts.id
    two.end(taken, "failed", "nothing to translate")
    found = one.named(second.facts.id)
    assert found
    assert (found.facts.state, found.facts.error) == ("failed", "nothing to translate")
    stored(one, "a")
    with pytest.raises(Problem) as refused:  # the limit of a sender is one for both
        stored(two, "a")
    assert refused.value.status == 429

    two.remove(two.named(first.facts.id))
    assert one.named(first.facts.id) is None
    assert not first.folder.exists()
    one.release()
    two.release()
    both = DocumentStore(tmp_path)
    both.open()
    assert both.named(first.facts.id) is None
    assert both.named(second.facts.id)
    both.release()


def test_what_another_service_removed_is_not_written_again(tmp_path: Path):
    one, two = DocumentStore(tmp_path), DocumentStore(tmp_path)
    one.open()
    two.open()
    translated, queued = stored(one, "a"), stored(one, "b")
    taken = one.take()
    assert taken
    other = queued if taken is translated else translated
    for document in (taken, other):
        two.remove(two.named(document.facts.id))
    one.save(taken)
    one.end(taken, "done")
    one.expire()
    assert not taken.folder.exists()
    assert not other.folder.exists()
    assert one.of("a") == one.of("b") == []
    one.close()
    assert one.take() is None
    one.release()
    two.release()


def test_a_document_that_ends_the_service_each_time_is_given_up(tmp_path: Path):
    store = DocumentStore(tmp_path)
    store.open()
    name = stored(store, "a").facts.id
    for _ in range(MOST_ATTEMPTS):
        document = store.take()
        assert document
        document.facts.attempts += 1
        store.save(document)
        store.release()  # as if it had been killed
        store = DocumentStore(tmp_path)
        store.open()
    found = store.named(name)
    assert found
    assert found.facts.state == "failed"
    assert found.deadline
    store.release()


def test_damaged_facts_are_no_document(tmp_path: Path):
    store = DocumentStore(tmp_path)
    store.open()
    document = stored(store, "a")
    store.release()
    (document.folder / "facts.json").write_text('{"id": "x"')
    again = DocumentStore(tmp_path)
    again.open()
    assert again.named(document.facts.id) is None
    assert not document.folder.exists()
    again.release()


def test_before_it_is_open_the_store_takes_nothing(tmp_path: Path):
    with pytest.raises(Problem) as raised, DocumentStore(tmp_path).incoming("a", 1):
        pass
    assert raised.value.status == 503
