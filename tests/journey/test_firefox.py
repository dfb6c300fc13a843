"""The pages that run a model, opened from disk in a headless Firefox that reaches no network."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch

import dragoman
from dragoman import Translator
from dragoman.bundle import open_bundle, write_bundle
from dragoman.config import DecodeConfig, ModelConfig, RunConfig
from dragoman.model.transformer import Transformer
from dragoman.text.tokens.tokenizer import Tokenizer
from dragoman.workflows.models.look import inspect, live_model
from firefox import Tab, firefox
from stand_ins import queries

pytestmark = pytest.mark.slow

VIEWS = ("walk", "heads", "positions", "masks", "beam", "attribution", "stream", "checkpoints")
OPTIONS = DecodeConfig(beam=2, max_length=6)
TYPED = "two big cat"
LOOKED = "return Number(document.documentElement.dataset.looked) === arguments[0]"


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    with firefox(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


@pytest.fixture
def model(toy_run: Callable[..., RunConfig], toy_tokenizer: Tokenizer, tmp_path: Path) -> Path:
    """A bundle of random weights that float16 holds exactly."""
    torch.manual_seed(5)
    shape = {"layers": 2, "d_model": 32, "d_ff": 48, "heads": 4}
    config = toy_run().model_copy(update={"model": ModelConfig.model_validate(shape), "decode": OPTIONS})
    network = Transformer(config.model, len(toy_tokenizer.source), len(toy_tokenizer.target))  # type: ignore[arg-type]
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.mul_(2.0 if parameter.dim() > 1 else 1.0).copy_(parameter.half())
    folder = tmp_path / "model"
    write_bundle(folder, config=config, tokenizer=toy_tokenizer, model=network, card="", facts={})
    return folder


@pytest.mark.parametrize(("width", "height"), [(1440, 900), (500, 900)])
def test_the_look_page_follows_what_is_typed_and_switched(
    tab: Tab, model: Path, tmp_path: Path, width: int, height: int
) -> None:
    bundle = open_bundle(model)
    inspection = inspect(bundle, "red dog sees")
    inspection.to_html(tmp_path / "page.html", live=live_model(bundle, inspection))
    tab.open(f"file://{tmp_path}/page.html#en/heads/dark", width, height)
    assert tab.wait("return document.documentElement.dataset.engine") == "wasm"
    tab.fill("#live-text", TYPED)
    tab.wait(LOOKED, 1)
    assert tab.evaluate("return dragoman.data.translation") == inspect(bundle, TYPED).text
    tab.evaluate('document.querySelector("#live summary").click()')
    tab.evaluate('document.querySelector("#switch-positions").click()')
    tab.wait(LOOKED, 2)
    assert "log P" in tab.evaluate('return document.querySelector(".effect").textContent')
    for view in VIEWS:
        tab.evaluate('document.getElementById("to-" + arguments[0]).click()', view)
        tab.wait('return document.querySelector("section.current h2")?.id === "heading-" + arguments[0]', view)
        assert tab.evaluate("return document.documentElement.scrollWidth <= innerWidth"), view
        assert not tab.evaluate("return /NaN|Infinity/.test(document.querySelector('main').innerText)"), view
        if folder := os.environ.get("DRAGOMAN_ARTEFACTS"):
            tab.screenshot(Path(folder) / f"firefox-{width}-{view}.png")
    # A link shows the same.
    sent = tab.evaluate("return location.hash")
    shown = tab.evaluate("return dragoman.data.translation")
    tab.open(f"file://{tmp_path}/page.html{sent}")
    tab.wait(LOOKED, 1)
    assert tab.evaluate("return dragoman.data.translation") == shown
    assert not tab.evaluate('return document.querySelector("#switch-positions").checked')


def test_the_translator_says_what_translate_says(tab: Tab, model: Path, tmp_path: Path) -> None:
    file = dragoman.export(model, to="html", output=tmp_path / "page.html").path
    tab.open(f"file://{file}", 500, 900)
    tab.wait("return document.documentElement.dataset.ready")
    tab.fill("#source", "red dog sees two cat")
    shown = tab.wait('return document.querySelector("#target").textContent')
    tokenizer, engine = open_bundle(model).tokenizer, Translator.load(model, engine="torch").engine
    [[best, *_]] = engine.translate(queries(tokenizer.encode(["red dog sees two cat"], "source")), OPTIONS)
    assert shown == " ".join(tokenizer.decode([best.tokens], "target")[0].split())
    tab.evaluate('document.querySelector(".word").click()')
    tab.wait('return document.querySelector("#menu button, #menu p")')
    tab.evaluate('document.querySelector("#language").click()')
    assert tab.evaluate("return document.documentElement.scrollWidth <= innerWidth")
    assert tab.evaluate("return document.documentElement.lang") == "ko"
    if folder := os.environ.get("DRAGOMAN_ARTEFACTS"):
        tab.screenshot(Path(folder) / "firefox-translator.png")
