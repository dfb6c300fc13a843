"""`/v1/documents`: the translation is that offline, a document is its sender's, and nothing stays behind."""

import csv
import json
import shutil
import socket
import subprocess
import time
import zipfile
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path

import httpx
import pytest

from dragoman.serve.documents.document import DocumentRequest, Facts, StoredDocument
from dragoman.serve.documents.documents import Documents
from dragoman.serve.documents.store import DocumentLimits
from dragoman.serve.http.call import ServiceCall
from dragoman.serve.models.models import Models
from dragoman.serve.native.documents import answer_of
from dragoman.serve.store.database import ServiceState
from dragoman.serve.work.service import Service, ServiceLimits
from dragoman.workflows.documents.documents import translate_documents
from dragoman.workflows.documents.review import COLUMNS
from live_server import live, server_fixtures

PAGE = "# Hello\n\nPress `Ctrl-C` to **stop** the server.\n\n- one dog\n- two cats\n"
PO = 'msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"\n\nmsgid "Open the door, please"\nmsgstr ""\n'


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("state")


@pytest.fixture(scope="module")
def service(state: Path) -> Service:
    limits = ServiceLimits(characters=20_000, texts=100, body_bytes=1 << 18)
    return Service(Models(threads=1, exact=True), limits, state=ServiceState(state))


@pytest.fixture(scope="module")
def documents(service: Service) -> Documents:
    limits = DocumentLimits(bytes=1 << 20, documents=12, stored_bytes=3 << 20)
    return Documents(service, limits)


@pytest.fixture(scope="module")
def url(service: Service, documents: Documents) -> Iterator[str]:
    with live(service, documents) as found:
        yield found


client = server_fixtures()[2]


@pytest.fixture(autouse=True)
def nothing_stays(request: pytest.FixtureRequest) -> Iterator[None]:
    """After each test its documents are deleted, and then the folder is empty."""
    yield
    if "client" in request.fixturenames:
        client, state = request.getfixturevalue("client"), request.getfixturevalue("state")
        for one in client.get("/v1/documents").json()["documents"]:
            assert client.delete(f"/v1/documents/{one['id']}").status_code == 204
        until(lambda: not list((state / "documents").iterdir()))


def until(happens: Callable[[], object]) -> None:
    end = time.monotonic() + 120
    while not happens():
        assert time.monotonic() < end, "it has not happened"
        time.sleep(0.01)


def upload(client: httpx.Client, name: str | bytes, content: str | bytes, **fields: str) -> httpx.Response:
    content = content.encode() if isinstance(content, str) else content
    return client.post("/v1/documents", files={"file": (name, content)}, data=fields)


def finished(client: httpx.Client, answer: httpx.Response) -> dict:
    assert answer.status_code == 202, answer.text
    where = answer.headers["location"]
    until(lambda: client.get(where).json()["state"] in ("done", "failed"))
    return client.get(where).json()


def problem(answer: httpx.Response, status: int) -> str:
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    return answer.json()["detail"]


def test_the_translation_is_that_of_the_same_document_offline(client, offline, tmp_path: Path):
    (tmp_path / "a.md").write_text(PAGE, encoding="utf-8")
    expected = translate_documents(offline["en-ko"], tmp_path / "a.md")
    found = finished(client, upload(client, "a.md", PAGE, target="ko"))
    assert (found["state"], found["source"], found["target"], found["model"]) == ("done", "en", "ko", "en-ko")
    assert found["units"] == expected.units
    assert found["progress"] == {"done": found["units"], "total": found["units"]}
    assert found["expires"] > found["created"]
    answer = client.get(f"/v1/documents/{found['id']}/result")
    assert answer.content == expected.files[0].target.read_bytes()
    assert answer.headers["content-disposition"] == "attachment; filename=\"a.ko.md\"; filename*=utf-8''a.ko.md"
    assert client.get(f"/v1/documents/{found['id']}/result").content == answer.content  # until it is deleted


@pytest.mark.skipif(not shutil.which("curl"), reason="no curl on this machine")
@pytest.mark.parametrize(
    ("name", "saved"), [("a.md", "a.ko.md"), ("보고서 1.md", "___ 1.ko.md"), ("100%.md", "100_.ko.md")]
)
def test_curl_saves_a_result_under_its_name(client, url, tmp_path: Path, name: str, saved: str):
    document = finished(client, upload(client, name, "Hello\n", target="ko"))
    command = ["curl", "-sSOJ", f"{url}/v1/documents/{document['id']}/result"]
    subprocess.run(command, cwd=tmp_path, check=True, timeout=60)
    assert [path.name for path in tmp_path.iterdir()] == [saved]


def test_a_document_that_was_done_before_a_restart_has_its_progress(tmp_path: Path):
    facts = Facts(id="a", key_hash="", sender="", name="a.md", request=DocumentRequest(), created=1.0)
    for state, progress in (("done", (3, 3)), ("queued", (0, 0)), ("failed", (0, 0))):
        document = StoredDocument(tmp_path, facts.model_copy(update={"state": state, "units": 3}))
        shown = answer_of(document).progress
        assert (shown.done, shown.total) == progress


@pytest.mark.slow
def test_the_fields_of_the_form_are_followed(client, offline, tmp_path: Path):
    fields = {"source": "en", "target": "ko", "model": "en-ko", "mark": "true", "max_chars": "3"}
    glossary = {"door": "출입문"}
    found = finished(client, upload(client, "a.po", PO, glossary=json.dumps(glossary), **fields))
    (tmp_path / "a.po").write_text(PO, encoding="utf-8")
    expected = translate_documents(offline["en-ko"], tmp_path / "a.po", glossary=glossary, mark=True, max_chars=3)
    text = client.get(f"/v1/documents/{found['id']}/result").text
    assert text == expected.files[0].target.read_text(encoding="utf-8")
    assert "fuzzy" in text
    table = "name,note\nA big dog,A small cat\n"
    second = finished(client, upload(client, "t.csv", table, target="ko", columns="note"))
    assert client.get(f"/v1/documents/{second['id']}/result").text.startswith("name,note\nA big dog,")


def test_what_to_review_is_the_same_as_json_as_a_table_and_as_a_page(client):
    found = finished(client, upload(client, "a.po", PO, target="ko", max_chars="3"))
    assert found["flagged"] == 1
    where = f"/v1/documents/{found['id']}/review"
    (row,) = client.get(where).json()["rows"]
    assert (row["file"], row["source"]) == ("a.po", "Open the door, please")
    (line,) = csv.DictReader(client.get(where, params={"format": "tsv"}).text.splitlines(), delimiter="\t")
    assert line == row
    page = client.get(where, params={"format": "html"})
    assert row["translation"] in page.text
    assert "script-src 'sha256-" in page.headers["content-security-policy"]
    assert client.get(where, params={"format": "pdf"}).status_code == 400


def test_where_nothing_is_to_review_there_are_no_rows(client):
    found = finished(client, upload(client, "a.txt", "Hello\n", target="ko"))
    where = f"/v1/documents/{found['id']}/review"
    assert client.get(where).json() == {"rows": []}
    assert client.get(where, params={"format": "tsv"}).text.split() == list(COLUMNS)
    assert "<table" in client.get(where, params={"format": "html"}).text


def test_what_is_deleted_is_gone(client, state):
    found = finished(client, upload(client, "a.txt", "Hello\n", target="ko"))
    assert [one["id"] for one in client.get("/v1/documents").json()["documents"]] == [found["id"]]
    where = f"/v1/documents/{found['id']}"
    assert (state / "documents").stat().st_mode & 0o777 == 0o700
    assert client.delete(where).status_code == 204
    for answer in (
        client.get(where),
        client.delete(where),
        client.get(f"{where}/result"),
        client.get(f"{where}/review"),
    ):
        assert "deleted" in problem(answer, 404)
    problem(client.get("/v1/documents/..%2f..%2fetc"), 404)


def test_a_document_is_its_senders_alone(client, monkeypatch):
    found = finished(client, upload(client, "a.txt", "Hello\n", target="ko"))
    with monkeypatch.context() as patch:
        patch.setattr(ServiceCall, "sender", "another")
        for path in ("", "/result", "/review"):
            problem(client.get(f"/v1/documents/{found['id']}{path}"), 404)
        problem(client.delete(f"/v1/documents/{found['id']}"), 404)
        assert client.get("/v1/documents").json() == {"documents": []}
    assert client.get(f"/v1/documents/{found['id']}").status_code == 200


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("../../../etc/passwd.txt", "passwd.txt"),
        ("C:\\Users\\me\\보고서 1.txt", "보고서 1.txt"),
        ("..", "document"),
        ("a\x00b\n<script>.txt", "a_b__script_.txt"),
        ("x" * 500 + ".txt", "x" * 116 + ".txt"),
    ],
)
def test_a_path_in_a_file_name_is_harmless(client, state, name, kept):
    boundary = "b0undary"
    head = f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="'.encode()
    shown = name.replace("\n", "\r ").encode() if "\n" in name else name.encode()
    body = head + shown + f'"\r\n\r\nHello\n\r\n--{boundary}\r\n'.encode()
    body += f'Content-Disposition: form-data; name="target"\r\n\r\nko\r\n--{boundary}--\r\n'.encode()
    typed = {"content-type": f"multipart/form-data; boundary={boundary}"}
    answer = client.post("/v1/documents", content=body, headers=typed)
    if "." not in kept:
        problem(answer, 415)
        return
    if answer.status_code == 400:
        assert "\n" in name  # a header ends there
        return
    found = finished(client, answer)
    assert (found["name"], found["state"]) == (kept, "done")
    (folder,) = (one for one in (state / "documents").iterdir())
    assert (folder / "files" / kept).read_text() == "Hello\n"


def test_a_file_name_as_net_sends_it(client):
    written = "filename=\"=?utf-8?B?67O0LnR4dA==?=\"; filename*=utf-8''%EB%B3%B4.txt"
    body = f"--b\r\nContent-Disposition: form-data; name=file; {written}\r\n\r\nHello\r\n--b--\r\n"
    typed = {"content-type": "multipart/form-data; boundary=b"}
    assert finished(client, client.post("/v1/documents", content=body, headers=typed))["name"] == "보.txt"


def test_a_file_name_that_is_not_utf8_loses_those_bytes(client):
    body = b'--b\r\nContent-Disposition: form-data; name="file"; filename="\xb0\xa1a.txt"\r\n\r\nHello\r\n--b--\r\n'
    typed = {"content-type": "multipart/form-data; boundary=b"}
    found = finished(client, client.post("/v1/documents", content=body, headers=typed))
    assert found["name"] == "__a.txt"


@pytest.mark.parametrize(
    ("fields", "part"),
    [
        ({"target": "de"}, "'de' is not served; there are: ko, en"),
        ({"source": "ko", "target": "ko"}, "there are: en-ko, ko-en"),
        ({"tagret": "ko"}, "tagret: unknown field; known are file, source, target"),
        ({"target": "ko", "max_chars": "0"}, "max_chars: "),
        ({"target": "ko", "max_chars": "-1"}, "max_chars: "),
        ({"target": "ko", "mark": "perhaps"}, "mark: give true or false"),
        ({"target": "ko", "glossary": "{"}, "glossary: "),
        ({"target": "ko", "glossary": "[1]"}, "glossary: "),
    ],
)
def test_a_wrong_field_is_named(client, fields, part):
    assert part in problem(upload(client, "a.txt", "Hello\n", **fields), 400)


def test_an_unknown_model_is_404(client):
    assert "there are: en-ko, ko-en" in problem(upload(client, "a.txt", "Hello\n", target="ko", model="x"), 404)


def test_an_unknown_format_is_refused_with_those_that_there_are(client):
    detail = problem(upload(client, "a.rtf", b"{\\rtf1 " * 100_000, target="ko"), 415)
    assert all(suffix in detail for suffix in (".docx", ".txt", ".srt"))
    assert "a PDF, not plain text" in problem(upload(client, "a.txt", b"%PDF-1.7", target="ko"), 400)


@pytest.mark.parametrize(
    ("name", "content", "part"),
    [
        ("a.txt", b"1234 \n ...\n", "there is nothing to translate in it"),
        ("a.txt", "한국어로 쓴 글입니다.".encode(), "is in ko already"),
        ("a.txt", b"\xb0\xa1\n", "UTF-8"),
        ("a.json", b"[" * 100_000, "nested more than 200 deep"),
        ("a.xlf", b'<?xml version="1.0"?><!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>', "a.xlf"),
        ("a.po", b'msgid "a\n', "a.po"),
    ],
)
def test_a_hostile_document_fails_with_its_message_and_nothing_else_does(client, state, name, content, part):
    found = finished(client, upload(client, name, content, target="ko"))
    assert found["state"] == "failed"
    assert part in found["error"]
    assert str(state) not in found["error"]
    assert found["error"] in problem(client.get(f"/v1/documents/{found['id']}/result"), 409)
    assert client.get("/healthz").status_code == 200


def test_a_zip_bomb_fails_with_its_message(client):
    pytest.importorskip("lxml")
    bomb = BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("word/document.xml", b" " * (12 << 20))
    found = finished(client, upload(client, "a.docx", bomb.getvalue(), target="ko"))
    assert found["state"] == "failed"
    assert "more than 100 times its size" in found["error"]


def test_malformed_multipart_is_400_and_leaves_nothing(client, state):
    typed = {"content-type": "multipart/form-data; boundary=b"}
    head = b'--b\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\n'
    long = b'--b\r\nContent-Disposition: form-data; name="glossary"\r\n\r\n' + b"a" * ((1 << 20) + 1)
    for content, part in (
        (b"nonsense", "the form cannot be read"),
        (head + b"Hello", "ends before its last boundary"),
        (b"--b\r\nContent-Disposition: form-data\r\n\r\na\r\n--b--", "has no name"),
        (b'--b\r\nContent-Disposition: form-data; name="target"\r\n\r\nko\r\n--b--', "file: missing"),
        (b'--b\r\nContent-Disposition: form-data; name="target"\r\n\r\n\xff\r\n--b--', "target: not UTF-8"),
        (head + b"a\r\n" + head + b"b\r\n--b--", "one document at a time"),
        (head.replace(b'"file"', b'"x"') + b"a\r\n--b--", "in the field `file`"),
        (long + b"\r\n--b--", "the fields of the form have more than"),
    ):
        assert part in problem(client.post("/v1/documents", content=content, headers=typed), 400)
    bare = client.post("/v1/documents", content=head, headers={"content-type": "multipart/form-data"})
    assert bare.status_code == 400
    assert "curl -F" in problem(client.post("/v1/documents", content=b"a"), 415)
    assert not list((state / "documents").iterdir())


def test_a_document_that_is_too_large_is_413_whether_its_length_is_declared_or_not(client, state):
    text = b"a dog\n" * 200_000
    assert "1,048,576" in problem(upload(client, "a.txt", text, target="ko"), 413)

    def chunks(times: int) -> Iterator[bytes]:
        yield b'--b\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\n'
        for _ in range(times):
            yield text
        yield b"\r\n--b--\r\n"

    typed = {"content-type": "multipart/form-data; boundary=b"}
    for times in (1, 3):
        assert client.post("/v1/documents", content=chunks(times), headers=typed).status_code == 413
    assert not list((state / "documents").iterdir())


def test_a_full_disk_is_507_and_leaves_nothing(client, state, monkeypatch):
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("dragoman.serve.http.upload.os.fsync", full)
        detail = problem(upload(client, "a.txt", "Hello\n", target="ko"), 507)
    assert "no space left on device" in detail
    assert str(state) not in detail
    assert not list((state / "documents").iterdir())
    assert finished(client, upload(client, "a.txt", "Hello\n", target="ko"))["state"] == "done"


def test_a_client_that_leaves_while_it_uploads_leaves_nothing(url, state, client):
    host, port = url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port))) as leaving:
        head = b'--b\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\nHello'
        leaving.sendall(
            b"POST /v1/documents HTTP/1.1\r\nHost: localhost\r\nContent-Type: multipart/form-data; boundary=b\r\n"
            b"Content-Length: 100000\r\n\r\n" + head
        )
        until(lambda: list((state / "documents").glob("*/files/a.txt")))
    until(lambda: not list((state / "documents").iterdir()))


@pytest.mark.slow
def test_a_sender_has_a_limit_of_documents_and_bytes_at_a_time(client):
    line = "A dog.\n" * 60_000
    for _ in range(6):
        finished_or_not = upload(client, "a.json", json.dumps({"a": "1 2 3", "b": "4" * len(line)}), target="ko")
        assert finished_or_not.status_code == 202
    refused = upload(client, "a.json", json.dumps({"b": "4" * (2 * len(line))}), target="ko")
    assert "fetch and delete some" in problem(refused, 429)
    assert int(refused.headers["retry-after"]) >= 1
    for one in client.get("/v1/documents").json()["documents"]:
        client.delete(f"/v1/documents/{one['id']}")
    for _ in range(12):
        assert upload(client, "a.txt", "1\n", target="ko").status_code == 202
    assert "12 of your documents" in problem(upload(client, "a.txt", "1\n", target="ko"), 429)
