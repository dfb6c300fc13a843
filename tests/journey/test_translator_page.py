"""The page of `dragoman export --to html`, opened from disk in a real browser without a network: used and broken."""

import random
import re
import threading
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import torch

import dragoman
from dragoman import DragomanError, Translator
from dragoman.bundle import open_bundle, write_bundle
from dragoman.config import DecodeConfig, ModelConfig, RunConfig
from dragoman.errors import ConfigError, ModelError
from dragoman.model.transformer import Transformer
from dragoman.text.tokens.tokenizer import Tokenizer
from dragoman.workflows.models.html import write_site
from headless import chromium, faults
from stand_ins import queries


class Quiet(SimpleHTTPRequestHandler):
    """Files of a folder, without a log."""

    def log_message(self, format: str, *args: Any) -> None:
        pass


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
    config = toy_run().model_copy(update={"model": ModelConfig.model_validate(SHAPE), "decode": DecodeConfig()})
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
    tab.locator(".word").nth(1).click()
    tab.keyboard.press("Escape")  # also while it is searched
    playwright.expect(tab.locator("#menu")).to_be_hidden()
    assert tab.evaluate("document.activeElement.matches('.word:nth-of-type(2)')")
    playwright.expect(tab.locator("#target")).to_have_attribute("aria-busy", "false")

    tab.locator("summary").first.click()
    tab.fill("#terms", "dog = KATZENHUND\nunseen = nothing")
    note = "Terms that could not be placed: dog"  # this model has learned nothing
    playwright.expect(tab.locator("#notes")).to_contain_text(note)

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

    status = tab.locator("#status")
    for name, content, message in (
        ("none.txt", b"", "none.txt: there is no text in it."),
        ("none.srt", b"1\n00:00:01,000 --> 00:00:02,000\n", "none.srt: there is no text in it."),
        ("binary.txt", b"a\0b", "binary.txt: not text in UTF-8; save it as UTF-8 first."),
        ("korean.txt", "\uac00".encode("cp949"), "korean.txt: not text in UTF-8; save it as UTF-8 first."),
    ):
        tab.set_input_files("#file", {"name": name, "mimeType": "text/plain", "buffer": content})
        playwright.expect(status).to_have_text(message)
    tab.evaluate("page.main._open(new File(['red dog'], 'a.txt'), 2)")
    playwright.expect(status).to_have_text("a.de.txt is translated.")
    playwright.expect(tab.locator("#notes")).to_contain_text("Of 3 files only a.txt is translated")

    tab.locator("summary").last.click()
    assert "# Card <b>of the toy</b>" in tab.locator("#cards").inner_text()
    for _ in range(3):
        tab.click("#theme")
        assert faults(tab) == []
    tab.click("#language")
    assert tab.locator("h1").inner_text() == "번역기"
    assert tab.evaluate("document.documentElement.lang") == "ko"


@pytest.mark.slow
def test_a_catalogue_is_translated_and_given_back(tab: Any, file: Path, tmp_path: Path) -> None:
    """Empty messages at first, all on request; a text without a word is copied, and lost placeholders are named."""
    catalogue = tmp_path / "app.po"
    head = 'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=UTF-8\\n"\n\n'
    filled = 'msgid "cat"\nmsgstr "Katze"\n\nmsgid "a"\nmsgid_plural "b"\nmsgstr[0] ""\n'
    catalogue.write_text(
        f'{head}msgid "red dog %s"\nmsgstr ""\n\nmsgid "42 %"\nmsgstr ""\n\n{filled}', encoding="utf-8"
    )
    open_page(tab, file)
    tab.set_input_files("#file", catalogue)
    status = tab.locator("#status")
    playwright.expect(status).to_have_text("app.de.po is translated.")
    playwright.expect(tab.locator("#notes")).to_contain_text("2 of 4 messages are translated.")
    playwright.expect(tab.locator("#notes")).to_contain_text("stay as they are. Lines: 14")
    assert tab.input_value("#source") == "red dog %s\n42 %"
    with tab.expect_download() as download:
        tab.click("#save")
    text = Path(download.value.path()).read_text(encoding="utf-8")
    assert 'msgid "42 %"\nmsgstr "42 %"\n' in text
    assert text.endswith(filled)
    assert ("#, fuzzy" in text) == ("%s" in tab.locator("#notes").inner_text())
    assert faults(tab) == []
    tab.check("#again")
    playwright.expect(tab.locator("#notes")).to_contain_text("3 of 4 messages are translated.")
    tab.fill("#source", "red")
    playwright.expect(tab.locator("#again-row")).to_be_hidden()


@pytest.mark.slow
def test_a_worker_that_a_device_ended_is_started_again(tab: Any, file: Path) -> None:
    """As a phone does with a tab that nobody sees; and another tab of the same file is not concerned."""
    open_page(tab, file)
    other = tab.context.new_page()
    open_page(other, file)
    first = translation(tab, "red dog")
    tab.evaluate("page.main.client.worker.terminate()")
    tab.evaluate('document.dispatchEvent(new Event("visibilitychange"))')
    assert translation(other, "red dog") == first
    assert translation(tab, "two red dog")
    # In a page that is seen no event says so.
    tab.evaluate("Object.assign(page.main.client, { silence: 500, patience: 500 }).worker.terminate()")
    assert translation(tab, "two red cat")
    assert translation(tab, "red dog") == first


@pytest.mark.slow
def test_a_tab_that_a_device_ended_opens_with_its_text(tab: Any, file: Path) -> None:
    open_page(tab, file)
    tab.select_option("#direction", "1")
    tab.locator("summary").first.click()
    tab.fill("#terms", "dog = hund")
    first = translation(tab, "red dog")
    tab.reload()
    tab.wait_for_selector("html[data-ready]", state="attached")
    playwright.expect(tab.locator("#target")).to_have_text(first)
    assert [tab.input_value(f"#{box}") for box in ("source", "terms", "direction")] == ["red dog", "dog = hund", "1"]
    other = tab.context.new_page()  # another tab has its own
    open_page(other, file)
    assert other.input_value("#source") == ""


@pytest.mark.slow
def test_a_long_text_shows_progress_and_can_be_stopped(tab: Any, file: Path) -> None:
    open_page(tab, file)
    lines = "\n".join(f"red dog sees {number} cat" for number in range(3000))
    # As a dropped file: what is typed costs Chromium a square of the lines.
    tab.evaluate("(lines) => page.main._put(lines, null)", lines)
    playwright.expect(tab.locator("#progress")).to_be_visible()
    playwright.expect(tab.locator("#status")).to_have_text(re.compile(r"^\d+ of 3000 sentences$"))
    tab.click("#stop")
    playwright.expect(tab.locator("#status")).to_have_text("Stopped; what is shown is not complete.")
    playwright.expect(tab.locator("#progress")).to_be_hidden()
    assert translation(tab, "red dog")


@pytest.mark.slow
def test_what_is_not_translated_to_its_end_is_neither_saved_nor_taken_for_the_source(tab: Any, file: Path) -> None:
    open_page(tab, file)
    lines = "\n".join(f"red dog sees {number} cat" for number in range(3000))
    tab.evaluate("download = (name) => (window.saved = name)")
    tab.evaluate("(lines) => page.main._put(lines, { name: 'a.de.txt', filled: (texts) => texts.join() })", lines)
    playwright.expect(tab.locator("#progress")).to_be_visible()
    tab.click("#save")
    assert tab.evaluate("window.saved") is None
    tab.click("#swap")
    assert tab.locator("#source").input_value() == lines
    assert tab.evaluate("page.main.direction.languages") == ["de", "en"]


@pytest.mark.slow
def test_a_browser_stores_the_page_that_a_server_offers(browser: Any, models: list[Path], tmp_path: Path) -> None:
    """It can be installed, and opens again when the server is gone."""
    write_site(models, tmp_path / "site")
    handler = partial(Quiet, directory=str(tmp_path / "site"))
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    context = browser.new_context()
    page = context.new_page()
    try:
        address = f"http://127.0.0.1:{server.server_port}/"
        page.goto(address)
        page.wait_for_selector("html[data-ready]", state="attached")
        assert page.evaluate("navigator.serviceWorker.ready.then((ready) => ready.scope)") == address
        session = context.new_cdp_session(page)
        refused = session.send("Page.getInstallabilityErrors")["installabilityErrors"]
        assert [error["errorId"] for error in refused] == ["in-incognito"]  # as every context of a test
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
    page.goto(address)
    page.wait_for_selector("html[data-ready]", state="attached")
    context.close()


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
        playwright.expect(tab.locator("#notes")).to_contain_text(note)
    tab.fill("#source", "")
    playwright.expect(tab.locator("#target")).to_be_empty()
    playwright.expect(tab.locator("#status")).to_have_text("Ready.")
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


def test_what_is_not_written(models: list[Path], tmp_path: Path, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refused = [
        ({"model": models[0], "output": file}, "already exists"),
        ({"model": [models[0], models[0]], "output": tmp_path / "b.html"}, "en-de: two of the models"),
        ({"model": models[0], "output": tmp_path / "b.html", "quantization": "float32"}, "int8 or float16"),
        ({"model": models[0], "output": tmp_path}, "is a folder"),
    ]
    for arguments, message in refused:
        with pytest.raises(DragomanError, match=message):
            dragoman.export(**arguments, to="html")  # type: ignore[call-overload]
    monkeypatch.setattr("dragoman.exporting.page.LARGEST", 1000)
    with pytest.raises(ConfigError, match=r"weights are \d+ MB, and a page holds 0 MB; distil it"):
        dragoman.export(models[0], to="html", output=tmp_path / "b.html")
    monkeypatch.undo()
    monkeypatch.setattr("dragoman.exporting.vocabulary.UNIGRAM", 9)  # as one of words or characters would be
    with pytest.raises(
        ModelError, match="no page can run it: its tokenizer is of kind 1 of SentencePiece; a page knows"
    ):
        dragoman.export(models[0], to="html", output=tmp_path / "b.html")
    assert not (tmp_path / "b.html").exists()
