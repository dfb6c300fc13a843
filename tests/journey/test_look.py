"""The page of `dragoman look`, opened from disk in a real browser without a network: seen, used, and recomputed."""

import json
import os
import random
import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from in_numpy import Numpy, softmax

from dragoman.bundle import open_bundle, write_bundle
from dragoman.config import DecodeConfig, ModelConfig, RunConfig
from dragoman.decode.hypothesis import FORBIDDEN_IDS
from dragoman.inspection.checkpoints import CheckpointView
from dragoman.inspection.inspect import BundleInspection, write_page
from dragoman.inspection.inspection import Inspection
from dragoman.model.transformer import Transformer
from dragoman.model.weights import load_tensors, save_tensors
from dragoman.text.tokens.tokenizer import Tokenizer
from dragoman.workflows.models.look import inspect
from headless import chromium, faults

playwright = pytest.importorskip("playwright.sync_api", reason="the browser's driver is of the `dev` extra")

VIEWS = ("walk", "heads", "positions", "masks", "beam", "attribution", "stream", "checkpoints")
SHAPE = {"layers": 2, "d_model": 32, "d_ff": 48, "heads": 4}
MARIAN = {"feed_forward": "silu", "output_bias": True, "position_base": 10367.8, "first_position": 2}
MODELS = {
    "post": {**SHAPE, "norm_order": "post"},
    "today": {"preset": "tiny", **SHAPE},
    "marian": {**SHAPE, "norm_order": "post", **MARIAN},
}
OPTIONS = DecodeConfig(beam=3, max_length=9)
Floats = np.ndarray[Any, Any]


def sentence() -> str:
    rng = random.Random(11)
    return " ".join(rng.choice(["red", "dog", "cat", "sees", "big", "two", "bird"]) for _ in range(6))


@pytest.fixture(scope="module")
def artefacts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where screenshots stay: a folder of one's own choice, or pytest's."""
    chosen = os.environ.get("DRAGOMAN_ARTEFACTS")
    folder = Path(chosen) if chosen else tmp_path_factory.mktemp("look")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture(params=list(MODELS))
def looked(
    request: pytest.FixtureRequest, toy_run: Callable[..., RunConfig], toy_tokenizer: Tokenizer, tmp_path: Path
) -> tuple[str, Path, Inspection]:
    """A bundle of random weights, larger than at birth, with the page of a random sentence."""
    torch.manual_seed(5)
    config = toy_run().model_copy(update={"model": ModelConfig.model_validate(MODELS[request.param])})
    model = Transformer(config.model, len(toy_tokenizer.source), len(toy_tokenizer.target))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(1.3) if parameter.dim() > 1 else parameter.add_(0.1 * torch.randn_like(parameter))
    write_bundle(tmp_path / "model", config=config, tokenizer=toy_tokenizer, model=model, card="", facts={})
    found = inspect(open_bundle(tmp_path / "model"), sentence(), options=OPTIONS)
    layers = [found.recording[f"decoder.{layer}.cross_attention"] for layer in (0, 1)]
    attention = torch.stack([layer.weights[0].mean(0) for layer in layers])
    pieces = found.pieces["output"]
    checkpoints = (
        CheckpointView(4, "hund </script>\x00\u202e", found.pieces["source"], pieces, attention, -9.0),
        CheckpointView(8, problem="8: <b>not read</b>"),
    )
    page = tmp_path / "page.html"
    BundleInspection.of(found, "toy", ("en", "de"), OPTIONS).to_html(page, checkpoints=checkpoints)
    return request.param, page, found


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as started:
        yield started


@pytest.fixture
def tab(browser: Any) -> Iterator[Any]:
    """A page without a network; `complaints` has its console messages, errors and requests."""
    context = browser.new_context(offline=True, viewport={"width": 1100, "height": 800}, reduced_motion="reduce")
    page = context.new_page()
    page.complaints = []
    page.on("console", lambda message: page.complaints.append(message.text) if message.type != "log" else None)
    page.on("pageerror", lambda error: page.complaints.append(str(error)))
    page.on("request", lambda request: None if request.url.startswith("file:") else page.complaints.append(request.url))
    yield page
    assert page.complaints == []
    context.close()


def open_page(tab: Any, path: Path, hash_: str) -> None:
    tab.goto(f"file://{path}#{hash_}")
    tab.wait_for_selector("html[data-ready]", state="attached")


def use(tab: Any, view: str) -> None:
    """What a reader does there, by keyboard where a mouse would do."""
    section = tab.locator(f"#view-{view}")
    if view in ("walk", "masks"):
        section.locator("select").first.select_option(index=1)
        field = section.locator("figure .field").first
        field.focus()
        field.press("ArrowRight")
        field.press("ArrowDown")
        playwright.expect(section.locator("figure output").first).to_contain_text("= ")
    if view == "walk":
        if not tab.locator("#stage details").evaluate("box => box.open"):
            tab.locator("#stage summary").click()
        tab.locator("#box-softmax").click()
        playwright.expect(section.locator("#step-softmax")).to_be_focused()
        assert tab.locator("#stage .box.now").count() == 1
    if view == "heads":
        before = section.locator(".enlarged figcaption").inner_text()
        section.locator(".thumb").first.focus()
        tab.keyboard.press("ArrowDown")
        tab.keyboard.press("Enter")
        playwright.expect(section.locator(".enlarged figcaption")).not_to_have_text(before)
    if view == "positions":
        before = section.locator(".rotation").inner_text()
        section.locator("input[type=range]").nth(1).press("ArrowRight")
        playwright.expect(section.locator(".rotation")).not_to_have_text(before)
    if view == "beam":
        section.locator(".node").first.focus()
        tab.keyboard.press("ArrowDown")
        tab.keyboard.press("ArrowUp")
        tab.keyboard.press("Enter")
        playwright.expect(section.locator(".node-details table")).to_have_count(1)
    if view in ("beam", "attribution"):
        section.locator(".word").nth(1).click()
        playwright.expect(section.locator(".word").nth(1)).to_have_attribute("aria-pressed", "true")
    if view == "stream":
        section.locator("button.lens").first.focus()
        tab.keyboard.press("ArrowDown")
        section.locator("summary").first.click()
        playwright.expect(section.locator("details table")).to_have_count(1)
    if view == "checkpoints":
        playwright.expect(section.locator(".checkpoint")).to_have_count(2)
        assert "<b>not read</b>" in section.inner_text()
        assert "hund </script>␀\\u202e" in section.inner_text()


@pytest.mark.slow
@pytest.mark.parametrize(("language", "theme"), [("en", "dark"), ("ko", "light")])
@pytest.mark.parametrize("looked", ["post"], indirect=True)
def test_every_view_is_seen_used_and_free_of_faults(
    looked: tuple[str, Path, Inspection], tab: Any, artefacts: Path, language: str, theme: str
) -> None:
    open_page(tab, looked[1], f"{language}/walk/{theme}")
    headings = []
    for view in VIEWS:
        tab.click(f"#to-{view}")
        tab.wait_for_selector(f"#view-{view}.current h2")
        headings.append(tab.locator(f"#view-{view} h2").inner_text())
        use(tab, view)
        assert faults(tab) == [], view
        tab.screenshot(path=artefacts / f"{language}-{theme}-{view}.png")
        assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth"), f"{view} is wider than the window"
    assert len(set(headings)) == len(VIEWS)
    assert any("가" <= letter <= "힣" for letter in "".join(headings)) == (language == "ko")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("looked", "kinds", "absent"),
    [
        ("today", ("Pre-LN", "RMSNorm", "RoPE", "SwiGLU"), "Add & Norm"),
        ("marian", ("Post-LN", "SiLU", "10367.8", "first position is 2", "bias to the score"), "SwiGLU"),
    ],
    indirect=["looked"],
)
def test_a_model_is_described_by_its_own_equations(
    looked: tuple[str, Path, Inspection], tab: Any, kinds: tuple[str, ...], absent: str
) -> None:
    open_page(tab, looked[1], "en/walk")
    text = tab.locator("#view-walk").inner_text() + tab.locator("#foot").inner_text()
    for kind in kinds:
        assert kind in text
    assert absent not in text
    for view in VIEWS:
        tab.click(f"#to-{view}")
        use(tab, view)


@pytest.mark.slow
@pytest.mark.parametrize("looked", ["today"], indirect=True)
def test_language_and_theme_are_switched_and_kept(
    looked: tuple[str, Path, Inspection], tab: Any, artefacts: Path
) -> None:
    tab.set_viewport_size({"width": 360, "height": 740})
    open_page(tab, looked[1], "")
    assert tab.locator("html").get_attribute("lang") == "en"
    tab.click("#language")
    tab.wait_for_selector("html[lang=ko]")
    tab.click("#theme")
    tab.wait_for_selector("html[data-theme=dark]")
    tab.reload()
    tab.wait_for_selector("html[lang=ko][data-theme=dark][data-ready]", state="attached")
    for view in VIEWS:
        tab.click(f"#to-{view}")
        assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth"), f"{view} is wider than a telephone"
    tab.screenshot(path=artefacts / "ko-dark-360.png")
    tab.keyboard.press("Escape")
    tab.evaluate("window.scrollTo(0, 0); document.getElementById('skip').focus()")
    tab.keyboard.press("Enter")
    assert tab.evaluate("document.activeElement.id") == "main"


@pytest.mark.parametrize("looked", ["post"], indirect=True)
def test_printed_it_has_every_view(looked: tuple[str, Path, Inspection], tab: Any, artefacts: Path) -> None:
    open_page(tab, looked[1], "ko/masks/dark")
    shade = "document.querySelector('#view-masks canvas').getContext('2d').getImageData(0, 0, 1, 1).data.join()"
    every = "[...document.querySelectorAll('section.view')].every((view) => view.children.length > 1)"
    tab.evaluate(f"addEventListener('beforeprint', () => (window.onPaper = [{shade}, {every}]))")
    dark = tab.evaluate(shade)
    printed = tab.pdf(path=artefacts / "page.pdf")
    assert len(printed) > 100_000
    assert 1 < len(re.findall(rb"/Type\s*/Page\b", printed)) <= 10
    light, has_every_view = tab.evaluate("onPaper")
    assert has_every_view
    assert light != dark == tab.evaluate(shade), "matrices are light on paper, and dark again"


@pytest.mark.slow
def test_numbers_on_the_page_are_those_of_numpy(looked: tuple[str, Path, Inspection], tab: Any) -> None:
    kind, page, found = looked
    open_page(tab, page, "en/walk")
    read = "name => { const x = window.dragoman.array(name); return [x.shape, Array.from(x.values)]; }"

    def on_page(name: str) -> Floats:
        shape, values = tab.evaluate(read, name)
        return np.array([-np.inf if value is None else value for value in values]).reshape(shape)

    weights = {
        name: tensor.double().numpy()
        for name, tensor in load_tensors(page.parent / "model" / "model.safetensors").items()
    }
    expected = Numpy(weights, found.model.config).run(found.source_ids, found.target_ids)
    for name, values in expected.items():
        np.testing.assert_allclose(on_page(name), values, atol=1e-5, rtol=1e-5, err_msg=f"{kind}: {name}")
    candidates = json.loads(tab.locator("#payload").text_content())[0]["predictions"]
    ids = [[found.tokenizer.target.processor.PieceToId(piece) for piece in step["candidates"]] for step in candidates]
    logits = expected["features"] @ weights.get("projection", weights.get("source_embedding.weight")).T
    logits = logits + weights.get("projection_bias", 0.0)
    logits[:, FORBIDDEN_IDS] = -np.inf
    probabilities = np.take_along_axis(softmax(logits), np.array(ids), axis=1)
    np.testing.assert_allclose(on_page("probabilities"), probabilities, atol=1e-5)


@pytest.mark.slow
def test_an_address_opens_what_its_sender_saw(looked: tuple[str, Path, Inspection], tab: Any) -> None:
    _, page, found = looked
    open_page(tab, page, "en/walk//")
    tab.locator("#view-walk .controls select").nth(2).select_option(index=1)
    tab.locator("#view-walk .controls select").nth(4).select_option(index=2)
    sent = tab.evaluate("location.hash")
    assert sent == "#en/walk///1-2-2-2-3"
    open_page(tab, page, "ko")
    open_page(tab, page, sent.lstrip("#"))
    chosen = [tab.locator("#view-walk .controls select").nth(n).input_value() for n in range(5)]
    assert chosen == ["0", "1", "1", "1", "2"]
    open_page(tab, page, "en/heads///decoder.1.cross_attention.2")
    assert "layer 1 · head 2" in tab.locator(".enlarged figcaption").inner_text().lower()
    rows = tab.locator(".enlarged .labels.rows span").all_inner_texts()
    pieces = found.pieces
    assert rows == [f"{given} → {made}" for given, made in zip(pieces["input"], pieces["output"], strict=True)]
    open_page(tab, page, "en/heads///decoder.99.cross_attention.2")  # no such layer: what the page chooses itself
    assert tab.locator(".enlarged figcaption").count() == 1


@pytest.mark.slow
def test_one_of_several_sentences_is_chosen(looked: tuple[str, Path, Inspection], tab: Any, tmp_path: Path) -> None:
    model = looked[1].parent / "model"
    inspections = [inspect(open_bundle(model), text, options=OPTIONS) for text in ("red dog", "two big cat")]
    write_page(tmp_path / "several.html", inspections)
    open_page(tab, tmp_path / "several.html", "en/heads")
    assert "red dog" in tab.locator(".sentence").inner_text()
    with tab.expect_navigation():
        tab.select_option("#sentence", "2")
    tab.wait_for_selector("html[data-ready]", state="attached")
    assert "two big cat" in tab.locator(".sentence").inner_text()
    assert tab.evaluate("location.hash") == "#en/heads//2"
    assert tab.evaluate("window.dragoman.data.source") == "two big cat"


@pytest.mark.slow
@pytest.mark.parametrize("looked", ["post"], indirect=True)
def test_a_word_lights_what_it_is_connected_to(looked: tuple[str, Path, Inspection], tab: Any) -> None:
    _, page, found = looked
    open_page(tab, page, "en/heads///encoder.1.self_attention.2")
    words = tab.locator(".sentence .lit[data-side=source]")
    assert words.all_inner_texts() == sentence().split()
    boxes = [box for n in range(words.count()) if (box := words.nth(n).bounding_box())]
    assert all(a["x"] + a["width"] <= b["x"] or a["y"] < b["y"] for a, b in pairwise(boxes)), "words lie on each other"
    words.nth(2).hover()
    light = "one => Number(getComputedStyle(one).getPropertyValue('--light'))"
    strengths = [words.nth(n).evaluate(light) for n in range(words.count())]
    pieces = [[int(at) for at in words.nth(n).get_attribute("data-at").split()] for n in range(words.count())]
    weights = found["encoder.0.self_attention.weights"].values[1]
    for n, (strength, keys) in enumerate(zip(strengths, pieces, strict=True)):
        expected = 1.0 if n == 2 else max(weights[i, j] for i in pieces[2] for j in keys)
        assert strength == pytest.approx(expected if expected >= 0.1 else 0.0, abs=0.006)
    assert tab.locator("#view-heads .field .glow").count() >= len(pieces[2])
    assert "Encoder self-attention 1.2" in tab.locator("#light").inner_text()
    words.nth(0).focus()
    tab.keyboard.press("Enter")
    tab.mouse.move(5, 700)
    assert words.nth(0).evaluate(light) == 1.0, "a chosen word goes on shining"
    assert words.nth(0).get_attribute("aria-pressed") == "true"
    tab.click("#to-beam")
    tab.locator(".node.chosen").last.hover()
    assert tab.locator(".node.path").count() > 1
    assert faults(tab) == []


@pytest.mark.slow
@pytest.mark.parametrize("looked", ["post"], indirect=True)
def test_a_cell_lights_its_row_and_column_and_a_click_chooses_its_position(
    looked: tuple[str, Path, Inspection], tab: Any
) -> None:
    open_page(tab, looked[1], "en/walk///1-2-1-2-2.self-products")
    products = tab.locator("#step-self-products .field")
    products.focus()
    products.press("ArrowDown")
    products.press("ArrowRight")
    glows = "field => [...field.querySelectorAll('.glow')].map((one) => one.style.top)"
    rows = [tab.locator("#step-self-qkv .field").nth(n).evaluate(glows) for n in range(3)]
    count = len(looked[2].source_ids)
    assert [[round(float(top.rstrip("%")) * count / 100) for top in each] for each in rows] == [[2], [1], [1]]
    products.press("Enter")
    assert tab.evaluate("location.hash") == "#en/walk///1-2-1-3-2.self-products"
    assert tab.locator("#view-walk .controls select").nth(3).input_value() == "2"


@pytest.mark.slow
@pytest.mark.parametrize("looked", ["post"], indirect=True)
def test_the_steps_are_turned_and_on_a_telephone_one_is_shown(
    looked: tuple[str, Path, Inspection], tab: Any, artefacts: Path
) -> None:
    tab.set_viewport_size({"width": 390, "height": 844})
    open_page(tab, looked[1], "ko/walk")
    shown = tab.locator("#view-walk .step:visible")
    assert shown.count() == 1
    steps = tab.locator("#view-walk .step").count()
    playwright.expect(tab.locator("#step-place")).to_contain_text(f"1 / {steps}")
    tab.click("#step-on")
    tab.keyboard.press("ArrowRight")
    tab.keyboard.press(" ")
    tab.keyboard.press("ArrowLeft")
    playwright.expect(tab.locator("#step-place")).to_contain_text(f"3 / {steps}")
    assert shown.count() == 1
    assert faults(tab) == []
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
    tab.screenshot(path=artefacts / "ko-390-step.png")
    tab.click("#to-heads")
    tab.locator(".thumb").nth(1).click()
    assert tab.locator(".enlarged").evaluate("one => one.getBoundingClientRect().top < innerHeight / 2")


@pytest.mark.slow
@pytest.mark.parametrize("looked", ["post"], indirect=True)
@pytest.mark.parametrize("language", ["en", "ko"])
def test_the_film_of_the_models_run_is_found_and_played(
    looked: tuple[str, Path, Inspection], tab: Any, artefacts: Path, toy_tokenizer: Tokenizer, language: str
) -> None:
    run, weights = looked[1].parent, dict(looked[2].model.named_parameters())
    (run / "snapshots").mkdir()
    (run / "tokenizer").mkdir()
    toy_tokenizer.save(run / "tokenizer")
    for step, share in ((0, 0.01), (1, 0.3), (2, 0.6)):
        halves = {name: (share * weight).detach().half() for name, weight in weights.items()}
        save_tensors(run / "snapshots" / f"{step:08d}.safetensors", halves)
    inspect(open_bundle(run / "model"), sentence(), options=OPTIONS).to_html(run / "film.html")
    open_page(tab, run / "film.html", f"{language}/checkpoints")
    slider, play = tab.locator("#film-frame"), tab.locator("#film-play")
    assert slider.input_value() == "3"
    evenness = tab.locator(".film dd").nth(2)
    at_the_end = float(evenness.inner_text())
    slider.focus()
    tab.keyboard.press("Home")
    assert float(evenness.inner_text()) > max(0.9, at_the_end), "attention goes from even to sharp"
    assert tab.locator(".film h3").inner_text().endswith("0")
    before = play.inner_text()
    tab.keyboard.press(" ")
    assert play.inner_text() != before
    playwright.expect(slider).to_have_value("3")
    playwright.expect(play).to_have_text(before)
    tab.locator(".strip-of-frames button").nth(1).click()
    assert slider.input_value() == "1"
    assert tab.locator("#view-checkpoints table").last.locator("tbody tr").count() == 4
    assert faults(tab) == []
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
    tab.screenshot(path=artefacts / f"{language}-film.png")
