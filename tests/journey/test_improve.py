"""A day with corrections: serve, translate, correct ten, improve, and the running service serves the new version."""

import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from tests.cli.conftest import sentences, write_project

import dragoman
from dragoman.cli.main import main
from dragoman.serve.models.models import Models
from dragoman.serve.store.database import ServiceState
from dragoman.serve.work.service import Service
from live_server import live

pytestmark = pytest.mark.slow

FEW = [
    "train.max_steps=2",
    "train.learning_rate=1e-6",
    "train.card_lines=0",
    "train.device=cpu",
    "train.precision=float32",
]
# A busy machine needs long; what is waited for takes seconds.
DEADLINE = 300.0


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The text of a model that is installed as `toy`; its run is gone."""
    monkeypatch.setenv("DRAGOMAN_HOME", str(tmp_path / "home"))
    config = write_project(tmp_path / "project")
    assert main(["train", str(config)]) == 0
    trained = config.parent / "runs/toy/model"
    dragoman.export(trained)
    dragoman.install_model(trained, name="toy")
    return config.parent / "data"


@pytest.fixture
def client(data: Path, tmp_path: Path) -> Iterator[httpx.Client]:
    service = Service(Models(["toy"], threads=1, exact=True), state=ServiceState(tmp_path / "state"))
    with live(service) as url, httpx.Client(base_url=url, timeout=DEADLINE) as found:
        yield found


def translated(client: httpx.Client, text: str) -> str:
    answer = client.post("/v1/translate", json={"text": text, "source": "en", "target": "de"})
    assert answer.status_code == 200, answer.text
    found: str = answer.json()["translations"][0]["text"]
    return found


def test_ten_corrections_become_the_version_that_is_served(client: httpx.Client, data: Path, tmp_path: Path) -> None:
    before = {path.name: path.read_bytes() for path in (tmp_path / "home/models/toy").glob("*.*") if path.is_file()}
    for source, right in sentences(10, seed=5):
        body = {"text": source, "translation": translated(client, source), "correction": right}
        assert client.post("/v1/feedback", json={**body, "source": "en", "target": "de"}).status_code == 200
    assert client.get("/v1/feedback").json()["total"] == 10
    result = dragoman.improve(
        "toy",
        tmp_path / "state/corrections.db",
        replay=data / "train.en",
        test=(data / "test.en", data / "test.de"),
        overrides=FEW,
    )
    assert (result.corrections, result.left_out) == (10, ())
    assert result.model_path == tmp_path / "home/models/toy-2"
    assert "toy-2" in [one.name for one in dragoman.list_models()]
    for name, content in before.items():
        assert (tmp_path / "home/models/toy" / name).read_bytes() == content
    card = dragoman.install_model(result.model_path, name="toy", force=True)
    assert card.name == "toy"
    own = dragoman.Translator.load(result.model_path, threads=1)
    own.options = own.options.model_copy(update={"exact": True})
    texts = [source for source, _ in sentences(5, seed=6)]
    expected, end = [one.text for one in own.translate(texts)], time.monotonic() + DEADLINE
    while not replaced(client) and time.monotonic() < end:
        time.sleep(0.1)
    assert replaced(client), "the service has not replaced the model"
    assert [translated(client, text) for text in texts] == expected


def replaced(client: httpx.Client) -> bool:
    """Whether the service has counted a replacement of a model."""
    lines = client.get("/metrics").text.splitlines()
    return any("replaced" in line and not line.endswith(" 0.0") for line in lines if not line.startswith("#"))
