"""`/v1/inspect`: what `look` shows, over HTTP, one sentence at a time; an export with the weights it computes with."""

import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

import dragoman
from dragoman.bundle import write_bundle
from dragoman.config import DecodeConfig, RunConfig
from dragoman.model.transformer import Transformer
from dragoman.serve.models.looking import WAITING, Looking
from dragoman.serve.models.models import Models
from dragoman.serve.requests.ticket import QueueFull
from dragoman.serve.work.service import Service
from dragoman.text.tokens.tokenizer import Tokenizer
from live_server import live

PAIR = {"source": "en", "target": "de"}


@pytest.fixture
def folder(
    toy_run: Callable[..., RunConfig], build: Callable[..., Transformer], toy_tokenizer: Tokenizer, tmp_path: Path
) -> Path:
    """A bundle of random weights."""
    config, model = toy_run(), build(len(toy_tokenizer.source), layers=1, heads=2)
    config = config.model_copy(update={"model": model.config, "decode": DecodeConfig(beam=2, max_length=6)})
    write_bundle(tmp_path / "model", config=config, tokenizer=toy_tokenizer, model=model, card="", facts={})
    return tmp_path / "model"


@pytest.fixture
def looking(folder: Path) -> Iterator[httpx.Client]:
    with live(Service(Models([folder], threads=1))) as url, httpx.Client(base_url=url, timeout=120) as client:
        yield client


@pytest.mark.slow
def test_it_is_what_look_shows(looking, folder):
    def ask(text: str) -> dict:
        answer = looking.post("/v1/inspect", json={"text": text, **PAIR})
        assert answer.status_code == 200, answer.text
        return answer.json()

    texts = ["red dog", "big bird", "red dog"]
    with ThreadPoolExecutor(3) as pool:
        found = list(pool.map(ask, texts))
    for text, one in zip(texts, found, strict=True):
        own = dragoman.inspect(folder, text)
        assert one["translation"] == own.text
        assert one["log_prob"] == pytest.approx(float(own.log_probs.sum()), abs=1e-4)
        assert {name: tuple(pieces) for name, pieces in one["pieces"].items()} == own.pieces
        assert len(one["steps"]) == len(own.pieces["output"])
        (layer,) = one["cross_attention"]
        weights = own["decoder.0.cross_attention.weights"].values.mean(axis=0)
        for row, expected in zip(layer, weights, strict=True):
            assert row == pytest.approx([float(weight) for weight in expected], abs=1e-3)
            assert sum(row) == pytest.approx(1, abs=1e-2)
    given = looking.post("/v1/inspect", json={"text": "red dog", "translation": "hund", **PAIR}).json()
    assert (given["translation"], given["hypotheses"]) == ("hund", [])


def test_the_page_is_one_file_that_may_load_nothing(looking):
    answer = looking.get("/v1/inspect/page", params={"text": "red <dog>", "translation": "hund", **PAIR})
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"].startswith("text/html")
    assert "<title>red &lt;dog&gt; · toy</title>" in answer.text
    policy = answer.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'unsafe-inline'")
    assert policy.endswith("sandbox allow-scripts")


def test_the_page_runs_the_model_and_has_no_film(looking, monkeypatch):
    monkeypatch.setattr("dragoman.inspection.inspect.run_of", lambda folder, tokenizer: folder)
    monkeypatch.setattr("dragoman.inspection.inspect.film", None)  # it would be computed for each request
    first, second = (looking.get("/v1/inspect/page", params={"text": text, **PAIR}) for text in ("red dog", "big cat"))
    for answer in (first, second):
        assert answer.status_code == 200, answer.text
        assert int(answer.headers["content-length"]) == len(answer.content)
        assert "'wasm-unsafe-eval'" in answer.headers["content-security-policy"]
        assert "worker-src blob:" in answer.headers["content-security-policy"]
        assert answer.text.endswith("</script>\n</body>\n</html>\n")
    assert first.text.split('id="weights">')[-1] == second.text.split('id="weights">')[-1]
    assert looking.post("/v1/inspect", json={"text": "red dog", **PAIR}).json()["why_recorded"] is None


def test_a_model_that_no_page_can_run_has_recorded_views_and_says_so(looking, monkeypatch):
    monkeypatch.setattr("dragoman.workflows.models.look.LARGEST", 1000)
    page = looking.get("/v1/inspect/page", params={"text": "red dog", **PAIR}).text
    assert 'id="weights"' not in page
    why = looking.post("/v1/inspect", json={"text": "red dog", **PAIR}).json()["why_recorded"]
    assert re.match(r"toy: its weights are \d+ MB, and a page holds 0 MB", why)
    assert why in page


@pytest.mark.parametrize(
    ("body", "status", "part"),
    [
        ({"text": " "}, 400, "give one line"),
        ({"text": "red\ndog"}, 400, "give one line"),
        ({"text": "red " * 101}, 400, "tokens; look inside at most 100"),
        ({"text": "red", "translation": "rot " * 101}, 400, "tokens; look inside at most 100"),
        ({"text": "red", "model": "x"}, 404, "no model 'x'"),
        ({"text": "red", "target": "fr"}, 400, "'fr' is not served"),
    ],
)
def test_bad_input_is_a_problem(looking, body, status, part):
    answers = [
        looking.post("/v1/inspect", json={**PAIR, **body}),
        looking.get("/v1/inspect/page", params={**PAIR, **body}),
    ]
    for answer in answers:
        assert answer.status_code == status, answer.text
        assert answer.headers["content-type"] == "application/problem+json"
        assert part in answer.json()["detail"]


def test_an_export_is_looked_into_with_the_weights_it_computes_with(client, offline):
    answer = client.post("/v1/inspect", json={"text": "Good morning.", "source": "en", "target": "ko"})
    assert answer.status_code == 200, answer.text
    assert answer.json()["translation"] == offline["en-ko"].translate("Good morning.").text


def test_without_torch_it_is_501(client, monkeypatch):
    monkeypatch.setattr("dragoman.serve.models.looking.find_spec", lambda name: None)
    answer = client.post("/v1/inspect", json={"text": "Good morning.", "source": "en", "target": "ko"})
    assert answer.status_code == 501
    assert "needs PyTorch" in answer.json()["detail"]


def test_only_a_few_wait_for_their_turn(service):
    looking = Looking()
    for _ in range(WAITING):
        looking._places.acquire()
    model, pair = service.models.choose("en", "ko")
    with pytest.raises(QueueFull, match="others look inside"):
        looking.page(model, pair, "Good morning.", None)
