"""The page of `dragoman look` that runs its model, opened from disk in a real browser without a network."""

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from dragoman.bundle import open_bundle, write_bundle
from dragoman.config import DecodeConfig, ModelConfig, RunConfig
from dragoman.model.transformer import Transformer
from dragoman.text.tokens.tokenizer import Tokenizer
from dragoman.workflows.models.look import inspect, live_model
from headless import chromium, faults

playwright = pytest.importorskip("playwright.sync_api", reason="the browser's driver is of the `dev` extra")
pytestmark = pytest.mark.slow

VIEWS = ("walk", "heads", "positions", "masks", "beam", "attribution", "stream", "checkpoints")
OPTIONS = DecodeConfig(beam=2, max_length=6)
# What the walk says of a layer that is off, in the language of the page.
SKIPPED = """JSON.parse(document.getElementById("texts").textContent)[document.documentElement.lang]["walk.skipped"]"""
RECORDED, TYPED = "red dog sees", "two big cat"


@pytest.fixture
def page(toy_run: Callable[..., RunConfig], toy_tokenizer: Tokenizer, tmp_path: Path) -> Path:
    """A page of random weights, larger than at birth."""
    tokenizer, folder = toy_tokenizer, tmp_path / "live"
    folder.mkdir()
    torch.manual_seed(5)
    shape = {"layers": 2, "d_model": 32, "d_ff": 48, "heads": 4, "norm_order": "post"}
    config = toy_run().model_copy(update={"model": ModelConfig.model_validate(shape), "decode": OPTIONS})
    model = Transformer(config.model, len(tokenizer.source), len(tokenizer.target))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(1.5) if parameter.dim() > 1 else parameter.add_(0.1 * torch.randn_like(parameter))
    write_bundle(folder / "model", config=config, tokenizer=tokenizer, model=model, card="", facts={})
    bundle = open_bundle(folder / "model")
    inspection = inspect(bundle, RECORDED, options=OPTIONS)
    inspection.to_html(folder / "page.html", live=live_model(bundle, inspection))
    return folder / "page.html"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as started:
        yield started


@pytest.fixture
def opened(browser: Any) -> Iterator[Callable[..., Any]]:
    """Opens a page without a network; it may complain of nothing and ask for nothing."""
    contexts, complaints = [], []

    def open_(
        path: Path, address: str, script: str = "", ready: bool = True, size: tuple[int, int] = (1440, 900)
    ) -> Any:
        context = browser.new_context(
            offline=True, viewport={"width": size[0], "height": size[1]}, reduced_motion="reduce"
        )
        contexts.append(context)
        tab = context.new_page()
        tab.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
        tab.on("pageerror", lambda error: complaints.append(str(error)))
        tab.on(
            "request", lambda asked: None if asked.url.startswith(("file:", "blob:")) else complaints.append(asked.url)
        )
        if script:
            tab.add_init_script(script)
        tab.goto(f"file://{path}#{address}")
        tab.wait_for_selector("html[data-ready]", state="attached")
        if ready:
            tab.wait_for_selector("html[data-engine]", state="attached")
        return tab

    yield open_
    assert complaints == []
    for context in contexts:
        context.close()


def looked(tab: Any, act: Callable[[], Any]) -> None:
    """What is done, and the page after it has computed."""
    before = int(tab.locator("html").get_attribute("data-looked") or 0)
    act()
    tab.wait_for_selector(f'html[data-looked="{before + 1}"]', state="attached")


@pytest.mark.parametrize(("language", "theme", "size"), [("en", "dark", (1440, 900)), ("ko", "light", (390, 844))])
def test_every_view_follows_what_is_typed_and_switched(
    page: Path, opened: Callable[..., Any], tmp_path: Path, language: str, theme: str, size: tuple[int, int]
) -> None:
    artefacts = Path(os.environ.get("DRAGOMAN_ARTEFACTS", tmp_path))
    tab = opened(page, f"{language}/heads/{theme}", size=size)
    looked(tab, lambda: tab.fill("#live-text", TYPED))
    assert TYPED in tab.locator(".sentence").inner_text()
    pieces = tab.evaluate("window.dragoman.data.pieces")
    assert "".join(pieces["source"][:-1]).replace("\u2581", " ").strip() == TYPED
    rows = tab.locator(".enlarged .labels.rows span").all_inner_texts()
    assert rows == [f"{read} → {made}" for read, made in zip(pieces["input"], pieces["output"], strict=True)]
    tab.locator("#live summary").click()
    for name in ("positions", "mask", "scale"):
        looked(tab, lambda name=name: tab.uncheck(f"#switch-{name}"))
        assert TYPED not in tab.locator(".effect").inner_text()
        assert re.search(r"log P", tab.locator(".effect").inner_text())
        looked(tab, lambda name=name: tab.check(f"#switch-{name}"))
    for name in ("heads", "layers", "uniform"):
        looked(tab, lambda name=name: tab.select_option(f"#switch-{name}", index=1))
    for name in ("temperature", "beam", "length_penalty"):
        for end in ("Home", "End"):
            looked(tab, lambda name=name, end=end: tab.locator(f"#switch-{name}").press(end))
    tab.locator("#to-walk").click()
    assert tab.locator("#step-self-weights .worked").inner_text() == tab.evaluate(SKIPPED)
    for view in VIEWS:
        tab.locator(f"#to-{view}").click()
        tab.wait_for_selector(f"#view-{view}.current h2")
        assert faults(tab) == [], view
        assert not re.search("NaN|Infinity", tab.locator("main").inner_text()), view
        assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth"), view
        tab.screenshot(path=artefacts / f"live-{language}-{view}.png")
    sent = tab.evaluate("location.hash")
    other = opened(page, sent.lstrip("#"), size=size)
    other.wait_for_selector('html[data-looked="1"]', state="attached")
    assert other.locator("#live-text").input_value() == TYPED
    assert other.evaluate("window.dragoman.data.translation") == tab.evaluate("window.dragoman.data.translation")
    assert other.locator("#switch-layers").input_value() == tab.locator("#switch-layers").input_value() != ""
    looked(tab, lambda: tab.locator("#live-whole").click())
    assert tab.evaluate("window.dragoman.data.effect") is None


def test_a_link_opens_the_positions_and_the_step_of_a_longer_sentence(page: Path, opened: Callable[..., Any]) -> None:
    """The sentence that was recorded is shorter, and is shown until the engine has read the one of the link."""
    tab = opened(page, "en/walk")
    looked(tab, lambda: tab.fill("#live-text", "two big cat sees red dog and two big bird sees red cat"))
    lists = tab.locator("#view-walk .controls select")
    longest = len(tab.evaluate("window.dragoman.data.pieces.source")) - 1
    lists.nth(2).select_option("1")
    lists.nth(3).select_option(str(longest))
    tab.locator(".box", has_text="Softmax").click()
    chosen = [lists.nth(i).input_value() for i in range(5)]
    sent, place = tab.evaluate("location.hash"), tab.locator("#step-place").inner_text()
    assert chosen[3] == str(longest)

    def shows_the_same(other: Any) -> None:
        lists = other.locator("#view-walk .controls select")
        assert [lists.nth(i).input_value() for i in range(5)] == chosen
        assert other.locator("#step-place").inner_text() == place
        assert other.evaluate("location.hash") == sent
        assert 0 <= other.locator("#step-softmax").bounding_box()["y"] < 450

    other = opened(page, sent.lstrip("#"))
    other.wait_for_selector('html[data-looked="1"]', state="attached")
    shows_the_same(other)
    # The link is opened in a tab that shows the page already.
    third = opened(page, "en/heads")
    looked(third, lambda: third.evaluate("(hash) => (location.hash = hash)", sent))
    shows_the_same(third)


WORKERS = """
const First = window.Worker;
window.workers = [];
window.Worker = class extends First { constructor(...all) { super(...all); window.workers.push(this); } };
"""


def test_a_worker_that_a_device_ended_is_started_again(page: Path, opened: Callable[..., Any]) -> None:
    """What is asked while it is dead, and in the moment when the model is loaded again, is answered."""
    tab = opened(page, "en/heads", script=WORKERS)
    looked(tab, lambda: tab.fill("#live-text", TYPED))
    tab.evaluate("workers[0].terminate()")

    def wake() -> None:
        for _ in range(2):  # a second event while the first still waits
            tab.evaluate('document.dispatchEvent(new Event("visibilitychange"))')
        tab.fill("#live-text", "big red bird")
        while tab.evaluate("workers.length") == 1:  # the policy forbids what the driver would wait with
            tab.wait_for_timeout(20)
        tab.select_option("#switch-heads", index=1)

    tab.locator("#live summary").click()
    looked(tab, wake)
    assert tab.evaluate("[workers.length, dragoman.data.source]") == [2, "big red bird"]
    assert "cannot run" not in tab.locator("#live-status").inner_text()


def test_a_page_of_recorded_values_says_why(page: Path, opened: Callable[..., Any], tmp_path: Path) -> None:
    inspection = replace(inspect(open_bundle(page.parent / "model"), RECORDED), why_recorded="toy: is <b>too large</b>")
    inspection.to_html(tmp_path / "recorded.html")
    tab = opened(tmp_path / "recorded.html", "en/heads", ready=False)
    assert "toy: is <b>too large</b>" in tab.locator("#live").inner_text()
    assert tab.locator("#live-text").count() == 0
    assert faults(tab) == []


def test_a_number_shows_its_inputs(page: Path, opened: Callable[..., Any]) -> None:
    tab = opened(page, "en/walk")
    for step, leaf in (("products", "products"), ("weights", "weights"), ("heads", "heads")):
        figure = tab.locator(f"#step-cross-{step} figure")
        field = figure.locator(".field")
        field.focus()
        field.press("ArrowRight")
        field.press("Enter")
        value = float(figure.locator("> output").inner_text().split("=")[1].replace("\u2212", "-"))
        column = 2 if leaf == "weights" else -1
        parts = [row.replace("\u2212", "-").split() for row in figure.locator("tbody tr").all_inner_texts()]
        total = float(figure.locator("tfoot td").nth(column).inner_text().replace("\u2212", "-"))
        assert sum(float(cells[column]) for cells in parts) == pytest.approx(total, abs=1e-2)
        made = total if leaf != "weights" else float(parts[1][2]) / total
        assert made == pytest.approx(value, abs=1e-3)
        assert tab.locator(".band").count() >= 2
    assert faults(tab) == []


@pytest.mark.parametrize("missing", ["Worker", "WebAssembly"])
def test_without_workers_or_webassembly_it_runs_and_says_so(
    page: Path, opened: Callable[..., Any], missing: str
) -> None:
    tab = opened(page, "en/beam", script=f"delete window.{missing}")
    looked(tab, lambda: tab.fill("#live-text", TYPED))
    assert tab.locator("html").get_attribute("data-engine") == ("javascript" if missing == "WebAssembly" else "wasm")
    expected = "without a worker" if missing == "Worker" else "JavaScript"
    assert expected in tab.locator("#live-status").inner_text()


BAD = {
    "": "The model runs in this page",
    "\x00\u202e\x07": "nothing to translate",
    "<b>red</b> <script>alert(1)</script>": "Computed",
    "\u0e44\u0e17\u0e22\u0e44\u0e17\u0e22": "a script that the model has not learned",
    "red dog " * 260: "Computed",
}


def test_bad_input_is_named_and_leaves_a_page_that_works(page: Path, opened: Callable[..., Any]) -> None:
    tab = opened(page, "en/heads")
    status = tab.locator("#live-status")
    for text, report in BAD.items():
        tab.fill("#live-text", "red")
        playwright.expect(tab.locator(".sentence [lang=en]")).to_have_text("red")
        tab.fill("#live-text", text)
        playwright.expect(status).to_contain_text(report, timeout=60_000)
    assert tab.locator("#live select[onchange], .sentence b b, .sentence script").count() == 0
    tab.fill("#live-text", TYPED)
    playwright.expect(tab.locator(".sentence")).to_contain_text(TYPED)


def test_weights_that_were_cut_are_reported_and_the_recording_stays(
    page: Path, opened: Callable[..., Any], tmp_path: Path
) -> None:
    whole = page.read_text(encoding="utf-8")
    (tmp_path / "cut.html").write_text(whole[: whole.index('id="weights"') + 5000], encoding="utf-8")
    tab = opened(tmp_path / "cut.html", "en/heads", ready=False)
    playwright.expect(tab.locator("#live-status")).to_contain_text("cut")
    assert RECORDED in tab.locator(".sentence").inner_text()
    assert tab.locator(".thumb").count() == 2 * 4 * 3
