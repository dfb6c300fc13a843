"""Documents as clients of DeepL and LibreTranslate send and fetch them."""

import re
import time
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import quote

import deepl
import pytest

from documents.pdfs import pdf, prose
from dragoman.documents.formats import SUFFIXES
from dragoman.serve.http.upload import file_name
from dragoman.serve.models.models import Models
from dragoman.serve.store.database import ServiceState
from dragoman.serve.work.service import Service, ServiceLimits
from dragoman.workflows.documents.documents import translate_documents
from live_server import get, live, server_fixtures

TEXT = "Hello, my friend.\n\nHow are you?\n"


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("state")


@pytest.fixture(scope="module")
def service(state: Path) -> Service:
    return Service(Models(threads=1, exact=True), ServiceLimits(), state=ServiceState(state))


@pytest.fixture(scope="module")
def url(service: Service) -> Iterator[str]:
    with live(service) as found:
        yield found


client = server_fixtures()[2]


@pytest.fixture(scope="module")
def expected(offline, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    source = tmp_path_factory.mktemp("offline") / "a.txt"
    source.write_text(TEXT, encoding="utf-8")
    return translate_documents(offline["en-ko"], source).files[0].target.read_bytes()


def until(happens: Callable[[], object]) -> None:
    end = time.monotonic() + 120
    while not happens():
        assert time.monotonic() < end, "it has not happened"
        time.sleep(0.01)


@pytest.fixture
def official(url: str, monkeypatch) -> deepl.DeepLClient:
    """The client, which asks again at once and not after five seconds."""
    quick = SimpleNamespace(time=time.time, sleep=lambda seconds: time.sleep(0.02))
    monkeypatch.setattr("deepl.translator.time", quick)
    return deepl.DeepLClient("any key", server_url=url)


def test_the_official_client_of_deepl_translates_a_document(official, expected, state, tmp_path: Path):
    source, target = tmp_path / "a.txt", tmp_path / "b.txt"
    source.write_text(TEXT, encoding="utf-8")
    before = official.get_usage().character.count
    status = official.translate_document_from_filepath(source, target, target_lang="KO", source_lang="EN")
    assert target.read_bytes() == expected
    characters = sum(len(line) for line in TEXT.split("\n"))
    assert (status.done, status.billed_characters) == (True, characters)
    assert official.get_usage().character.count == before + characters
    until(lambda: not list((state / "documents").iterdir()))  # it was fetched


def test_the_official_client_of_deepl_reads_why_a_document_fails(official, tmp_path: Path):
    source = tmp_path / "a.txt"
    source.write_text("1 2 3\n", encoding="utf-8")
    with pytest.raises(deepl.DocumentTranslationException, match="there is nothing to translate in it"):
        official.translate_document_from_filepath(source, tmp_path / "b.txt", target_lang="KO")
    for options, part in (
        ({"target_lang": "DE"}, "'DE' is not served"),
        ({"target_lang": "KO", "formality": "more"}, "prefer_more"),
        ({"target_lang": "KO", "output_format": "pdf"}, "keeps its format"),
        ({"target_lang": "KO", "source_lang": "EN", "glossary": "g1"}, "there is no glossary 'g1'"),
    ):
        with pytest.raises(deepl.DeepLException, match=part):
            official.translate_document_upload(TEXT.encode(), filename="a.txt", **options)
    with pytest.raises(deepl.DeepLException, match=r"Bad request.*not a document that can be translated"):
        official.translate_document_upload(b"{\\rtf", filename="a.rtf", target_lang="KO")


def test_the_official_client_of_deepl_translates_a_document_with_a_glossary(official, client, offline):
    glossary = official.create_glossary("IT", "EN", "KO", {"server": "기계", "Stop*": "정지*"})
    text, given = "Restart the server.", {"source_lang": "EN", "target_lang": "KO"}
    found = BytesIO()
    official.translate_document(text.encode(), found, filename="a.txt", glossary=glossary, **given)
    expected = offline["en-ko"].translate(text, glossary={"server": "기계"}).text
    assert found.getvalue().decode() == expected != offline["en-ko"].translate(text).text
    # The terms are those of the upload, whatever becomes of the glossary; in the native dialect too.
    form = {"source": "en", "target": "ko", "glossary_id": glossary.glossary_id}
    answer = client.post("/v1/documents", files={"file": ("a.txt", text)}, data=form)
    official.delete_glossary(glossary)
    where = answer.headers["location"]
    until(lambda: client.get(where).json()["state"] == "done")
    assert client.get(f"{where}/result").text == expected
    form["glossary_id"] = official.create_glossary("IT", "KO", "EN", {"서버": "server"}).glossary_id
    for change, part in (({}, "no terms from en into ko; it has ko → en"), ({"source": "auto"}, "source: missing")):
        refused = client.post("/v1/documents", files={"file": ("a.txt", text)}, data=form | change)
        assert (refused.status_code, part in refused.json()["detail"]) == (400, True), refused.text


def test_the_name_of_a_file_may_be_a_field_of_its_own(client):
    form = {"target_lang": "KO", "filename": "a.txt"}
    assert client.post("/v2/document", data=form, files={"file": ("file", TEXT)}).status_code == 200
    assert client.post("/v2/document", data=form, files={"file": TEXT}).status_code == 200


def test_a_document_of_deepl_opens_with_its_key_and_once(official, client, expected):
    handle = official.translate_document_upload(TEXT, filename="a.txt", target_lang="KO", source_lang="EN")
    path = f"/v2/document/{handle.document_id}"
    for body in ({}, {"document_key": "0" * 64}, {"document_key": 1}):
        for where in (path, f"{path}/result"):
            answer = client.post(where, content=str(body).replace("'", '"').encode(errors="replace"))
            assert answer.status_code == 404, answer.text
            assert "Document not found" in answer.json()["message"]
    wrong = deepl.DocumentHandle(handle.document_id, "0" * 64)
    with pytest.raises(deepl.DeepLException, match="Document not found"):
        official.translate_document_get_status(wrong)
    official.translate_document_wait_until_done(handle)
    form = client.post(path, data={"document_key": handle.document_key}).json()
    assert form == {"document_id": handle.document_id, "status": "done", "billed_characters": 29}
    fetched = BytesIO()
    official.translate_document_download(handle, fetched)
    assert fetched.getvalue() == expected
    key = {"document_key": handle.document_key}
    until(lambda: client.post(path, json=key).status_code == 404)  # it is removed after its last byte was sent
    again = client.post(f"{path}/result", json=key)
    assert (again.status_code, list(again.json())) == (404, ["message"])


def test_the_address_of_a_translated_file_of_libretranslate_has_it(client, expected):
    form = {"source": "en", "target": "ko"}
    for source in ("en", "auto"):
        answer = client.post("/translate_file", files={"file": ("a.txt", TEXT)}, data={**form, "source": source})
        assert answer.status_code == 200, answer.text
        address = answer.json()["translatedFileUrl"]
        assert address.startswith(str(client.base_url).rstrip("/"))
        assert address.endswith("/a.ko.txt")
        assert get(address).content == expected
    name, _, rest = address.removeprefix(f"{client.base_url}/download_file/").partition("/")
    assert client.get(address.replace(rest.partition("/")[0], "0" * 64)).status_code == 404
    client.delete(f"/v1/documents/{name}")
    gone = client.get(address)
    assert (gone.status_code, list(gone.json())) == (404, ["error"])


@pytest.mark.parametrize("name", ["my report.txt", "보고서.txt", "#1 report.txt", "a&b=c+d.txt"])
def test_the_address_of_a_translated_file_is_valid_whatever_its_name_is(client, name):
    form = {"source": "en", "target": "ko"}
    answer = client.post("/translate_file", files={"file": (name, "Hello")}, data=form)
    address = answer.json()["translatedFileUrl"]
    assert re.fullmatch(r"http://[\w.:]+(/[\w.~%-]+)+", address, re.ASCII)
    fetched = get(address)
    assert fetched.status_code == 200
    kept = file_name(name).replace(".txt", ".ko.txt")
    disposition = fetched.headers["content-disposition"]
    assert disposition.endswith(f"; filename*=utf-8''{quote(kept, safe='')}")
    plain = re.fullmatch(r'attachment; filename="([ -~]*)"', disposition.partition("; filename*")[0])
    assert plain[1] == "".join(letter if letter.isascii() else "_" for letter in kept)


@pytest.mark.slow
def test_a_pdf_comes_back_as_a_word_document(client, tmp_path: Path):
    source = pdf(tmp_path / "a.pdf", [prose("Hello, my friend.")])
    form = {"source": "en", "target": "ko"}
    answer = client.post("/translate_file", files={"file": ("a.pdf", source.read_bytes())}, data=form)
    address = answer.json()["translatedFileUrl"]
    assert address.endswith("/a.ko.docx")
    assert get(address).content.startswith(b"PK")
    form = {"target_lang": "KO", "output_format": "docx"}
    content = source.read_bytes()
    assert client.post("/v2/document", data=form, files={"file": ("a.pdf", content)}).status_code == 200
    form["output_format"] = "pdf"
    assert client.post("/v2/document", data=form, files={"file": ("a.pdf", content)}).status_code == 400


def test_errors_of_files_are_as_clients_of_libretranslate_read_them(client, state):
    form = {"source": "en", "target": "ko"}
    for name, content, fields, status, part in (
        ("a.txt", "Hello", {"target": "ko"}, 400, "missing source parameter"),
        ("a.txt", "Hello", {"source": "en", "target": "de"}, 400, "'de' is not served"),
        ("a.rtf", "Hello", form, 400, "not a document that can be translated"),
        ("a.pdf", "Hello", form, 400, "is another type of file, not PDF"),
        ("a.txt", "1 2 3", form, 400, "there is nothing to translate"),
    ):
        answer = client.post("/translate_file", files={"file": (name, content)}, data=fields)
        assert (answer.status_code, list(answer.json())) == (status, ["error"])
        assert part in answer.json()["error"]
    settings = client.get("/frontend/settings").json()
    assert (settings["filesTranslation"], settings["supportedFilesFormat"]) == (True, list(SUFFIXES))
