"""The translator in one HTML file, offered by the service: with the models that are named, behind keys, made once."""

from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from dragoman.bundle import write_bundle
from dragoman.config import RunConfig
from dragoman.exporting.page import LARGEST
from dragoman.model.transformer import Transformer
from dragoman.serve.models.models import Models
from dragoman.serve.work.service import Service
from dragoman.text.tokens.tokenizer import Tokenizer
from live_server import live


@pytest.fixture
def folders(
    toy_run: Callable[..., RunConfig], build: Callable[..., Transformer], toy_tokenizer: Tokenizer, tmp_path: Path
) -> list[Path]:
    """Random models from English into German, back, and into German again."""
    folders = []
    for name, source, target in (("there", "en", "de"), ("again", "en", "de"), ("back", "de", "en")):
        config, model = toy_run(), build(len(toy_tokenizer.source), layers=1, heads=2)
        project = config.project.model_copy(update={"source": source, "target": target, "name": name})
        config = config.model_copy(update={"model": model.config, "project": project})
        folders.append(tmp_path / name)
        write_bundle(folders[-1], config=config, tokenizer=toy_tokenizer, model=model, card="", facts={})
    return folders


@pytest.fixture
def service(folders: list[Path]) -> Service:
    return Service(Models(folders, threads=1))


@pytest.fixture
def client(service: Service) -> Iterator[httpx.Client]:
    with live(service) as url, httpx.Client(base_url=url, timeout=120) as connected:
        yield connected


def test_the_file_has_the_models_that_are_named(client: httpx.Client, service: Service) -> None:
    one = client.get("/v1/translator?model=again")
    assert one.status_code == 200
    assert one.headers["content-disposition"] == 'attachment; filename="translator-again.html"'
    assert one.headers["content-type"].startswith("text/html")
    assert "<title>en → de</title>" in one.text
    assert "worker-src blob:;" in one.text
    both = client.get("/v1/translator")  # the first, and one of the other direction
    assert both.headers["content-disposition"].endswith('"translator-there-back.html"')
    assert "<title>en → de · de → en</title>" in both.text
    files = service.html_files.file([service.models.named("again")])
    assert service.html_files.file([service.models.named("again")]) is files
    twice = client.get("/v1/translator?model=there&model=again")
    assert twice.status_code == 501
    assert twice.json()["detail"] == "en-de: two of the models translate in this direction; leave one out"
    assert client.get("/v1/translator?model=nothing").status_code == 404


def test_one_that_no_page_can_run_is_refused_in_a_line(
    client: httpx.Client, service: Service, folders: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dragoman.exporting.page.LARGEST", 1000)
    for loads in ("_of_weights", "_of_export"):  # it is refused before
        monkeypatch.setattr(f"dragoman.workflows.models.html.{loads}", None)
    answer = client.get("/v1/translator?model=there")
    assert (answer.status_code, LARGEST > 1000) == (501, True)
    assert "MB, and a page holds 0 MB; distil it into a smaller model" in answer.json()["detail"]
    assert str(folders[0].parent) not in answer.text
    monkeypatch.setattr("dragoman.workflows.models.html.export_page", None)  # it is not tried again
    assert client.get("/v1/translator?model=there").json()["detail"] == answer.json()["detail"]
    assert service.html_files._folder
    assert not any(Path(service.html_files._folder.name).iterdir()), "it leaves a folder"
    assert client.get("/v1/translator?model=there", headers={"Sec-Fetch-Site": "cross-site"}).status_code == 403


def test_it_is_behind_keys(client: httpx.Client, service: Service) -> None:
    _, key = service.keys.create("school", models=["back"])
    text = {"Authorization": f"Bearer {key}"}
    assert client.get("/v1/translator").status_code == 401
    assert client.get("/translator/").status_code == 403
    assert client.get("/translator/worker.js").status_code == 403
    assert client.get("/v1/translator?model=there", headers=text).status_code == 403
    only = client.get("/v1/translator", headers=text)
    assert only.headers["content-disposition"].endswith('"translator-back.html"')


def test_the_page_that_a_browser_installs(client: httpx.Client) -> None:
    page = client.get("/translator/")
    assert page.status_code == 200
    assert "worker-src blob: 'self';" in page.text
    assert 'data-worker="worker.js"' in page.text
    assert page.headers["content-security-policy"].endswith("frame-ancestors 'none'")
    worker = client.get("/translator/worker.js")
    assert worker.headers["content-type"].startswith("text/javascript")
    assert worker.headers["content-security-policy"] == "default-src 'none'; connect-src 'self'"
    assert client.get("/translator/index.html").status_code == 404
