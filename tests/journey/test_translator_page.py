"""The page of `dragoman export --to html`, opened from disk in a real browser without a network: used and broken."""

import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

import dragoman
from dragoman import DragomanError, Translator
from dragoman.bundle import open_bundle, write_bundle
from dragoman.config import ModelConfig, RunConfig
from dragoman.model.transformer import Transformer
from dragoman.text.tokens.tokenizer import Tokenizer
from headless import chromium, faults
from stand_ins import queries

playwright = pytest.importorskip("playwright.sync_api", reason="the browser's driver is of the `dev` extra")
SHAPE = {"layers": 2, "d_model": 32, "d_ff": 48, "heads": 2, "positions": "rotary", "norm": "rms", "bias": False}


def write(folder: Path, config: RunConfig, tokenizer: Tokenizer, seed: int) -> Path:
    """A bundle of random weights that float16 holds exactly."""
    torch.manual_seed(seed)
    model = Transformer(config.model, len(tokenizer.source), len(tokenizer.target))  # type: ignore[arg-type]
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(2.0 if parameter.dim() > 1 else 1.0).copy_(parameter.half())
    write_bundle(folder, config=config, tokenizer=tokenizer, model=model, card="# Card <b>of the toy</b>", facts={})
    return folder


@pytest.fixture
def models(toy_run: Callable[..., RunConfig], toy_tokenizer: Tokenizer, tmp_path: Path) -> list[Path]:
    """A model of each direction."""
    config = toy_run().model_copy(update={"model": ModelConfig.model_validate(SHAPE)})
    turned = config.project.model_copy(update={"source": "de", "target": "en"})
    back = config.model_copy(update={"project": turned})
    return [write(tmp_path / "en-de", config, toy_tokenizer, 3), write(tmp_path / "de-en", back, toy_tokenizer, 4)]


@pytest.fixture
def file(models: list[Path], tmp_path: Path) -> Path:
    result = dragoman.export(models, to="html", output=tmp_path / "page.html")
    assert (result.pairs, result.bytes) == (("en-de", "de-en"), result.path.stat().st_size)
    return result.path


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as started:
        yield started


@pytest.fixture
def tab(browser: Any) -> Iterator[Any]:
    """A page without a network; it may open itself and its worker, and complains of nothing."""
    context = browser.new_context(
        offline=True, viewport={"width": 390, "height": 844}, locale="en-US", reduced_motion="reduce"
    )
    page = context.new_page()
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    allowed = ("file:", "blob:", "data:")
    page.on("request", lambda request: None if request.url.startswith(allowed) else complaints.append(request.url))
    yield page
    assert complaints == []
    context.close()


def open_page(tab: Any, path: Path) -> None:
    tab.goto(f"file://{path}")
    tab.wait_for_selector("html[data-ready]", state="attached")


def translation(tab: Any, source: str) -> str:
    """What the page says of a source, once it has finished."""
    tab.fill("#source", source)
    playwright.expect(tab.locator("#status")).to_have_text(re.compile(r"^\d+ sentences? in "))
    playwright.expect(tab.locator("#target")).not_to_have_class("waiting")
    return str(tab.locator("#target").evaluate("(node) => node.textContent"))


def test_it_says_what_translate_says(tab: Any, file: Path, models: list[Path]) -> None:
    rng = random.Random(1)
    line = " ".join(rng.choices(["red", "dog", "cat", "sees", "two", "bird"], k=6))
    first, second = (Translator.load(model, engine="torch").engine for model in models)
    tokenizer = open_bundle(models[0]).tokenizer
    open_page(tab, file)

    def expected(engine: Any, text: str) -> str:
        options = open_bundle(models[0]).config.decode
        [[best, *_]] = engine.translate(queries(tokenizer.encode([text], "source")), options)
        return " ".join(tokenizer.decode([best.tokens], "target")[0].split())

    assert translation(tab, line) == expected(first, line)
    assert tab.locator("#swap").is_visible()
    tab.select_option("#direction", "1")
    playwright.expect(tab.locator("#status")).to_have_text(re.compile(r"^1 sentence in "))
    assert tab.locator("#target").evaluate("(node) => node.textContent") == expected(second, line)
    assert faults(tab) == []
    assert tab.evaluate("document.documentElement.scrollWidth") == 390


@pytest.mark.slow
def test_everything_a_reader_does(tab: Any, file: Path, tmp_path: Path) -> None:
    open_page(tab, file)
    assert translation(tab, "red dog\n\ncat sees").count("\n") == 2
    tab.locator(".word").first.focus()
    tab.keyboard.press("ArrowRight")
    tab.keyboard.press("Enter")
    tab.wait_for_selector("#menu button")
    chosen = tab.locator("#menu button").last.inner_text()
    assert faults(tab) == []
    tab.locator("#menu button").last.click()
    assert chosen.split()[-1] in tab.locator("#target").inner_text()

    tab.locator("summary").first.click()
    tab.fill("#terms", "dog = KATZENHUND\nunseen = nothing")
    note = "Terms that could not be placed: dog"  # this model has learned nothing
    playwright.expect(tab.locator("#notes")).to_contain_text(note, timeout=20_000)

    subtitles = tmp_path / "film.srt"
    subtitles.write_text("1\n00:00:01,000 --> 00:00:02,000\nred dog\nsees\n\n2\n00:00:03,000 --> 00:00:04,000\ncat\n")
    tab.set_input_files("#file", subtitles)
    playwright.expect(tab.locator("#status")).to_have_text("film.de.srt is translated.")
    with tab.expect_download() as download:
        tab.click("#save")
    lines = Path(download.value.path()).read_text(encoding="utf-8").split("\n")
    assert download.value.suggested_filename == "film.de.srt"
    assert [lines[0], lines[1]] == ["1", "00:00:01,000 --> 00:00:02,000"]
    assert "00:00:03,000 --> 00:00:04,000" in lines

    wrong = tmp_path / "file.pdf"
    wrong.write_bytes(b"%PDF")
    tab.set_input_files("#file", wrong)
    playwright.expect(tab.locator("#status")).to_have_text(
        "file.pdf: only .txt, .srt and .po files are translated here."
    )

    tab.locator("summary").last.click()
    assert "# Card <b>of the toy</b>" in tab.locator("#cards").inner_text()
    for _ in range(3):
        tab.click("#theme")
        assert faults(tab) == []
    tab.click("#language")
    assert tab.locator("h1").inner_text() == "번역기"
    assert tab.evaluate("document.documentElement.lang") == "ko"


@pytest.mark.slow
def test_bad_input(tab: Any, file: Path) -> None:
    open_page(tab, file)
    long = " ".join(["red dog sees two cat"] * 100)
    for source, note in (
        (long, "was divided"),
        ("ཡིག་གཟུགས་གཞན་ཞིག", "a script that this model has not learned"),
        ("<p>red <b>dog</b></p>", "looks like HTML"),
        ("red\x07\x00dog\u200b\ufeff", ""),
    ):
        assert translation(tab, source) is not None
        playwright.expect(tab.locator("#notes")).to_contain_text(note, timeout=20_000)
    tab.fill("#source", "")
    playwright.expect(tab.locator("#target")).to_be_empty()
    tab.fill("#source", "   \n ")
    playwright.expect(tab.locator(".word")).to_have_count(0)


@pytest.mark.slow
@pytest.mark.parametrize("lacking", ["Worker", "WebAssembly"])
def test_slower_where_a_browser_allows_less(tab: Any, file: Path, lacking: str) -> None:
    tab.add_init_script(f"delete window.{lacking};")
    open_page(tab, file)
    note = {"Worker": "has no worker", "WebAssembly": "compute with WebAssembly"}[lacking]
    playwright.expect(tab.locator("#status")).to_contain_text(note)
    assert translation(tab, "red dog")


@pytest.mark.slow
@pytest.mark.parametrize("where", ["facts", "weights-0", "weights-1"])
def test_a_cut_file_says_so(tab: Any, file: Path, where: str) -> None:
    whole = file.read_text(encoding="utf-8")
    begin = whole.index(f'id="{where}"')
    file.write_text(whole[: begin + 5000], encoding="utf-8")
    tab.goto(f"file://{file}")
    if where == "weights-1":  # the first model is whole
        tab.select_option("#direction", "1")
    playwright.expect(tab.locator("#status")).to_contain_text("cut or changed")


def test_what_is_not_written(models: list[Path], tmp_path: Path, file: Path) -> None:
    refused = [
        ({"model": models[0], "output": file}, "already exists"),
        ({"model": [models[0], models[0]], "output": tmp_path / "b.html"}, "en-de: two of the models"),
        ({"model": models[0], "output": tmp_path / "b.html", "quantization": "float32"}, "int8 or float16"),
        ({"model": models[0], "output": tmp_path}, "is a folder"),
    ]
    for arguments, message in refused:
        with pytest.raises(DragomanError, match=message):
            dragoman.export(**arguments, to="html")  # type: ignore[call-overload]
    assert not (tmp_path / "b.html").exists()
