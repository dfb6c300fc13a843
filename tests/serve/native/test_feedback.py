"""`/v1/feedback`: a correction is kept before the answer, once, and belongs to its sender."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from dragoman.bundle import open_bundle
from dragoman.bundled import HOME
from dragoman.errors import DataError
from dragoman.serve.models.models import Models
from dragoman.serve.store.corrections import CorrectionLimit, CorrectionStore, NewCorrection, copy_corrections
from dragoman.serve.store.database import ServiceState
from dragoman.serve.work.service import Service, ServiceLimits
from dragoman.workflows.improve.corrections import read_corrections
from live_server import live
from postgresql_server import postgresql

BODY = {"text": "Where is the pharmacy?", "correction": "약국이 어디 있나요?", "source": "en", "target": "ko"}


def correction(number: int = 0, text: str = "약국이 어디 있나요?") -> NewCorrection:
    return NewCorrection(f"Where is pharmacy {number}?", "", text, "en", "ko", "en-ko")


@pytest.fixture
def state(tmp_path: Path) -> Iterator[ServiceState]:
    found = ServiceState(tmp_path / "state")
    yield found
    found.close()


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[httpx.Client, Path]]:
    folder = tmp_path_factory.mktemp("feedback")
    service = Service(Models(threads=1), ServiceLimits(characters=2000), state=ServiceState(folder))
    with live(service) as url, httpx.Client(base_url=url, timeout=120) as client:
        yield client, folder / "corrections.db"


def test_what_was_accepted_is_read_by_improve_and_can_be_listed_and_deleted(kept: tuple[httpx.Client, Path]) -> None:
    client, path = kept
    answer = client.post("/v1/feedback", json={**BODY, "translation": "약국은 어디입니까?"})
    assert answer.status_code == 200, answer.text
    found = answer.json()
    assert found["new"]
    assert client.post("/v1/feedback", json=BODY).json() == {"id": found["id"], "new": False}
    assert client.post("/suggest", data={"q": "Hello.", "s": "안녕하세요.", "source": "en", "target": "ko"}).json() == {
        "success": True
    }
    listed = client.get("/v1/feedback").json()
    assert [one["text"] for one in listed["corrections"]] == ["Hello.", BODY["text"]]
    assert listed["total"] == 2
    assert client.get("/v1/feedback?first=1&count=1").json()["corrections"] == listed["corrections"][1:]
    read = read_corrections(path, open_bundle(HOME / "en-ko").config.project)
    assert [(one.source, one.target) for one in read.usable] == [
        (BODY["text"], BODY["correction"]),
        ("Hello.", "안녕하세요."),
    ]
    for one in listed["corrections"]:
        assert client.delete(f"/v1/feedback/{one['id']}").status_code == 204
        assert client.delete(f"/v1/feedback/{one['id']}").status_code == 404
    assert client.get("/v1/feedback").json() == {"total": 0, "corrections": []}


@pytest.mark.parametrize(
    ("change", "status", "part"),
    [
        ({"target": "fr"}, 400, "fr"),
        ({"model": "nothing"}, 404, "nothing"),
        ({"correction": " "}, 400, "blank"),
        ({"text": ""}, 400, "blank"),
        ({"correction": "a\0b"}, 400, "null character"),
        ({"text": "a" * 3000}, 413, "characters"),
        ({"unknown": 1}, 400, "unknown"),
        ({"text": 3}, 400, "text"),
    ],
)
def test_what_cannot_be_kept_is_refused(
    kept: tuple[httpx.Client, Path], change: dict[str, object], status: int, part: str
) -> None:
    answer = kept[0].post("/v1/feedback", json={**BODY, **change})
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert part in answer.json()["detail"]
    assert kept[0].get("/v1/feedback").json()["total"] == 0


def test_a_sender_sees_and_deletes_its_own(state: ServiceState) -> None:
    store = CorrectionStore(state)
    number, new = store.add("one", correction())
    assert new
    assert store.owned("other") == (0, [])
    assert not store.delete("other", number)
    assert store.add("other", correction())[1]
    assert [one.id for one in store.owned("one")[1]] == [number]
    assert store.delete("one", number)
    assert store.owned("other")[0] == 1
    store.close()


def test_a_sender_has_a_limit_of_new_ones(state: ServiceState) -> None:
    store = CorrectionStore(state, most=2)
    numbers = [store.add("one", correction(number))[0] for number in range(2)]
    with pytest.raises(CorrectionLimit, match="there are 2 corrections already"):
        store.add("one", correction(2))
    assert store.add("one", correction(1)) == (numbers[1], False)
    assert store.add("other", correction(2))[1]
    store.close()


def test_two_services_on_one_state_merge_what_is_the_same(state: ServiceState, tmp_path: Path) -> None:
    other = ServiceState(tmp_path / "state")
    stores = [CorrectionStore(one) for one in (state, other)]
    start, found = threading.Barrier(2), list[tuple[str, bool]]()

    def work(store: CorrectionStore) -> None:
        start.wait()
        found.extend(store.add("one", correction(number)) for number in range(10))

    threads = [threading.Thread(target=work, args=(store,)) for store in stores]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 20
    assert sum(new for _, new in found) == 10
    assert stores[0].owned("one")[0] == 10
    for store in stores:
        store.close()
    other.close()


@pytest.mark.slow
def test_what_was_accepted_is_there_after_a_kill(tmp_path: Path) -> None:
    code = (
        "import os, signal, sys\n"
        "from pathlib import Path\n"
        "from dragoman.serve.store.corrections import CorrectionStore, NewCorrection\n"
        "from dragoman.serve.store.database import ServiceState\n"
        "store = CorrectionStore(ServiceState(Path(sys.argv[1])))\n"
        "for n in range(3):\n"
        "    store.add('one', NewCorrection(f'Page {n} is lost.', '', f'{n}쪽이 없습니다.', 'en', 'ko', 'en-ko'))\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    ended = subprocess.run([sys.executable, "-c", code, str(tmp_path)], env=os.environ, check=False)
    assert ended.returncode == -signal.SIGKILL
    read = read_corrections(tmp_path / "corrections.db", open_bundle(HOME / "en-ko").config.project)
    assert [one.target for one in read.usable] == [f"{n}쪽이 없습니다." for n in range(3)]


@pytest.mark.parametrize("kind", ["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])
def test_those_of_a_server_are_copied_for_improve(kind: str, tmp_path: Path) -> None:
    with ExitStack() as stack:
        server = stack.enter_context(postgresql()) if kind == "postgresql" else None
        url = server or f"sqlite:///{tmp_path}/state/corrections.db"
        with pytest.raises(DataError, match=r"unable to open|it has no corrections"):
            copy_corrections(url, tmp_path / "none.db")
        state = ServiceState(tmp_path / "state", server)
        store = CorrectionStore(state)
        store.add("one", correction(1))
        store.add("two", correction(2))
        copy_corrections(url, tmp_path / "corrections.db")
        store.close()
        state.close()
    found = read_corrections(tmp_path / "corrections.db", open_bundle(HOME / "en-ko").config.project)
    assert [one.source for one in found.usable] == ["Where is pharmacy 1?", "Where is pharmacy 2?"]


def test_a_server_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"//u:\*\*\*@127.0.0.1:1/x: the database does not answer"):
        copy_corrections("postgresql://u:secret@127.0.0.1:1/x", tmp_path / "corrections.db")
